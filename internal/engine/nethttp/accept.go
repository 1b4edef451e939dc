package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/progress"
)

// counted is a client's TCP connection: registered so that a forced end finds
// it, and counted as active until it is closed.
type counted struct {
	*net.TCPConn
	engine *Engine
	once   sync.Once
	// early is what was read behind a PROXY header; it is read first.
	early []byte
	// source is the client that a PROXY header names; nil = the socket's peer.
	source net.Addr

	writing sync.Mutex // serialises writes, and guards writer
	writer  progress.Writer

	mu       sync.Mutex
	explicit bool // a write deadline was set from outside: it holds as it is
	aborted  bool // and it is past: for good
	moved    bool // the deadline is not what writer believes
}

func (e *Engine) count(c net.Conn) *counted {
	k := &counted{TCPConn: c.(*net.TCPConn), engine: e}
	e.metrics.ActiveConnections.Add(1)
	e.conns.add(k)
	return k
}

// Read reads from the connection, early bytes first.
func (c *counted) Read(p []byte) (int, error) {
	if len(c.early) == 0 {
		return c.TCPConn.Read(p)
	}
	n := copy(p, c.early)
	if c.early = c.early[n:]; len(c.early) == 0 {
		c.early = nil
	}
	return n, nil
}

// Write writes for as long as bytes move: it is given up when the client took
// nothing for the stream's idle time.
func (c *counted) Write(p []byte) (int, error) {
	if c.isExplicit() {
		return c.TCPConn.Write(p)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.wasMoved() {
		c.writer = progress.Writer{}
	}
	return c.writer.Write(c.TCPConn, p, c.engine.options.StreamIdle, func() error {
		if c.isExplicit() {
			return os.ErrDeadlineExceeded
		}
		return nil
	})
}

func (c *counted) isExplicit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.explicit
}

// wasMoved reports, once, that somebody else had set a write deadline.
func (c *counted) wasMoved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	moved := c.moved
	c.moved = false
	return moved
}

// SetWriteDeadline sets a deadline that writes obey from then on, as the end of a
// TLS connection needs it, and as an abort does. The zero time takes it away, but
// not that of an abort: net/http sets it after each request, and Write sees to a
// deadline of its own.
func (c *counted) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.IsZero() {
		c.explicit = c.aborted
		return nil
	}
	c.explicit, c.moved, c.aborted = true, true, c.aborted || isPast(t)
	return c.TCPConn.SetWriteDeadline(t)
}

// SetDeadline sets both deadlines.
func (c *counted) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// RemoteAddr is the client's address.
func (c *counted) RemoteAddr() net.Addr {
	if c.source != nil {
		return c.source
	}
	return c.TCPConn.RemoteAddr()
}

func (c *counted) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		c.engine.conns.remove(c)
		c.engine.metrics.ActiveConnections.Add(-1)
		err = c.TCPConn.Close()
	})
	return err
}

// accept takes the next connection. What the system cannot do just now, and what became
// of a connection before it was taken (accept(2)), is no end of a listener: it is tried
// again. The error says that l was closed, or that ctx ended.
func (e *Engine) accept(ctx context.Context, l net.Listener) (*counted, error) {
	for {
		c, err := l.Accept()
		if err == nil {
			return e.count(c), nil
		}
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		e.log.Warn("accepting a connection failed", "address", l.Addr().String(), "error", err)
		if !pause(ctx, acceptPause) {
			return nil, net.ErrClosed
		}
	}
}

// gateListener puts a gate before every plaintext connection.
type gateListener struct {
	net.Listener
	engine *Engine
	ctx    context.Context
	cancel context.CancelFunc
}

func newGateListener(l net.Listener, e *Engine) *gateListener {
	g := &gateListener{Listener: l, engine: e}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

func (l *gateListener) Accept() (net.Conn, error) {
	c, err := l.engine.accept(l.ctx, l.Listener)
	if err != nil {
		return nil, err
	}
	return newGate(c, l.engine), nil
}

func (l *gateListener) Close() error {
	l.cancel()
	return l.Listener.Close()
}

// prepared is a listener whose Accept returns connections that have said what
// comes before HTTP: a PROXY header, a TLS handshake. CPU work and slow clients
// stay out of the accept loop.
type prepared struct {
	net.Listener
	engine *Engine
	// prepare makes a connection ready for net/http; nil = it was refused and
	// closed.
	prepare func(context.Context, *counted) net.Conn
	ready   chan net.Conn
	ctx     context.Context
	cancel  context.CancelFunc
}

func newPrepared(l net.Listener, e *Engine, prepare func(context.Context, *counted) net.Conn) *prepared {
	p := &prepared{Listener: l, engine: e, prepare: prepare, ready: make(chan net.Conn)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// accept runs until the listener closes.
func (p *prepared) accept() {
	for {
		k, err := p.engine.accept(p.ctx, p.Listener)
		if err != nil {
			return
		}
		p.engine.serving.Go(func() { p.hand(k) })
	}
}

// hand prepares a connection and hands it to Accept.
func (p *prepared) hand(k *counted) { p.handAs(k, p.prepare) }

// handAs is hand with a way of preparing of its own.
func (p *prepared) handAs(k *counted, prepare func(context.Context, *counted) net.Conn) {
	c := prepare(p.ctx, k)
	if c == nil {
		return
	}
	select {
	case p.ready <- c:
	case <-p.ctx.Done():
		k.Close()
	}
}

func (p *prepared) Accept() (net.Conn, error) {
	select {
	case c := <-p.ready:
		return c, nil
	case <-p.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (p *prepared) Close() error {
	p.cancel()
	return p.Listener.Close()
}

// preparePlain reads the PROXY header of a plaintext connection.
func (e *Engine) preparePlain(ctx context.Context, c *counted) net.Conn {
	if !e.proxyHeader(ctx, c) {
		return nil
	}
	return newGate(c, e)
}

// prepareTLS reads the PROXY header, if one is required, and shakes hands.
func (e *Engine) prepareTLS(ctx context.Context, c *counted) net.Conn {
	if e.options.ProxyProtocol && !e.proxyHeader(ctx, c) {
		return nil
	}
	return e.shakeHands(ctx, c)
}

// shakeHands makes a connection one of TLS, or refuses and closes it.
func (e *Engine) shakeHands(ctx context.Context, c *counted) net.Conn {
	ctx, cancel := context.WithTimeout(ctx, e.options.HandshakeTimeout)
	defer cancel()
	t := tls.Server(c, e.tlsConfig)
	if err := t.HandshakeContext(ctx); err != nil {
		e.handshakeFailed(c, err)
		return nil
	}
	e.metrics.Handshakes.Inc()
	if t.ConnectionState().NegotiatedProtocol == "h2" {
		return t
	}
	return newSecureGate(t, e)
}

func (e *Engine) handshakeFailed(c *counted, err error) {
	e.metrics.HandshakeFailures.Inc()
	e.log.Debug("TLS handshake failed", "peer", c.RemoteAddr().String(), "error", err)
	var notTLS tls.RecordHeaderError
	if errors.As(err, &notTLS) && notTLS.Conn != nil && looksLikeHTTP(notTLS.RecordHeader) {
		_, _ = c.Write(engine.ReplyHTTPOnHTTPS.AppendHTTP1(nil))
		linger(c, c)
		return
	}
	c.Close()
}

func looksLikeHTTP(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		return true
	}
	return false
}
