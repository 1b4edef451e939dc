package reactor

import (
	"errors"
	"net"
	"syscall"

	"ramjet.dev/ingress/internal/engine"
)

// attempt asks one endpoint after the other until one takes the request.
func (x *exchange) attempt() {
	l, e, backend := x.loop, x.loop.engine, x.rec.Plan.Backend
	for x.rec.Attempts < max(e.options.MaxConnectAttempts, 1) || x.fresh {
		ep := x.rec.Endpoint
		if !x.fresh {
			if ep = backend.Pick(x.tried); ep == nil {
				break
			}
		}
		if x.rec.Attempts++; x.rec.Attempts > 1 {
			e.metrics.UpstreamRetries.Inc()
		}
		x.rec.Endpoint, x.endpoint = ep, ep
		ep.Acquire()
		pool := l.endpoint(ep.Address)
		// What is repeated gets a new connection wherever it goes: one that is kept may
		// have ended as well, and there is no third time.
		if !x.retried {
			if u := pool.take(); u != nil {
				x.use(u)
				return
			}
		}
		u, err := pool.connect(x)
		if err == nil {
			x.up, x.state = u, xConnecting
			x.by = l.in(e.connectTimeout)
			x.arm()
			return
		}
		x.unreached(err)
	}
	switch {
	case len(x.tried) == 0:
		x.reply(engine.ReplyNoEndpoints)
	case x.timeouts == len(x.tried):
		e.metrics.UpstreamTimeouts.Inc()
		x.reply(engine.ReplyConnectTimeout)
	default:
		x.reply(engine.ReplyConnectFailed)
	}
}

// unreached books an endpoint that could not be connected to.
func (x *exchange) unreached(err error) {
	e := x.loop.engine
	e.metrics.ConnectFailures.Inc()
	e.log.Debug("connecting to an endpoint failed", "backend", x.rec.Plan.Backend.Name, "endpoint", x.rec.Endpoint.Address, "error", err)
	var t net.Error
	if errors.As(err, &t) && t.Timeout() || errors.Is(err, syscall.ETIMEDOUT) {
		x.timeouts++
	}
	x.dropUpstream()
	x.tried = append(x.tried, x.rec.Endpoint)
	x.fresh = false
}

// lookedUp is called when an endpoint with a name was connected to, or was not.
func (x *exchange) lookedUp(p *endpoint, fd int32, err error) {
	c := x.c
	defer c.run()
	if err == nil {
		var u *upconn
		if u, err = p.adopt(x, fd); err == nil {
			x.use(u)
			return
		}
	}
	x.unreached(err)
	x.attempt()
}

// upstreamReady is called when something has happened to the connection upstream.
func (x *exchange) upstreamReady() {
	c, u := x.c, x.up // x may be over before this returns
	if u.connecting {
		if !u.writable {
			return
		}
		if err := sysConnected(u.fd); err != nil {
			x.unreached(err)
			x.attempt()
		} else {
			u.connecting = false
			x.use(u)
		}
	}
	c.run()
}

// use begins to send the request over u.
func (x *exchange) use(u *upconn) {
	u.x = x
	x.loop.wheel.set(&u.timer, 0)
	x.up, x.state, x.moved = u, xAsking, x.loop.now
	x.upload.restart()
	if x.asked.expect && u.home.http10 && !x.upload.bodyTaken {
		// An HTTP/1.0 server sends no 100, so the client is asked for its body here.
		x.write(interim100)
	}
}

const interim100 = "HTTP/1.1 100 Continue\r\n\r\n"

// failed answers for an attempt that brought no answer, or repeats it.
func (x *exchange) failed(f engine.Failure, reply *engine.Reply) {
	f.Method, f.Reused, f.Retried, f.BodyTaken = text(x.req.Method), x.up.reused, x.retried, x.upload.bodyTaken
	x.dropUpstream()
	if f.MayRetry() {
		c := x.c
		x.retried, x.fresh = true, true
		x.response.restart(&x.loop.buffers)
		x.attempt()
		x.fresh = false
		// The request may lie before another idle connection now, which is writable
		// already: no event will say so.
		c.loop.later(&c.sock)
		return
	}
	x.loop.engine.log.Debug("an endpoint did not answer", "backend", x.rec.Plan.Backend.Name, "endpoint", x.rec.Endpoint.Address, "reason", reply.Text)
	x.reply(reply)
}
