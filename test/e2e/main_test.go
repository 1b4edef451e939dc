//go:build e2e

// Package e2e runs the real daemon as a child process and shows what an operator
// and a client see: start, refusals, traffic under memory limits, the admin port,
// drain and end. Nothing is mocked; nothing inside the daemon is looked at.
package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

func TestMain(m *testing.M) { daemon.Main(m) }

// loopback are the flags of a daemon on free ports that logs JSON.
var loopback = []string{"--http", "127.0.0.1:0", "--https", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"}

// serve starts a daemon that sends everything to one endpoint, with more flags,
// and waits until it serves.
func serve(t *testing.T, endpoint string, flags ...string) (*daemon.Child, daemon.Addresses) {
	t.Helper()
	return serveWith(t, nil, endpoint, flags...)
}

// serveWith is serve with variables for the daemon, NAME=value.
func serveWith(t *testing.T, env []string, endpoint string, flags ...string) (*daemon.Child, daemon.Addresses) {
	t.Helper()
	dir := t.TempDir()
	daemon.Pair(t, dir, "any", "shop.test")
	routes := daemon.Write(t, dir, "routes.yaml", fmt.Sprintf(`
backends:
  - {name: app, endpoints: ["%s"]}
routes:
  - {path: /, pathType: Prefix, backend: app}
tls:
  - {cert: any-cert.pem, key: any-key.pem}
`, endpoint))
	c := daemon.Start(t, daemon.Setup{Args: append(append([]string{"--static-routes", routes}, loopback...), flags...), Env: env})
	return c, c.Serving()
}

// origin starts a backend on a free port; it ends with the test.
func origin(t *testing.T, answer http.HandlerFunc) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: answer}
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

// wire is a client's connection, for tests that look at single bytes.
type wire struct {
	net.Conn
	in *bufio.Reader
}

// dial connects and bounds everything that happens on the connection. Who moves much
// over it moves the bound.
func dial(t *testing.T, address string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(daemon.Patience)); err != nil {
		t.Fatal(err)
	}
	return &wire{Conn: c, in: bufio.NewReader(c)}
}

// send writes a request head as it stands.
func (w *wire) send(t *testing.T, bytes string) {
	t.Helper()
	if _, err := io.WriteString(w, bytes); err != nil {
		t.Fatal(err)
	}
}

// head reads the head of a response; its body has to be read by the caller.
func (w *wire) head(t *testing.T) *http.Response {
	t.Helper()
	r, err := http.ReadResponse(w.in, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

// soon waits for an event.
func soon[T any](t *testing.T, event <-chan T, what string) T {
	t.Helper()
	late := time.NewTimer(daemon.Patience)
	defer late.Stop()
	select {
	case v := <-event:
		return v
	case <-late.C:
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}
