package reactor

import (
	"net"
	"net/netip"
	"os"

	"ramjet.dev/ingress/internal/engine/nethttp"
)

// handOver gives a connection of which nothing was answered yet to the engine that
// speaks HTTP/2, with what was read of it.
func (c *conn) handOver() {
	early := append([]byte(nil), c.x.in.bytes()...)
	c.pass(nethttp.Adopted{Early: early, TLS: c.secure})
}

// handOver gives the connection away in the middle of its life: the request at hand
// goes to a backend that speaks HTTP/2.
func (x *exchange) handOver() {
	c := x.c
	early := append([]byte(nil), x.in.b[x.begins:x.in.end]...)
	c.state = stHead
	x.state = xOver
	c.loop.inflight--
	c.loop.settle()
	if c.tls != nil {
		c.pass(nethttp.Adopted{Plain: early, Session: c.tls.tls, Bind: c.tls.bind})
		return
	}
	c.pass(nethttp.Adopted{Early: early})
}

// bind makes the session go on over another connection.
func (s *session) bind(to net.Conn) { s.to = to }

// pass makes the connection the other engine's. The descriptor is taken out of the
// loop first.
func (c *conn) pass(a nethttp.Adopted) {
	l := c.loop
	c.dropExchange()
	if s := c.tls; s != nil && len(s.incoming) > 0 {
		a.Early, s.incoming = s.incoming, nil
	}
	fd := l.forget(&c.sock)
	c.state = stClosed
	f := os.NewFile(uintptr(fd), "")
	raw, err := net.FileConn(f)
	f.Close()
	if err != nil {
		l.engine.log.Warn("a connection could not be handed over", "error", err)
		c.release()
		return
	}
	a.Conn = raw.(*net.TCPConn)
	if c.proxyNamed {
		a.Source = net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.peer, 0))
	}
	l.engine.inner.Adopt(a)
	c.release()
}
