//go:build cluster

package kube

import (
	"io"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"ramjet.dev/ingress/test/daemon"
)

// backend plays a pod: it answers with its name, and takes upgrades, through which
// it sends back what comes.
type backend struct {
	name string
	at   netip.Addr
	// served counts requests.
	served atomic.Int64
	// last is when the last of them came, in nanoseconds.
	last atomic.Int64
	// delay is how long an answer takes, in nanoseconds.
	delay atomic.Int64

	server *http.Server
	done   chan struct{}
}

// backend starts one on an address of its own.
func (w *world) backend(name string) *backend {
	w.t.Helper()
	return w.backendAt(name, netip.AddrPortFrom(w.net.Address(), backendPort))
}

func (w *world) backendAt(name string, at netip.AddrPort) *backend {
	w.t.Helper()
	l, err := w.net.Listen(at)
	if err != nil {
		w.t.Fatal(err)
	}
	b := &backend{name: name, at: at.Addr(), done: make(chan struct{})}
	b.server = &http.Server{Handler: b}
	go func() {
		defer close(b.done)
		_ = b.server.Serve(l) // ends with stop
	}()
	w.t.Cleanup(b.stop)
	return b
}

// stop ends a backend at once, as SIGKILL would. It may be called again.
func (b *backend) stop() {
	b.server.Close()
	<-b.done
}

// refuse closes the listener and lets requests that are under way end.
func (b *backend) refuse() {
	_ = b.server.Shutdown(contextFor(daemon.Patience))
	<-b.done
}

// lastAfter is how long after a moment the last request came, 0 if none did.
func (b *backend) lastAfter(moment time.Time) time.Duration {
	return max(0, time.Unix(0, b.last.Load()).Sub(moment))
}

// ServeHTTP answers with the name of the backend, and tells what it was asked.
func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.served.Add(1)
	b.last.Store(time.Now().UnixNano())
	if r.Header.Get("Upgrade") != "" {
		b.tunnel(w, r)
		return
	}
	w.Header().Set("X-Backend", b.name)
	w.Header().Set("X-Target", r.RequestURI)
	w.Header().Set("X-Host", r.Host)
	_, _ = io.Copy(io.Discard, r.Body)
	pause(time.Duration(b.delay.Load()))
	_, _ = io.WriteString(w, b.name)
}

func (b *backend) tunnel(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it has answered
	}
	defer func() { _ = conn.CloseNow() }()
	for {
		kind, text, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if err := conn.Write(r.Context(), kind, text); err != nil {
			return
		}
	}
}

// app makes a Service whose endpoints are these backends. name may be
// NAMESPACE/NAME.
func (w *world) app(name string, backends ...*backend) {
	w.t.Helper()
	w.put(service(name), slice(name, addresses(backends)...))
}

// simple makes a Service with one backend of the same name.
func (w *world) simple(name string) *backend {
	w.t.Helper()
	b := w.backend(name)
	w.app(name, b)
	return b
}

func addresses(backends []*backend) (all []netip.Addr) {
	for _, b := range backends {
		all = append(all, b.at)
	}
	return all
}
