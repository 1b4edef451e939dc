//go:build linux

package cluster

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy stands between a client and the API server and makes their connection as
// bad as a test wants. Its methods may be used by several goroutines.
type Proxy struct {
	target string
	at     string
	sent   atomic.Int64 // bytes that were passed to clients

	mu       sync.Mutex
	listener net.Listener // nil while cut
	open     map[net.Conn]bool
	delay    time.Duration
	frozen   chan struct{} // closed when bytes may pass; nil = they may
	closed   bool
	running  sync.WaitGroup
}

// NewProxy listens on a port of loopback and passes everything to target.
func NewProxy(target string) (*Proxy, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: target, at: loopback(port), open: make(map[net.Conn]bool)}
	return p, p.Open()
}

// Address is where it listens, host:port. It stays the same.
func (p *Proxy) Address() string { return p.at }

// Sent is how many bytes went to clients so far, on the wire: with TLS they are a little more
// than what was said.
func (p *Proxy) Sent() int64 { return p.sent.Load() }

// Open lets connections in; it is open at first.
func (p *Proxy) Open() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil || p.closed {
		return nil
	}
	l, err := net.Listen("tcp", p.at)
	if err != nil {
		return err
	}
	p.listener = l
	p.running.Go(func() { p.accept(l) })
	return nil
}

// Cut resets all connections and refuses new ones.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.reset()
}

// Reset resets all connections; new ones are welcome.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset()
}

func (p *Proxy) reset() {
	for c := range p.open {
		drop(c)
	}
}

// Delay holds whatever passes, in either direction, for d.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Freeze stops all bytes and tells nobody: what a lost route looks like.
// Connections are still accepted.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen == nil {
		p.frozen = make(chan struct{})
	}
}

// Thaw lets what Freeze stopped go on.
func (p *Proxy) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen != nil {
		close(p.frozen)
		p.frozen = nil
	}
}

// Close ends it and all its connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Cut()
	p.Thaw()
	p.running.Wait()
}

func (p *Proxy) accept(l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer p.forget(client)
	if !p.keep(client) {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		drop(client)
		return
	}
	defer p.forget(server)
	if !p.keep(server) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(server, client, nil) })
	both.Go(func() { p.pass(client, server, &p.sent) })
	both.Wait()
}

// drop resets one connection.
func drop(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // then closing is a reset
	}
	c.Close()
}

func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return false
	}
	p.open[c] = true
	return true
}

func (p *Proxy) forget(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	c.Close()
}

// pass copies one direction, and adds to count, if that is not nil. Its end ends the other one too: nothing here is
// about half-closed connections.
func (p *Proxy) pass(to, from net.Conn, count *atomic.Int64) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.hold()
		if n > 0 {
			if count != nil {
				count.Add(int64(n))
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				drop(to) // a reset is passed on as one
			}
			return
		}
	}
}

// hold waits for as long as the connection is to be slow or dead.
func (p *Proxy) hold() {
	p.mu.Lock()
	delay, frozen := p.delay, p.frozen
	p.mu.Unlock()
	if delay > 0 {
		<-time.After(delay)
	}
	if frozen != nil {
		<-frozen
	}
}
