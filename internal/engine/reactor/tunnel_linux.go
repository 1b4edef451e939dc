package reactor

import (
	"ramjet.dev/ingress/internal/engine"
)

// tunnel is what an upgrade leads to: bytes both ways, each direction with an end of
// its own. It looks at no table again.
type tunnel struct {
	x        *exchange
	up       *upconn
	in, out  window // towards the endpoint, towards the client
	inEnded  bool   // the client has ended its direction
	outEnded bool
	inShut   bool // and the endpoint was told
	outShut  bool
}

// switchProtocols makes a tunnel of the exchange, if the client asked for one.
func (x *exchange) switchProtocols() bool {
	r, l := &x.response, x.loop
	if x.asked.upgrade == "" || !r.head.Upgrade || !x.upload.done {
		x.failed(engine.Failure{Wrote: true}, engine.ReplyUnaskedSwitch)
		return false
	}
	x.rec.Status = 101
	if x.out == nil {
		x.out = l.small()[:0]
	}
	b := append(x.out, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"...)
	if up, ok := r.head.Field("Upgrade"); ok {
		b = appendField(b, "Upgrade", text(up))
	}
	b = appendPassing(b, &r.head)
	x.out = append(b, '\r', '\n')
	t := &tunnel{x: x, up: x.up}
	if from := x.upload.from(); !from.empty() {
		// A copy: what the record says of the request lies in the same buffer.
		t.in.add(from.bytes(), &l.buffers)
		from.start = from.end
	}
	t.out.b, t.out.start, t.out.end = x.out, 0, len(x.out)
	t.out.b = t.out.b[:cap(t.out.b)]
	x.out, x.sent = nil, 0
	if !r.buf.empty() {
		t.out.add(r.buf.bytes(), &l.buffers)
		x.rec.BytesOut += int64(r.buf.end - r.buf.start)
	}
	r.buf.free(&l.buffers)
	x.upload.free(&l.buffers)
	if x.more.empty() {
		x.more.free(&l.buffers)
	}
	x.tunnel, x.state = t, xTunnel
	x.c.state = stTunnel
	l.inflight-- // a drain does not wait for tunnels
	l.settle()
	t.touch()
	return false
}

func (t *tunnel) touch() {
	l := t.x.loop
	l.wheel.set(&t.x.c.timer, after(l.now, l.engine.options.TunnelIdle))
}

// run moves bytes; more says that it could go on at once.
func (t *tunnel) run() (more bool) {
	in, ok := t.towardsEndpoint()
	if !ok {
		t.close()
		return false
	}
	out, ok := t.towardsClient()
	if !ok || t.inShut && t.outShut {
		t.close()
		return false
	}
	if in || out {
		t.touch()
	}
	return in || out
}

func (t *tunnel) towardsEndpoint() (some, ok bool) {
	c, s := t.x.c, &t.x.loop.buffers
	if t.in.empty() && !t.inEnded && c.canRead() {
		room := t.in.room(s)
		n, how := c.read(room)
		switch how {
		case failed:
			return false, false
		case ended:
			t.inEnded, some = true, true
		case moved:
			t.in.end += n
			some = true
		}
	}
	if !t.in.empty() {
		full := t.in.end == len(t.in.b)
		n, how := t.up.send(t.in.bytes(), nil)
		if how == failed {
			return false, false
		}
		t.in.start += n
		t.x.rec.BytesIn += int64(n)
		some = some || n > 0
		if t.in.empty() && full {
			t.in.enlarge(s)
			return some, true
		}
	}
	if t.in.empty() {
		t.in.free(s)
		if t.inEnded && !t.inShut {
			t.inShut = true
			sysShutdownWrite(t.up.fd)
		}
	}
	return some, true
}

func (t *tunnel) towardsClient() (some, ok bool) {
	c, s := t.x.c, &t.x.loop.buffers
	if t.out.empty() && !t.outEnded && t.up.readable {
		room := t.out.room(s)
		n, how := t.up.read(room)
		switch how {
		case failed:
			return false, false
		case ended:
			t.outEnded, some = true, true
		case moved:
			t.out.end += n
			t.x.rec.BytesOut += int64(n)
			some = true
		}
	}
	if !t.out.empty() {
		full := t.out.end == len(t.out.b)
		n, how := c.send(t.out.bytes(), nil)
		if how == failed {
			return false, false
		}
		t.out.start += n
		some = some || n > 0
		if t.out.empty() && full {
			t.out.enlarge(s)
			return some, true
		}
	}
	if t.out.empty() {
		t.out.free(s)
		if t.outEnded && !t.outShut && !c.unsent() {
			t.outShut = true
			if c.tls != nil {
				_ = c.tls.tls.CloseWrite()
				c.tls.flush()
			}
			sysShutdownWrite(c.fd)
		}
	}
	return some, true
}

// expire: nothing has crossed for long enough.
func (t *tunnel) expire() { t.close() }

// close ends both directions.
func (t *tunnel) close() {
	x := t.x
	s := &x.loop.buffers
	t.in.free(s)
	t.out.free(s)
	x.loop.inflight++ // book takes it off
	x.c.state = stServing
	x.abandon()
}
