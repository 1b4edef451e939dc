//go:build linux

package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// lastWait is how long a connection may take to its first request when the service
// stops.
const lastWait = 2 * time.Second

// drain ends a server so that a proxy in front sees each request answered, or the
// connection for it refused. Shutdown alone does not: the system resets connections
// that were made and not yet accepted, and net/http closes those whose first request
// it has just read. A proxy cannot tell what became of such a request, and may not
// repeat it. On a connection that was used before it may.
//
// served tells the end of the server's Serve: until then a connection may have been
// accepted and not be known.
func drain(ctx context.Context, server *http.Server, listener *net.TCPListener, served <-chan struct{}, f *fresh) error {
	last := takeLast(listener)
	listener.Close()
	<-served
	server.SetKeepAlivesEnabled(false) // and no further request on those that are open
	waiting := newFew(listener, last)
	go func() { _ = server.Serve(waiting) }() // ends with Shutdown
	<-waiting.taken
	f.wait(lastWait)
	return server.Shutdown(ctx)
}

// takeLast takes the connections that wait to be accepted, and lets no further one be
// made: not by closing the listener, which takes effect only once whoever accepts has
// let go of it, but by shutting it down right after.
func takeLast(l *net.TCPListener) (all []net.Conn) {
	raw, err := l.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) { // it fails if l is closed: then there are none
		for {
			c, _, err := unix.Accept4(int(fd), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
			if err != nil { // EAGAIN: that was the last
				_ = unix.Shutdown(int(fd), unix.SHUT_RD) // if not, it is closed a moment later
				return
			}
			f := os.NewFile(uintptr(c), "connection")
			conn, err := net.FileConn(f)
			f.Close()
			if err == nil {
				all = append(all, conn)
			}
		}
	})
	return all
}

// few is a listener with a few connections, and nothing after them until it is closed.
type few struct {
	net.Listener // for its address
	conns        chan net.Conn
	taken        chan struct{} // closed once all were accepted
	ended        chan struct{}
}

func newFew(l net.Listener, conns []net.Conn) *few {
	f := &few{Listener: l, conns: make(chan net.Conn, len(conns)), taken: make(chan struct{}), ended: make(chan struct{})}
	for _, c := range conns {
		f.conns <- c
	}
	close(f.conns)
	return f
}

// Accept returns the next connection.
func (f *few) Accept() (net.Conn, error) {
	if c, more := <-f.conns; more {
		return c, nil
	}
	close(f.taken)
	<-f.ended
	return nil, net.ErrClosed
}

// Close ends Accept.
func (f *few) Close() error {
	close(f.ended)
	return nil
}

// fresh is the connections on which no request was answered yet.
type fresh struct {
	mu      sync.Mutex
	conns   map[net.Conn]bool
	changed chan struct{}
}

func newFresh() *fresh {
	return &fresh{conns: map[net.Conn]bool{}, changed: make(chan struct{}, 1)}
}

// note is the ConnState of a server.
func (f *fresh) note(c net.Conn, s http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch s {
	case http.StateNew:
		f.conns[c] = true
	case http.StateIdle, http.StateClosed, http.StateHijacked:
		delete(f.conns, c)
	}
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// wait waits until there is none, or for as long as that may take.
func (f *fresh) wait(longest time.Duration) {
	late := time.NewTimer(longest)
	defer late.Stop()
	for {
		f.mu.Lock()
		n := len(f.conns)
		f.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-f.changed:
		case <-late.C:
			return
		}
	}
}
