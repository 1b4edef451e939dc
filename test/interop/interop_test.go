//go:build interop

// Package interop shows the daemon among programs that are not ours: a real nginx
// as the backends, curl and plain sockets as the clients, a real HAProxy before it. It
// needs nginx, curl and haproxy on the machine; everything else is made by the tests.
package interop

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

func TestMain(m *testing.M) { daemon.Main(m) }

// answer is what a client got, whatever client it was.
type answer struct {
	status int
	body   string
	reset  bool // there was none: the stream was reset for a protocol error
}

// client sends one GET for a target as it stands, with this Host, to an address.
type client func(t *testing.T, address, host, target string) answer

var clients = map[string]client{
	"socket":   bySocket,
	"curl":     func(t *testing.T, a, h, p string) answer { return byCurl(t, "--http1.1", a, h, p) },
	"curl, h2": func(t *testing.T, a, h, p string) answer { return byCurl(t, "--http2-prior-knowledge", a, h, p) },
}

func bySocket(t *testing.T, address, host, target string) answer {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(daemon.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", target, host); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: r.StatusCode, body: string(body)}
}

// byCurl asks curl, which writes the status after the body.
func byCurl(t *testing.T, protocol, address, host, target string) answer {
	t.Helper()
	cmd := exec.Command("curl", "-sS", protocol, "--path-as-is", "--globoff", "--max-time", "60",
		"-H", "Host: "+host, "-w", "%{http_code}", "http://"+address+target)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	switch err := cmd.Run(); {
	case err != nil && strings.Contains(complaint.String(), "PROTOCOL_ERROR"):
		return answer{reset: true}
	case err != nil:
		t.Fatalf("curl: %v: %s", err, complaint.String())
	}
	text := out.String()
	if len(text) < 3 {
		t.Fatalf("curl printed %q", text)
	}
	var a answer
	a.body = text[:len(text)-3]
	if _, err := fmt.Sscan(text[len(text)-3:], &a.status); err != nil {
		t.Fatalf("curl printed %q: %v", text, err)
	}
	return a
}

// startNginx runs an nginx that is one backend for each name: it answers with the
// name and the request target as it got it. It returns the endpoints.
//
// The sockets are opened here and handed over as an nginx hands them to its
// successor. So ports are free and never taken in between. What comes before nginx
// is up would wait in the queue, and its wait would count against the timeouts of the
// daemon, so startNginx returns when nginx has answered.
func startNginx(t *testing.T, names []string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	endpoints := make(map[string]string)
	var servers, inherited strings.Builder
	var sockets []*os.File
	for i, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		defer f.Close()
		sockets = append(sockets, f)
		endpoints[name] = l.Addr().String()
		fmt.Fprintf(&inherited, "%d;", 3+i) // where exec puts them
		fmt.Fprintf(&servers, "  server { listen %s; merge_slashes off; location / { return 200 '%s $request_uri\\n'; } }\n", l.Addr(), name)
	}
	config := daemon.Write(t, dir, "nginx.conf", fmt.Sprintf(`
daemon off;
worker_processes 1;
pid %[1]s/pid;
error_log %[1]s/error.log warn;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path %[1]s/body;
  proxy_temp_path %[1]s/proxy;
  fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi;
  scgi_temp_path %[1]s/scgi;
%[2]s}
`, dir, servers.String()))
	cmd := exec.Command(programPath(t, "nginx"), "-p", dir, "-c", config, "-e", filepath.Join(dir, "error.log"))
	cmd.Env = append(os.Environ(), "NGINX="+inherited.String())
	cmd.ExtraFiles = sockets
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // nginx ends its workers with it
		if err := cmd.Wait(); err != nil {
			t.Errorf("nginx: %v: %s", err, complaint.String())
		}
		if log, err := os.ReadFile(filepath.Join(dir, "error.log")); err == nil && t.Failed() {
			t.Logf("nginx wrote: %s", log)
		}
	})
	for name, endpoint := range endpoints {
		if got, want := bySocket(t, endpoint, "ready.test", "/ready"), name+" /ready\n"; got.body != want {
			t.Fatalf("nginx itself answered %d %q, want %q", got.status, got.body, want)
		}
	}
	return endpoints
}

// responseTimeout is how long the daemon waits for a backend: short, as the silent
// backend is waited for by every client; and long enough that no stall of the machine
// makes a backend that is well miss it.
const responseTimeout = 3 * time.Second

// programPath finds a program also where only root has it in the PATH.
func programPath(t *testing.T, program string) string {
	t.Helper()
	for _, name := range []string{program, "/usr/sbin/" + program, "/usr/local/sbin/" + program} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed, and these tests are about it", program)
	return ""
}

// start runs the daemon with a route file in which {name} stands for an endpoint.
func start(t *testing.T, routes string, endpoints map[string]string) (address string) {
	t.Helper()
	var pairs []string
	for name, endpoint := range endpoints {
		pairs = append(pairs, "{"+name+"}", endpoint)
	}
	path := daemon.Write(t, t.TempDir(), "routes.yaml", strings.NewReplacer(pairs...).Replace(routes))
	c := daemon.Start(t, daemon.Setup{Args: []string{
		"--static-routes", path, "--http", "127.0.0.1:0", "--no-admin", "--log-format", "json", "--response-timeout", responseTimeout.String(),
	}})
	return c.Serving().HTTP
}
