package reactor

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/proxyproto"
)

// conn is a client connection. While it idles it is all there is of it.
type conn struct {
	sock
	loop     *loop
	peerText string
	peer     netip.Addr
	x        *exchange          // nil while it idles
	tls      *session           // nil without TLS
	proxied  *proxyproto.Parser // nil once the PROXY header is there
	until    int64              // when lingering ends at the latest
	shard    uint32             // spreads the counters
	state    connState
	secure   bool // it has to speak TLS
	began    bool // a whole head has come
	counted  bool
	// proxyNamed is set when the peer is the one that a PROXY header names.
	proxyNamed bool
}

type connState uint8

const (
	stHeader  connState = iota // a PROXY header has to come
	stHello                    // a ClientHello has to come
	stShaking                  // a handshake goes on
	stHead                     // a request has to come
	stServing                  // an exchange goes on
	stTunnel
	stLinger // answered for the last time; what still comes is thrown away
	stClosed
)

// tlsHandshake is the first byte that a TLS client sends.
const tlsHandshake = 0x16

// accepted begins to serve a socket that was accepted.
func (l *loop) accepted(fd int32, peer netip.Addr, secure bool) {
	c := &conn{loop: l, secure: secure, shard: l.engine.shards.Add(1), counted: true}
	c.named(peer)
	if l.over || l.watch(&c.sock, fd, c) != nil {
		sysClose(fd)
		c.fd, c.state = -1, stClosed
		c.release()
		return
	}
	o := &l.engine.options
	switch {
	case o.ProxyProtocol:
		c.state, c.proxied = stHeader, new(proxyproto.Parser)
		l.wheel.set(&c.timer, l.in(o.ProxyProtocolTimeout))
	default:
		c.begin()
	}
	if l.draining {
		c.close()
	}
}

// named sets who the client is.
func (c *conn) named(peer netip.Addr) {
	c.peer = peer.Unmap().WithZone("")
	c.peerText = c.peer.String()
}

// begin is the beginning of what the client itself says.
func (c *conn) begin() {
	o := &c.loop.engine.options
	c.state = stHead
	wait := o.HeaderTimeout
	if c.secure {
		c.state, wait = stHello, o.HandshakeTimeout
	}
	c.timer.at = 0
	c.loop.wheel.set(&c.timer, after(c.loop.now, wait))
}

// idle reports whether a drain ends the connection at once.
func (c *conn) idle() bool {
	switch c.state {
	case stServing, stTunnel, stLinger, stClosed:
		return false
	}
	return true
}

// ready is called when something has happened to the socket.
func (c *conn) ready() {
	if c.tls != nil && c.state != stShaking {
		c.tls.dry = false
		if how := c.tls.flush(); how == failed {
			c.broke()
			return
		}
	}
	c.run()
}

// broke ends a connection that can carry nothing any more.
func (c *conn) broke() {
	if c.x != nil && c.state == stServing {
		c.x.clientGone()
		return
	}
	c.close()
}

// run goes on with whatever the connection is at, for as long as something moves and
// the turn allows.
func (c *conn) run() {
	if c.again {
		return // it has had its turn
	}
	for range moves {
		more := false
		switch c.state {
		case stHeader:
			more = c.readHeader()
		case stHello:
			more = c.readHello()
		case stShaking:
			c.shaking()
		case stHead:
			more = c.readHead()
		case stServing:
			if more = c.serve(); more && c.again {
				return
			}
		case stTunnel:
			more = c.x.tunnel.run()
		case stLinger:
			more = c.drop()
		}
		if !more {
			return
		}
	}
	if c.fd >= 0 {
		c.loop.later(&c.sock)
	}
}

// serve goes on with the exchange; more says that the connection has work at hand. An
// exchange that had its rounds, and could use more of them, goes on in the next turn.
func (c *conn) serve() (more bool) {
	x, serial := c.x, c.x.serial
	more = x.run()
	if more && x.serial == serial && x.moves() {
		c.loop.later(&c.sock)
	}
	return more
}

// expire is called when the connection's time is over.
func (c *conn) expire() {
	switch c.state {
	case stHeader:
		c.refuseHeader(errNoHeader)
	case stServing:
		c.x.expire()
		c.run() // the next request may have come meanwhile
	case stTunnel:
		c.x.tunnel.expire()
	case stClosed:
	default:
		c.close()
	}
}

// canRead reports whether a read may bring something.
func (c *conn) canRead() bool {
	if c.tls != nil {
		return !c.tls.dry
	}
	return c.readable
}

func (c *conn) read(b []byte) (int, transfer) {
	if c.tls != nil {
		return c.tls.read(b)
	}
	return c.sock.read(b)
}

// send sends two pieces or a part of them.
func (c *conn) send(a, b []byte) (int, transfer) {
	if c.tls != nil {
		return c.tls.send(a, b)
	}
	return c.sock.send(a, b)
}

// unsent reports whether something that counts as sent has not reached the kernel.
func (c *conn) unsent() bool { return c.tls != nil && len(c.tls.sealed) > 0 }

// errNoHeader says that the PROXY header did not come.
var errNoHeader = errors.New("no PROXY header arrived in time")

// readHeader reads the PROXY header.
func (c *conn) readHeader() (more bool) {
	x := c.exchange()
	for x.in.empty() && c.readable {
		n, how := c.sock.read(x.in.room(&c.loop.buffers))
		if how == blocked {
			break
		}
		if how != moved {
			c.refuseHeader(errNoHeader)
			return false
		}
		x.in.end += n
		used, err := c.proxied.Next(x.in.bytes())
		if err != nil {
			c.refuseHeader(err)
			return false
		}
		x.in.start += used
		if c.proxied.Done() {
			if h := c.proxied.Header(); !h.Local {
				c.named(h.Source.Addr())
				c.proxyNamed = true
			}
			c.proxied = nil
			c.begin()
			return true
		}
	}
	c.rest()
	return false
}

// refuseHeader closes a connection without a valid PROXY header. The first of the
// process is logged as a warning, because it usually means that the load balancer and
// we are configured differently.
func (c *conn) refuseHeader(err error) {
	level := slog.LevelDebug
	if !c.loop.engine.proxyRefused.Swap(true) {
		level = slog.LevelWarn
	}
	c.loop.engine.log.Log(context.Background(), level, "a connection without a valid PROXY header was closed: --proxy-protocol requires one from every client of the data ports; further ones are logged at debug",
		"peer", c.peerText, "error", err)
	c.close()
}

// exchange is the connection's; while it idles it has none.
func (c *conn) exchange() *exchange {
	if c.x == nil {
		c.x = c.loop.takeExchange(c)
	}
	return c.x
}

// rest gives the exchange's memory back while nothing has come.
func (c *conn) rest() {
	if c.x != nil && c.x.in.empty() && !c.x.parser.Begun() {
		c.loop.putExchange(c.x)
		c.x = nil
	}
}

// readHead reads the head of a request; more says that it is whole.
func (c *conn) readHead() (more bool) {
	x, o := c.exchange(), &c.loop.engine.options
	for {
		if !x.in.empty() {
			n, err := x.parser.ParseRequest(x.in.bytes(), &x.req)
			if err != nil {
				c.refuse(err)
				return false
			}
			if n > 0 {
				return c.headRead(n)
			}
			if x.headBy == 0 {
				x.headBy = after(c.loop.now, o.HeaderTimeout)
				c.loop.wheel.set(&c.timer, x.headBy)
			}
		}
		if !c.canRead() {
			break
		}
		n, how := c.read(x.in.room(&c.loop.buffers))
		if how == blocked {
			break
		}
		if how != moved {
			c.close()
			return false
		}
		x.in.end += n
	}
	if x.in.empty() && x.headBy == 0 {
		c.rest()
	}
	return false
}

// headRead begins to serve a request whose head has n bytes.
func (c *conn) headRead(n int) (more bool) {
	x := c.x
	if x.req.Preface {
		if c.began || c.tls != nil {
			c.reply(&engine.Reply{Status: 505, Text: "HTTP/2 has to be negotiated by ALPN, or begin the connection"})
			return false
		}
		c.handOver()
		return false
	}
	c.began = true
	c.loop.wheel.set(&c.timer, 0)
	c.state = stServing
	c.loop.inflight++
	x.start(n)
	return c.state == stServing || c.state == stHead
}

// refuse answers for a head that is not sound.
func (c *conn) refuse(err error) {
	if !c.began && c.x.in.bytes()[0] == tlsHandshake && c.tls == nil {
		c.reply(engine.ReplyTLSOnHTTP)
		return
	}
	reply := &engine.Reply{Status: 400, Text: "the request is malformed"}
	var e *http1.Error
	if errors.As(err, &e) {
		reply = &engine.Reply{Status: e.Status, Text: e.Text}
	}
	c.reply(reply)
}

// reply answers for something that never became a request, and ends the connection.
func (c *conn) reply(p *engine.Reply) {
	e := c.loop.engine
	rec := engine.Record{Start: c.loop.clock, Status: p.Status, Client: c.peer, BytesOut: int64(len(p.Line()))}
	e.metrics.Count(c.shard, &rec)
	if e.options.Done != nil {
		e.options.Done(&rec)
	}
	c.last(p.AppendHTTP1(nil))
}

// last sends a message that no other follows. It is short, and nothing else is on its
// way: a client that has no room for it does not get it.
func (c *conn) last(b []byte) {
	_, _ = c.send(b, nil)
	c.linger()
}

// linger ends our direction and throws away what the client still sends, for a while:
// a connection that is closed with unread bytes is reset, and the reset destroys the
// answer that the client has not read yet (RFC 9112 section 9.6).
func (c *conn) linger() {
	if c.state == stLinger || c.state == stClosed {
		return
	}
	c.dropExchange()
	c.state = stLinger
	if c.tls != nil {
		_ = c.tls.tls.CloseWrite()
		c.tls.flush()
	}
	sysShutdownWrite(c.fd)
	c.until = c.loop.in(lingerTotal)
	c.loop.wheel.set(&c.timer, c.loop.in(lingerIdle))
	if c.loop.over || c.hup && !c.readable {
		c.close()
		return
	}
	if c.readable {
		c.loop.later(&c.sock)
	}
}

// drop throws away what comes.
func (c *conn) drop() (more bool) {
	if !c.readable {
		return false
	}
	n, how := c.sock.read(c.loop.scratch)
	switch {
	case how == ended || how == failed || c.loop.now >= c.until:
		c.close()
		return false
	case how == moved && n > 0:
		c.loop.wheel.set(&c.timer, min(c.loop.in(lingerIdle), c.until))
		return true
	}
	return false
}

// swallow takes what a client that has ended its direction sent before that, so that
// closing the connection does not reset it.
func (c *conn) swallow() {
	for range moves {
		if !c.hup || c.broken || !c.readable || c.fd < 0 {
			return
		}
		if _, how := c.sock.read(c.loop.scratch); how != moved {
			return
		}
	}
}

// next readies the connection for another request after an exchange.
func (c *conn) next() {
	c.state = stHead
	x := c.x
	if !x.in.empty() {
		return
	}
	c.rest()
	c.loop.wheel.set(&c.timer, after(c.loop.now, c.loop.engine.options.ClientIdle))
}

// dropExchange gives the memory of the exchange back.
func (c *conn) dropExchange() {
	if c.x != nil {
		c.loop.putExchange(c.x)
		c.x = nil
	}
}

// cut ends what is being served because the grace is over.
func (c *conn) cut() {
	if c.state == stServing {
		c.x.forced()
	}
}

// kill closes the connection, whatever it is at.
func (c *conn) kill() {
	if c.state == stServing {
		c.x.abandon()
		return
	}
	if c.state == stTunnel {
		c.x.tunnel.close()
		return
	}
	c.close()
}

// release gives back what the connection holds beside its socket.
func (c *conn) release() {
	if c.counted {
		c.counted = false
		c.loop.engine.metrics.ActiveConnections.Add(-1)
		c.loop.conns.Add(-1)
	}
}

// close closes a connection that serves nothing.
func (c *conn) close() {
	if c.state == stClosed {
		return
	}
	if c.state == stHello || c.state == stShaking {
		c.loop.engine.metrics.HandshakeFailures.Inc()
	}
	if c.tls != nil {
		c.tls.close(c.state == stShaking)
	}
	c.state = stClosed
	c.dropExchange()
	c.loop.shut(&c.sock)
	c.release()
}
