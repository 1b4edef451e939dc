//go:build e2e

package e2e

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// atLength bounds the transfer of a gibibyte, which takes some seconds.
const atLength = 10 * daemon.Patience

const (
	gib = 1 << 30
	mib = 1 << 20
	// mostMemory is what the daemon may take while bodies of any size pass.
	mostMemory = 64 * mib
	// mostInSockets is what may be under way between two programs with the daemon
	// in between: the kernel's buffers of two connections, both ends.
	mostInSockets = 48 * mib
)

// noise is a body that no part of resembles another, n bytes of it, which are
// hashed as they are read.
func noise(seed byte, n int64) (io.Reader, hash.Hash) {
	sum := sha256.New()
	return io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{seed}), n), sum), sum
}

// TestGibibytes (B01) sends 1 GiB up and 1 GiB down at the same time: every byte
// arrives, and the daemon holds next to none of them.
func TestGibibytes(t *testing.T) {
	received := make(chan string, 1)
	down, sent := noise(1, gib)
	endpoint := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", fmt.Sprint(gib))
			if _, err := io.Copy(w, down); err != nil {
				t.Errorf("the download stopped at the backend: %v", err)
			}
			return
		}
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		if err != nil || n != gib {
			t.Errorf("the upload stopped at the backend after %d bytes: %v", n, err)
		}
		received <- fmt.Sprintf("%x", sum.Sum(nil))
	})
	c, a := serve(t, endpoint)
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	defer client.CloseIdleConnections()

	var both sync.WaitGroup
	both.Go(func() {
		up, sum := noise(2, gib)
		// A plain reader has no length: the body goes in chunks.
		r, err := client.Post("http://"+a.HTTP+"/up", "application/octet-stream", up)
		if err != nil {
			t.Errorf("upload: %v", err)
			return
		}
		r.Body.Close()
		if got, want := soon(t, received, "the end of the upload"), fmt.Sprintf("%x", sum.Sum(nil)); got != want || r.StatusCode != 200 {
			t.Errorf("upload: status %d, hash %s, want 200 and %s", r.StatusCode, got, want)
		}
	})
	both.Go(func() {
		r, err := client.Get("http://" + a.HTTP + "/down")
		if err != nil {
			t.Errorf("download: %v", err)
			return
		}
		defer r.Body.Close()
		sum := sha256.New()
		if n, err := io.Copy(sum, r.Body); err != nil || n != gib {
			t.Errorf("the download stopped at the client after %d bytes: %v", n, err)
		}
		if got, want := sum.Sum(nil), sent.Sum(nil); string(got) != string(want) {
			t.Errorf("download: hash %x, want %x", got, want)
		}
	})
	both.Wait()
	peak := c.PeakMemory()
	t.Logf("the daemon's peak was %d MiB", peak/mib)
	if peak > mostMemory {
		t.Errorf("the daemon took %d MiB, want at most %d", peak/mib, mostMemory/mib)
	}
}

// TestEcho (B01) sends 1 GiB up and gets it back down in the same exchange: the answer
// begins while the request is still coming, and neither side waits for the other.
func TestEcho(t *testing.T) {
	endpoint := raw(t, func(c net.Conn, in *bufio.Reader) {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", gib)
		if n, err := io.CopyN(c, in, gib); err != nil {
			t.Errorf("the echo stopped at the backend after %d bytes: %v", n, err)
		}
	})
	c, a := serve(t, endpoint)
	client := dial(t, a.HTTP)
	if err := client.SetDeadline(time.Now().Add(atLength)); err != nil {
		t.Fatal(err)
	}
	client.send(t, fmt.Sprintf("POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n", gib))
	up, sent := noise(3, gib)
	var sending sync.WaitGroup
	sending.Go(func() {
		if n, err := io.Copy(client, up); err != nil {
			t.Errorf("the request stopped at the client after %d bytes: %v", n, err)
		}
	})
	received := sha256.New()
	n, err := io.Copy(received, client.head(t).Body)
	if err != nil || n != gib {
		t.Errorf("the answer stopped at the client after %d bytes: %v", n, err)
	}
	sending.Wait()
	if got, want := received.Sum(nil), sent.Sum(nil); string(got) != string(want) {
		t.Errorf("hash %x, want %x", got, want)
	}
	if peak := c.PeakMemory(); peak > mostMemory {
		t.Errorf("the daemon took %d MiB, want at most %d", peak/mib, mostMemory/mib)
	}
}

// pushUntilStuck writes until the other side takes nothing more, and returns how
// much went out. A write that gets nowhere for a while is the sign.
func pushUntilStuck(c net.Conn) (sent int64, err error) {
	block := make([]byte, 256<<10)
	for sent < gib {
		if err := c.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			return sent, err
		}
		n, err := c.Write(block)
		sent += int64(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return sent, c.SetWriteDeadline(time.Now().Add(atLength))
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, errors.New("nothing ever slowed it down")
}

// TestSlowClient: a client that does not read stops the backend, not the memory
// of the daemon; when it reads again, all of it comes.
func TestSlowClient(t *testing.T) {
	type push struct {
		sent int64
		err  error
	}
	stuck := make(chan push, 1)
	endpoint := raw(t, func(c net.Conn, _ *bufio.Reader) {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
		sent, err := pushUntilStuck(c)
		stuck <- push{sent, err}
	})
	c, a := serve(t, endpoint)
	client := dial(t, a.HTTP)
	client.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
	p := soon(t, stuck, "a backend that is slowed down")
	if p.err != nil || p.sent > mostInSockets {
		t.Errorf("%d MiB were taken from the backend (%v), want it stopped before %d", p.sent/mib, p.err, mostInSockets/mib)
	}
	if got, err := io.Copy(io.Discard, client.head(t).Body); err != nil || got != p.sent {
		t.Errorf("the client got %d of %d bytes: %v", got, p.sent, err)
	}
	if peak := c.PeakMemory(); peak > mostMemory {
		t.Errorf("the daemon took %d MiB, want at most %d", peak/mib, mostMemory/mib)
	}
}

// TestSlowBackend is the same the other way round.
func TestSlowBackend(t *testing.T) {
	read, got := make(chan struct{}), make(chan int64, 1)
	endpoint := raw(t, func(c net.Conn, in *bufio.Reader) {
		<-read
		n, err := io.Copy(io.Discard, io.LimitReader(in, gib))
		if err == nil {
			got <- n
		}
	})
	c, a := serve(t, endpoint)
	client := dial(t, a.HTTP)
	client.send(t, fmt.Sprintf("POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n", gib))
	sent, err := pushUntilStuck(client)
	if err != nil || sent > mostInSockets {
		t.Errorf("%d MiB were taken from the client (%v), want it stopped before %d", sent/mib, err, mostInSockets/mib)
	}
	close(read)
	if _, err := io.Copy(client, io.LimitReader(rand.NewChaCha8([32]byte{}), gib-sent)); err != nil {
		t.Errorf("the rest of the body was not taken: %v", err)
	}
	if n := soon(t, got, "the end of the body at the backend"); n != gib {
		t.Errorf("the backend got %d of %d bytes", n, gib)
	}
	if peak := c.PeakMemory(); peak > mostMemory {
		t.Errorf("the daemon took %d MiB, want at most %d", peak/mib, mostMemory/mib)
	}
}

// raw starts a backend that reads one request head of each connection and leaves
// the rest to a function, which owns the connection until it returns.
func raw(t *testing.T, answer func(net.Conn, *bufio.Reader)) (endpoint string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			all.Go(func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if line == "\r\n" {
						break
					}
				}
				answer(c, in)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}
