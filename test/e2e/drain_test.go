//go:build e2e

package e2e

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

const heldBody = "the first half, and the second half"

// hold is a backend that begins to answer and ends when it is told to. Each
// request that has begun gives the function that lets it end.
func hold(t *testing.T) (endpoint string, begun <-chan func()) {
	requests := make(chan func(), 16)
	endpoint = origin(t, func(w http.ResponseWriter, r *http.Request) {
		half := heldBody[:len(heldBody)/2]
		_, _ = io.WriteString(w, half)
		_ = http.NewResponseController(w).Flush()
		finish := make(chan struct{})
		requests <- func() { close(finish) }
		select {
		case <-finish:
			_, _ = io.WriteString(w, heldBody[len(half):])
		case <-r.Context().Done():
		}
	})
	return endpoint, requests
}

// draining asks a daemon to stop and waits until it says that it does, and until each
// of its addresses is refused.
func draining(t *testing.T, c *daemon.Child, addresses ...string) {
	t.Helper()
	c.Signal(syscall.SIGTERM)
	c.Log.Wait(t, `"msg":"draining`)
	for _, a := range addresses {
		refused(t, a)
	}
}

// refused dials until nobody listens any more.
func refused(t *testing.T, address string) {
	t.Helper()
	for start := time.Now(); ; {
		c, err := net.Dial("tcp", address)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return
		case err == nil:
			c.Close()
		}
		if time.Since(start) > daemon.Patience {
			t.Fatalf("%s still takes connections", address)
		}
	}
}

// TestDrain: a request in flight ends as if nothing had happened, nobody new gets
// in, and that is a success.
func TestDrain(t *testing.T) {
	endpoint, begun := hold(t)
	c, a := serve(t, endpoint)

	idle := dial(t, a.HTTP)
	idle.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	soon(t, begun, "the request of the connection that is idle later")()
	if body := readAll(t, idle.head(t).Body); body != heldBody {
		t.Fatalf("got %q", body)
	}
	busy := dial(t, a.HTTP)
	busy.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	finish := soon(t, begun, "the request in flight")

	draining(t, c, a.HTTP, a.HTTPS) // while the request in flight goes on
	if _, err := idle.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the idle connection: %v, want its end", err)
	}
	response := busy.head(t)
	finish()
	if body := readAll(t, response.Body); body != heldBody {
		t.Errorf("the answer in flight was cut: got %q", body)
	}
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

// TestDrainSaysClose: a client that gets its answer during a drain learns that
// the connection ends with it.
func TestDrainSaysClose(t *testing.T) {
	asked, answer := make(chan struct{}, 1), make(chan struct{})
	endpoint := origin(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
	})
	c, a := serve(t, endpoint)
	client := dial(t, a.HTTP)
	client.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	soon(t, asked, "the request")
	draining(t, c, a.HTTP)
	close(answer)
	if r := client.head(t); r.StatusCode != 200 || !r.Close {
		t.Errorf("status %d, Connection: close %v; want 200 and true", r.StatusCode, r.Close)
	}
	if _, err := client.in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the answer: %v, want the end of the connection", err)
	}
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
}

// TestGrace: what outlives the grace is closed when it is over, which is said in
// the log and is no failure.
func TestGrace(t *testing.T) {
	endpoint, begun := hold(t)
	c, a := serve(t, endpoint, "--shutdown-grace", "1s")
	client := dial(t, a.HTTP)
	client.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	soon(t, begun, "the request")
	draining(t, c, a.HTTP)
	if body, err := io.ReadAll(client.head(t).Body); err == nil {
		t.Errorf("the answer ended well although it was closed: %q", body)
	}
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	inOrder(t, c, `"msg":"draining`, `"level":"WARN","msg":"the grace is over"`, `"msg":"stopped"`)
}

// TestSecondSignal: somebody who asks twice does not want to wait.
func TestSecondSignal(t *testing.T) {
	endpoint, begun := hold(t)
	c, a := serve(t, endpoint, "--shutdown-grace", "10m")
	client := dial(t, a.HTTP)
	client.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	soon(t, begun, "the request")
	draining(t, c, a.HTTP)
	c.Signal(syscall.SIGINT)
	if code := c.Exit(); code != 1 { // long before the grace is over
		t.Errorf("exit status %d, want 1", code)
	}
	inOrder(t, c, `"msg":"draining`, `"msg":"ended by a second signal"`)
	if text := c.Log.String(); strings.Contains(text, `"msg":"stopped"`) || strings.Contains(text, "grace is over") {
		t.Errorf("it did not end at once: %s", text)
	}
}

// inOrder wants the log of a daemon that has ended to have these texts one after the
// other.
func inOrder(t *testing.T, c *daemon.Child, texts ...string) {
	t.Helper()
	rest := c.Log.String()
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("the log has no %s, or not after what has to come first: %s", text, c.Log)
			return
		}
		rest = after
	}
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("after %q: %v", text, err)
	}
	return string(text)
}
