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

// refusedAfter dials until it is refused and returns how long that took.
func refusedAfter(t *testing.T, address string) time.Duration {
	t.Helper()
	for start := time.Now(); ; {
		c, err := net.Dial("tcp", address)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return time.Since(start)
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

	c.Signal(syscall.SIGTERM)
	if took := refusedAfter(t, a.HTTP); took > time.Second {
		t.Errorf("new connections were taken for %v after the signal, want them refused at once", took)
	}
	refusedAfter(t, a.HTTPS)
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
	c.Signal(syscall.SIGTERM)
	refusedAfter(t, a.HTTP)
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
	start := time.Now()
	c.Signal(syscall.SIGTERM)
	if body, err := io.ReadAll(client.head(t).Body); err == nil {
		t.Errorf("the answer ended well although it was closed: %q", body)
	}
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	if took := time.Since(start); took < time.Second || took > 4*time.Second {
		t.Errorf("ended %v after the signal, want it when the grace of 1s is over", took)
	}
	if line := c.Log.Wait(t, "grace is over"); !strings.Contains(line, `"level":"WARN"`) {
		t.Errorf("want a warning about the end of the grace, got %s", line)
	}
}

// TestSecondSignal: somebody who asks twice does not want to wait.
func TestSecondSignal(t *testing.T) {
	endpoint, begun := hold(t)
	c, a := serve(t, endpoint, "--shutdown-grace", "10m")
	client := dial(t, a.HTTP)
	client.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	soon(t, begun, "the request")
	c.Signal(syscall.SIGTERM)
	c.Log.Wait(t, "draining")
	start := time.Now()
	c.Signal(syscall.SIGINT)
	c.Exit()
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("ended %v after the second signal, want it at once", took)
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
