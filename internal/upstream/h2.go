package upstream

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// HTTP2 returns the connections to an endpoint that speaks HTTP/2 in the clear
// with prior knowledge. Requests share connections; net/http keeps them. When the
// endpoint leaves the table they are closed within a second of their last stream's
// end.
func (p *Pools) HTTP2(address string) http.RoundTripper {
	q := p.of(address)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.h2 == nil {
		q.h2 = newHTTP2(p.options)
	}
	if q.retired {
		p.leave(q.h2) // nobody will do it later
	}
	return q.h2.transport
}

// http2 are the HTTP/2 connections to one endpoint.
type http2 struct {
	dialer    net.Dialer
	transport *http.Transport

	mu     sync.Mutex
	open   map[*h2Conn]struct{}
	closed bool
}

// deadAfter is how long an HTTP/2 peer may leave what was sent to it, or a probe,
// without an acknowledgement before it is taken for dead.
const deadAfter = 45 * time.Second

// receiveBuffer is what a stream may send ahead of a client that reads slowly: enough
// for a gigabit a second over two milliseconds. net/http's own 4 MiB for each stream
// would be collecting rather than streaming.
const receiveBuffer = 256 << 10

func newHTTP2(options Options) *http2 {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	h := &http2{
		dialer: net.Dialer{Timeout: options.ConnectTimeout, Control: func(_, _ string, c syscall.RawConn) error {
			return c.Control(boundSilence)
		}},
		open: map[*h2Conn]struct{}{},
	}
	h.transport = &http.Transport{
		Protocols:              protocols,
		DialContext:            h.dial,
		DisableCompression:     true,
		IdleConnTimeout:        idleLife,
		ResponseHeaderTimeout:  options.ResponseTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: int64(options.MaxHeaderBytes),
		// There are no pings of HTTP/2: a gRPC server takes more than one in five
		// minutes for abuse and closes the connection with all its streams. TCP finds
		// out too that a peer has vanished: see boundSilence.
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: receiveBuffer},
	}
	return h
}

// h2Conn is a connection that is known until it is closed.
type h2Conn struct {
	net.Conn
	home *http2
}

// Close closes the connection.
func (c *h2Conn) Close() error {
	c.home.mu.Lock()
	delete(c.home.open, c)
	c.home.mu.Unlock()
	return c.Conn.Close()
}

func (h *http2) dial(ctx context.Context, network, address string) (net.Conn, error) {
	raw, err := h.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &h2Conn{Conn: raw, home: h}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		raw.Close()
		return nil, net.ErrClosed
	}
	h.open[c] = struct{}{}
	return c, nil
}

// closeIdle closes the connections without streams and reports whether any others
// are left.
func (h *http2) closeIdle() (left bool) {
	h.transport.CloseIdleConnections()
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open) > 0
}

// closeAll closes the connections whatever goes on there, now and later.
func (h *http2) closeAll() {
	h.mu.Lock()
	h.closed = true
	open := h.open
	h.open = nil
	h.mu.Unlock()
	for c := range open {
		c.Close()
	}
	h.transport.CloseIdleConnections()
}

// leavers are HTTP/2 connections whose endpoints have left the table. They are
// looked at until the last one is closed, because nobody is told when a stream has
// ended.
type leavers struct {
	mu   sync.Mutex
	all  map[*http2]struct{}
	over bool // the pools are closed
}

func (p *Pools) leave(h *http2) {
	l := &p.leavers
	l.mu.Lock()
	over := l.over
	if !over {
		if l.all == nil {
			l.all = map[*http2]struct{}{}
		}
		l.all[h] = struct{}{}
	}
	l.mu.Unlock()
	if over {
		h.closeAll()
	}
}

// sweep closes what has become idle, and forgets who has nothing open any more.
func (l *leavers) sweep() {
	for _, h := range l.list() {
		if !h.closeIdle() {
			l.mu.Lock()
			delete(l.all, h)
			l.mu.Unlock()
		}
	}
}

// closeAll closes the connections of those who leave, now and later.
func (l *leavers) closeAll() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	for _, h := range l.list() {
		h.closeAll()
	}
}

func (l *leavers) list() []*http2 {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*http2, 0, len(l.all))
	for h := range l.all {
		list = append(list, h)
	}
	return list
}
