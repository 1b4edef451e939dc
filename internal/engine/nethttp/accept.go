package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"

	"ramjet.dev/ingress/internal/engine"
)

// counted is a client's TCP connection: registered so that a forced end finds
// it, and counted as active until it is closed.
type counted struct {
	*net.TCPConn
	engine *Engine
	once   sync.Once
}

func (e *Engine) count(c net.Conn) *counted {
	k := &counted{TCPConn: c.(*net.TCPConn), engine: e}
	e.metrics.ActiveConnections.Add(1)
	e.conns.add(k)
	return k
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

// gateListener puts a gate before every plaintext connection.
type gateListener struct {
	net.Listener
	engine *Engine
}

func (l *gateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newGate(l.engine.count(c), l.engine), nil
}

// handshakes is a listener whose Accept returns connections that have finished
// their TLS handshake: CPU work and slow clients stay out of the accept loop.
type handshakes struct {
	net.Listener
	engine *Engine
	ready  chan net.Conn
	ctx    context.Context
	cancel context.CancelFunc
}

func newHandshakes(l net.Listener, e *Engine) *handshakes {
	h := &handshakes{Listener: l, engine: e, ready: make(chan net.Conn)}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

// accept runs until the listener closes.
func (h *handshakes) accept() {
	for {
		c, err := h.Listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			h.engine.log.Warn("accepting a TLS connection failed", "error", err)
			if !pause(h.ctx, acceptPause) {
				return
			}
			continue
		}
		k := h.engine.count(c)
		h.engine.serving.Go(func() { h.handshake(k) })
	}
}

func (h *handshakes) handshake(c *counted) {
	ctx, cancel := context.WithTimeout(h.ctx, h.engine.options.HandshakeTimeout)
	defer cancel()
	t := tls.Server(c, h.engine.tlsConfig)
	if err := t.HandshakeContext(ctx); err != nil {
		h.failed(c, err)
		return
	}
	h.engine.metrics.Handshakes.Inc()
	var conn net.Conn = t
	if t.ConnectionState().NegotiatedProtocol != "h2" {
		conn = newSecureGate(t, h.engine)
	}
	select {
	case h.ready <- conn:
	case <-h.ctx.Done():
		c.Close()
	}
}

func (h *handshakes) failed(c *counted, err error) {
	h.engine.metrics.HandshakeFailures.Inc()
	h.engine.log.Debug("TLS handshake failed", "peer", c.RemoteAddr().String(), "error", err)
	var notTLS tls.RecordHeaderError
	if errors.As(err, &notTLS) && notTLS.Conn != nil && looksLikeHTTP(notTLS.RecordHeader) {
		c.Write(engine.ReplyHTTPOnHTTPS.AppendHTTP1(nil))
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

func (h *handshakes) Accept() (net.Conn, error) {
	select {
	case c := <-h.ready:
		return c, nil
	case <-h.ctx.Done():
		return nil, net.ErrClosed
	}
}

func (h *handshakes) Close() error {
	h.cancel()
	return h.Listener.Close()
}
