//go:build interop

package interop

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// TestHAProxy puts a real HAProxy before the daemon, which passes connections on
// with a PROXY header of version 1 or 2. The client has an address of its own, so
// that one can tell whom the daemon takes for the client.
func TestHAProxy(t *testing.T) {
	const client = "127.0.0.2"
	backend := echoesClient(t)
	dir := t.TempDir()
	daemon.Pair(t, dir, "any", "shop.test")
	routes := daemon.Write(t, dir, "routes.yaml", fmt.Sprintf(`
backends:
  - {name: app, endpoints: [%q]}
routes:
  - {path: /, pathType: Prefix, backend: app}
tls:
  - {cert: any-cert.pem, key: any-key.pem}
`, backend))
	c := daemon.Start(t, daemon.Setup{Args: []string{"--static-routes", routes, "--proxy-protocol", "--proxy-protocol-timeout", "30s", "--access-log", "json",
		"--http", "127.0.0.1:0", "--https", "127.0.0.1:0", "--no-admin", "--log-format", "json", "--log-level", "debug"}})
	a := c.Serving()

	const v2 = "send-proxy-v2 proxy-v2-options crc32c,unique-id"
	const checked = "check inter 50ms fall 100000" // a check that is late is not what takes the server away
	at := startHAProxy(t, []haproxyListener{
		{"http-v1", a.HTTP, "send-proxy"},
		{"http-v2", a.HTTP, v2},
		{"https-v1", a.HTTPS, "send-proxy"},
		{"https-v2", a.HTTPS, v2},
		{"checked-v1", a.HTTP, "send-proxy " + checked}, // its checks say UNKNOWN
		{"checked-v2", a.HTTP, v2 + " " + checked},      // … and LOCAL
	})
	for name, address := range at {
		for n := range 2 { // a connection from the pool of nobody: each has a header
			path := fmt.Sprint("/", name, "/", n)
			if got := from(t, client, address, strings.HasPrefix(name, "https"), path); got != client+" "+client+" "+client {
				t.Errorf("%s: the backend was told of %q", name, got)
			}
			var line struct{ Client string }
			if err := json.Unmarshal([]byte(c.Out.Wait(t, `"path":"`+path+`"`)), &line); err != nil || line.Client != client {
				t.Errorf("%s: the access log names %q, %v", name, line.Client, err)
			}
		}
	}
	const complaint = "without a valid PROXY header"
	if strings.Contains(c.Log.String(), complaint) {
		t.Errorf("HAProxy's connections were refused: %s", c.Log)
	}

	for range 3 {
		direct, err := net.Dial("tcp", a.HTTP)
		if err != nil {
			t.Fatal(err)
		}
		_ = direct.SetDeadline(time.Now().Add(daemon.Patience))
		fmt.Fprintf(direct, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
		if b, err := io.ReadAll(direct); len(b) > 0 {
			t.Errorf("a connection without a header got %q, %v", b, err)
		}
		direct.Close()
	}
	c.Log.Wait(t, `"level":"DEBUG","msg":"a connection `+complaint)
	if n := strings.Count(c.Log.String(), `"level":"WARN","msg":"a connection `+complaint); n != 1 {
		t.Errorf("%d warnings of connections without a header, want 1", n)
	}
}

// echoesClient is a backend that answers with whom it was told of.
func echoesClient(t *testing.T) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-For"), " ", r.Header.Get("X-Real-Ip"), " ", strings.Join(r.Header.Values("X-Forwarded-For"), ","))
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().String()
}

// from asks for a path from this address and returns the body.
func from(t *testing.T, client, address string, secure bool, path string) string {
	t.Helper()
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}, Timeout: daemon.Patience}
	c, err := d.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(daemon.Patience)); err != nil {
		t.Fatal(err)
	}
	if secure {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
	}
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// haproxyListener passes TCP connections on to an address, with options of its
// server line.
type haproxyListener struct{ name, to, options string }

// startHAProxy runs an HAProxy and returns where its listeners are, by name. Their
// sockets are opened here and handed over, so requests that come early wait.
func startHAProxy(t *testing.T, listeners []haproxyListener) map[string]string {
	t.Helper()
	at := make(map[string]string)
	config := strings.Builder{}
	config.WriteString("defaults\n  mode tcp\n  timeout connect 30s\n  timeout client 60s\n  timeout server 60s\n")
	var sockets []*os.File
	for i, one := range listeners {
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
		at[one.name] = l.Addr().String()
		fmt.Fprintf(&config, "listen %s\n  bind fd@%d\n  unique-id-format %%[uuid]\n  server daemon %s %s\n", one.name, 3+i, one.to, one.options)
	}
	dir := t.TempDir()
	cmd := exec.Command(programPath(t, "haproxy"), "-db", "-f", daemon.Write(t, dir, "haproxy.cfg", config.String()))
	cmd.ExtraFiles = sockets
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy was told\n%s\nand wrote: %s", config.String(), &output)
		}
	})
	return at
}
