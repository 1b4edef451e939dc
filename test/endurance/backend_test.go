//go:build endurance

package endurance

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// backend plays a pod. It does what the request asks it for (see serve), and checks
// that the body is the one that the client sent.
type backend struct {
	place
	h2c bool

	server *http.Server
	done   chan struct{}
}

// place is where a backend is.
type place struct {
	w    *world
	name string
	at   netip.AddrPort
}

// place is one on an address of its own.
func (w *world) place(name string) place {
	return place{w, name, netip.AddrPortFrom(w.net.Address(), backendPort)}
}

func (p place) address() netip.Addr { return p.at.Addr() }

// server is a backend of any kind. kill ends it at once, as SIGKILL would: what is
// being answered breaks off.
type server interface {
	address() netip.Addr
	start() error
	kill()
}

// backend starts one on an address of its own.
func (w *world) backend(name string, change ...func(*backend)) *backend {
	b := &backend{place: w.place(name)}
	for _, f := range change {
		f(b)
	}
	if err := b.start(); err != nil {
		w.t.Fatal(err)
	}
	return b
}

func (b *backend) start() error {
	l, err := b.w.net.Listen(b.at)
	if err != nil {
		return fmt.Errorf("start the backend %s: %w", b.name, err)
	}
	b.server = &http.Server{Handler: http.HandlerFunc(b.serve)}
	if b.h2c {
		b.server.Protocols = new(http.Protocols)
		b.server.Protocols.SetUnencryptedHTTP2(true)
	}
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		_ = b.server.Serve(l) // ends with kill or leave
	}()
	return nil
}

func (b *backend) kill() {
	b.server.Close()
	<-b.done
}

// leave ends it as a pod that was asked to: what is being answered is answered.
func (b *backend) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		b.server.Close()
	}
	<-b.done
}

// serve answers with the name of the backend, the number of the request, and the
// bytes that belong to both the number and the size that was asked for. In the
// target, size=N is that size and do=WORD asks for something else than an answer.
func (b *backend) serve(w http.ResponseWriter, r *http.Request) {
	ask, id := r.URL.Query(), r.Header.Get("X-Id")
	mirrored := r.Header.Get("X-Mirrored-By") != ""
	if mirrored != (b.name == mirrorName) {
		b.w.tally.fault("backend", fmt.Errorf("%s got the request %s, mirrored: %t", b.name, id, mirrored))
	}
	switch ask.Get("do") {
	case "tunnel":
		b.tunnel(w)
		return
	case "early": // it does not want the body, and says so before it has come
		w.Header().Set("Connection", "close")
		b.answer(w, r, http.StatusRequestEntityTooLarge, id, 10)
		return
	}
	sum := crc32.NewIEEE()
	_, err := io.Copy(sum, r.Body)
	if want := r.Header.Get("X-Sum"); want != "" && err == nil {
		if got := fmt.Sprint(sum.Sum32()); got != want {
			b.w.tally.fault("backend", fmt.Errorf("%s got another body with %s %s than was sent: %s, want %s", b.name, r.Method, id, got, want))
		}
		b.w.ran(id, mirrored)
	}
	size, _ := strconv.Atoi(ask.Get("size"))
	switch ask.Get("do") {
	case "slow":
		wait(r.Context(), 50*time.Millisecond)
	case "reset":
		b.breakOff(w, "", true)
		return
	case "cut":
		b.breakOff(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Backend: %s\r\nX-Id: %s\r\nContent-Length: %d\r\n\r\n%s", b.name, id, size, content(id, size)[:size/2]), size%2 == 0)
		return
	case "bye": // the connection ends after the answer, which does not say so
		b.breakOff(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Backend: %s\r\nX-Id: %s\r\nX-Host: %s\r\nContent-Length: %d\r\n\r\n%s", b.name, id, r.Host, size, content(id, size)), false)
		return
	}
	if mirrored {
		b.shadow(w, id)
		return
	}
	b.answer(w, r, http.StatusOK, id, size)
}

func (b *backend) answer(w http.ResponseWriter, r *http.Request, status int, id string, size int) {
	h := w.Header()
	h.Set("X-Backend", b.name)
	h.Set("X-Id", id)
	h.Set("X-Host", r.Host)
	if r.URL.Query().Has("chunked") {
		h.Set("Trailer", "X-End")
		defer h.Set("X-End", id)
	} else {
		h.Set("Content-Length", strconv.Itoa(size))
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(content(id, size)) // the client may have gone
	}
}

// shadow is how a mirror answers: mostly badly, which nobody may notice.
func (b *backend) shadow(w http.ResponseWriter, id string) {
	switch crc32.ChecksumIEEE([]byte(id)) % 8 {
	case 0:
		b.breakOff(w, "", true)
		return
	case 1:
		b.breakOff(w, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nmir", false)
		return
	case 2:
		wait(context.Background(), 200*time.Millisecond)
	case 3:
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = io.WriteString(w, "the answer of a mirror")
}

// breakOff writes bytes as they are and ends the connection, with a reset if hard.
func (b *backend) breakOff(w http.ResponseWriter, bytes string, hard bool) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer c.Close()
	_, _ = io.WriteString(c, bytes) // the proxy may have gone
	if hard {
		c.(*net.TCPConn).SetLinger(0)
	}
}

// tunnel sends back what comes, until the other side ends.
func (b *backend) tunnel(w http.ResponseWriter) {
	c, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	b.w.tunnels.Go(func() {
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(c, in) // the client ends it
	})
}

// runs counts how often a request with a body was served.
type runs struct {
	mu sync.Mutex
	of map[string]int
}

// ran notes that a request was served by a backend that is no mirror.
func (w *world) ran(id string, mirrored bool) {
	if mirrored {
		return
	}
	w.runs.mu.Lock()
	defer w.runs.mu.Unlock()
	w.runs.of[id]++
}

// forget returns how often a request was served, and forgets it.
func (r *runs) forget(id string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.of[id]
	delete(r.of, id)
	return n
}
