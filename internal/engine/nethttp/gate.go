package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/upstream"
)

// gate stands between net/http's server and an HTTP/1 connection. It lets
// through only bytes of messages that the strict kernel has delimited, so that
// net/http and the backends behind it cannot be talked into seeing other
// boundaries than we do, and it answers what it refuses in the proxy's own
// words. It also moves the deadlines of bodies, lazily, and closes with a
// lingering close while the client is still sending.
//
// A head is held back until it is whole. Reads come from one goroutine at a
// time, as net/http has it; Write, the deadlines and Close from any.
type gate struct {
	raw    *counted // below deadlines.conn, which is it or the TLS connection above it
	engine *Engine

	// The following belong to the reading goroutine.
	parser   http1.Parser
	head     http1.RequestHead
	chunked  http1.Chunked
	state    gateState
	left     int64  // bytes of a body with a length still to come
	pending  []byte // read but not delivered: cleared bytes, then others
	cleared  int
	refusal  *refusedError
	answered bool // the refusal was written
	began    bool // a head was read
	// broke is what ended the body under way, see exchange.readBody. net/http may read
	// once more, in the background, while the first to be told looks at it.
	broke atomic.Pointer[error]
	// headBy is when the head that has begun to arrive must be whole; zero when
	// none has, or net/http does not wait for it yet.
	headBy time.Time
	// emptyLine is the size of the empty line before the head just read.
	emptyLine int

	// ambiguousEnd is set while the client may be in the middle of sending.
	ambiguousEnd atomic.Bool
	// gone is set once the client has ended the connection. serving, the connection
	// to the endpoint that serves the client, is then aborted, and cancel is called,
	// which ends a stream that serves it.
	gone    atomic.Bool
	serving atomic.Pointer[upstream.Conn]
	cancel  atomic.Pointer[context.CancelFunc]
	// swallow makes the next interim 100 disappear (see exchange.startUpload).
	swallow atomic.Bool

	deadlines
	closed atomic.Bool
}

type gateState uint8

const (
	gateHead gateState = iota
	gateLength
	gateChunked
	gateOpen // everything passes: HTTP/2 with prior knowledge, or a tunnel
)

// secureGate is a gate inside TLS; net/http learns that from ConnectionState.
type secureGate struct {
	gate
	tls *tls.Conn
}

// ConnectionState makes net/http fill Request.TLS.
func (g *secureGate) ConnectionState() tls.ConnectionState { return g.tls.ConnectionState() }

func newGate(raw *counted, e *Engine) *gate {
	g := &gate{raw: raw, engine: e, deadlines: e.deadlines(raw)}
	g.parser.Limits = e.limits
	e.fresh.add(raw)
	return g
}

func newSecureGate(t *tls.Conn, e *Engine) *secureGate {
	return newSecureGateAt(t, t.NetConn().(*counted), e)
}

// newSecureGateAt is newSecureGate for a TLS connection that is not right above raw.
func newSecureGateAt(t *tls.Conn, raw *counted, e *Engine) *secureGate {
	g := &secureGate{gate: gate{raw: raw, engine: e, deadlines: e.deadlines(t)}, tls: t}
	g.parser.Limits = e.limits
	e.fresh.add(g.raw)
	return g
}

func (e *Engine) deadlines(c net.Conn) deadlines {
	return deadlines{conn: c, slack: min(e.options.HeaderTimeout, e.options.ClientIdle) / 8}
}

// refusedError is a message that was refused; net/http meets it as the read
// error of a connection and says nothing of its own.
type refusedError struct{ reply engine.Reply }

func (r *refusedError) Error() string { return r.reply.Text }

func refuse(err error) *refusedError {
	var e *http1.Error
	if !errors.As(err, &e) {
		return &refusedError{engine.Reply{Status: 400, Text: "the request is malformed"}}
	}
	return &refusedError{engine.Reply{Status: e.Status, Text: e.Text}}
}

// Read delivers bytes of requests that were found sound.
func (g *gate) Read(p []byte) (int, error) {
	n, err := g.read(p)
	// A byte is what net/http asks for in the background, while it serves the request before,
	// and calls off: that ends no body.
	if err != nil && g.state != gateHead && len(p) > 1 {
		broke := err // only this one is on the heap
		g.broke.CompareAndSwap(nil, &broke)
	}
	return n, err
}

func (g *gate) read(p []byte) (int, error) {
	if g.state == gateOpen && len(g.pending) == 0 {
		return g.conn.Read(p)
	}
	if len(p) == 1 && g.state == gateHead && g.cleared == 0 {
		return 0, g.watchClient(p)
	}
	if len(g.pending) == 0 && g.refusal == nil {
		// The common case: a read brings whole messages, which are judged where
		// they lie.
		n, err := g.fill(p)
		if n == 0 {
			return 0, err
		}
		b, ok := g.admit(p[:n])
		g.hold(b[ok:])
		if ok > 0 {
			return ok, nil
		}
	}
	for g.cleared == 0 {
		if g.state == gateOpen {
			g.cleared = len(g.pending)
			break
		}
		if g.refusal != nil {
			return g.refused()
		}
		if g.state == gateHead && g.headBy.IsZero() {
			// net/http knows how long a connection may idle, not that a head has
			// begun. While it serves a request the next head has time: watchClient
			// reads it then.
			g.headBy = time.Now().Add(g.engine.options.HeaderTimeout)
		}
		if err := g.more(); err != nil {
			return 0, err
		}
		b, ok := g.admit(g.pending)
		g.pending, g.cleared = b, ok
	}
	n := copy(p, g.pending[:g.cleared])
	g.pending = g.pending[n:]
	g.cleared -= n
	if len(g.pending) == 0 {
		g.pending = nil // an idle connection owns no buffer
	}
	return n, nil
}

// fill reads from the connection; while a body is under way the gap between two
// bytes is bounded.
func (g *gate) fill(p []byte) (int, error) {
	if g.state != gateHead {
		g.readWithin(g.engine.options.StreamIdle)
	}
	g.beginRead(g.state == gateHead, g.headBy)
	n, err := g.conn.Read(p)
	g.endRead()
	if err != nil && !isDeadline(err) {
		g.clientGone()
	}
	return n, err
}

// clientGone ends what is being done for a client that is not there any more.
func (g *gate) clientGone() {
	g.gone.Store(true)
	if c := g.serving.Load(); c != nil {
		c.Abort()
	}
	if cancel := g.cancel.Load(); cancel != nil {
		(*cancel)()
	}
}

// hold keeps what cannot be delivered yet.
func (g *gate) hold(b []byte) {
	if len(b) > 0 {
		g.pending = append(make([]byte, 0, max(2*len(b), 1<<10)), b...)
		g.cleared = 0
	}
}

// more appends at least one byte to pending. The parser bounds a head, so
// pending is bounded by the head limit and one read.
func (g *gate) more() error {
	const room = 1 << 10
	if cap(g.pending)-len(g.pending) < room {
		grown := make([]byte, len(g.pending), 2*len(g.pending)+room)
		copy(grown, g.pending)
		g.pending = grown
	}
	n, err := g.fill(g.pending[len(g.pending):cap(g.pending)])
	g.pending = g.pending[:len(g.pending)+n]
	if n > 0 {
		return nil
	}
	return err
}

// admit judges b, which begins where the last judged byte ended. The first ok
// bytes of rest may be delivered; what follows them is the beginning of something
// not yet whole, or refused. rest is b, without the empty line that some clients
// send before a request: net/http would not have it (RFC 9112 §2.2).
func (g *gate) admit(b []byte) (rest []byte, ok int) {
	for ok < len(b) && g.refusal == nil {
		n := g.step(b[ok:])
		if n == 0 {
			break
		}
		if empty := g.emptyLine; empty > 0 {
			g.emptyLine = 0
			b = append(b[:ok], b[ok+empty:]...)
			n -= empty
		}
		ok += n
	}
	// Between two messages, and with nothing of the next, the client waits for us.
	g.ambiguousEnd.Store(g.state != gateHead || ok < len(b) || g.refusal != nil)
	return b, ok
}

// step judges the next element: a head, a stretch of a body, or all.
func (g *gate) step(b []byte) int {
	switch g.state {
	case gateHead:
		n, err := g.parser.ParseRequest(b, &g.head)
		if err != nil {
			g.refusal = refuse(err)
			if !g.began && b[0] == tlsHandshake && g.conn == net.Conn(g.raw) {
				g.refusal = &refusedError{*engine.ReplyTLSOnHTTP}
			}
			return 0
		}
		if n > 0 {
			g.emptyLine = g.head.Start
			if g.enterBody(); g.refusal != nil {
				return 0
			}
			if !g.began {
				g.engine.fresh.remove(g.raw)
			}
			g.began, g.headBy = true, time.Time{}
			g.forgetHead()
		}
		return n
	case gateLength:
		n := int(min(int64(len(b)), g.left))
		if g.left -= int64(n); g.left == 0 {
			g.state = gateHead
		}
		return n
	case gateChunked:
		_, n, err := g.chunked.Next(b)
		if err != nil {
			g.refusal = refuse(err)
			return 0
		}
		if g.chunked.Done() {
			g.state = gateHead
		}
		return n
	default:
		return len(b)
	}
}

// manyFields is how many fields a head may have for its memory to be kept with the
// connection.
const manyFields = 64

// forgetHead lets go of the buffer that the head lies in, and of the memory of an
// unusually large one: a connection may idle for long.
func (g *gate) forgetHead() {
	fields := g.head.Fields
	clear(fields)
	if cap(fields) > manyFields {
		fields = nil
		g.parser = http1.Parser{Limits: g.parser.Limits}
	}
	g.head = http1.RequestHead{Fields: fields[:0]}
}

// enterBody sets the state that the head just read leads to.
func (g *gate) enterBody() {
	h := &g.head
	switch {
	case h.Preface && g.conn == net.Conn(g.raw) && !g.began:
		g.state = gateOpen
		g.takeEffect()
	case h.Preface:
		g.refusal = &refusedError{engine.Reply{Status: 505, Text: "HTTP/2 has to be negotiated by ALPN, or begin the connection"}}
	case h.Framing == http1.FramingChunked:
		g.chunked.Reset(g.engine.limits)
		g.state = gateChunked
	case h.Framing == http1.FramingLength && h.ContentLength > 0:
		g.left = h.ContentLength
		g.state = gateLength
	}
}

// refused answers for a message that was refused. A refused body is the
// exchange's to answer. A refused head is answered here, once nothing of an
// earlier exchange is under way any more.
func (g *gate) refused() (int, error) {
	if g.state == gateHead && !g.answered {
		g.answered = true
		g.engine.refusedHead(peerOf(g).addr, &g.refusal.reply)
		_, _ = g.Write(g.refusal.reply.AppendHTTP1(nil)) // so it is here
	}
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: g.refusal}
}

// open lets everything pass from now on: the connection became a tunnel.
func (g *gate) open() {
	g.state = gateOpen
	g.takeEffect()
	g.refusal = nil
	g.ambiguousEnd.Store(false)
	g.cleared = len(g.pending)
}

// tlsHandshake is the first byte that a TLS client sends.
const tlsHandshake = 0x16

const interim100 = "HTTP/1.1 100 Continue\r\n\r\n"

// Write writes to the client; the connection sees to the deadline.
func (g *gate) Write(b []byte) (int, error) {
	if len(b) == len(interim100) && string(b) == interim100 && g.swallow.CompareAndSwap(true, false) {
		return len(b), nil
	}
	return g.conn.Write(b)
}

// CloseWrite ends our direction: FIN, or close_notify and FIN.
func (g *gate) CloseWrite() error {
	if t, ok := g.conn.(*tls.Conn); ok {
		if err := t.CloseWrite(); err != nil {
			return err
		}
	}
	return g.raw.CloseWrite()
}

// Close closes the connection, after a while if the client is still sending.
func (g *gate) Close() error {
	if g.closed.Swap(true) {
		return net.ErrClosed
	}
	g.clientGone() // whoever is still being served would not hear of it
	g.engine.fresh.remove(g.raw)
	if !g.ambiguousEnd.Load() || g.engine.forced.Load() {
		return g.conn.Close()
	}
	g.engine.serving.Go(func() { linger(g, g.raw) })
	return nil
}

// LocalAddr returns the address the client connected to.
func (g *gate) LocalAddr() net.Addr { return g.conn.LocalAddr() }

// RemoteAddr returns the client's address.
func (g *gate) RemoteAddr() net.Addr { return g.conn.RemoteAddr() }
