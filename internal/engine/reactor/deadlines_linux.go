package reactor

import (
	"time"

	"ramjet.dev/ingress/internal/engine"
)

func duration(ns int64) time.Duration { return time.Duration(max(ns, 0)) }

// after is a time so long after another, and an eighth more, as package deadline has it
// for the other engine: who is on time by his own clock is on time. 0 = never.
func after(at int64, d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return at + int64(d+d/8)
}

// deadline is when the exchange is over if nothing moves; 0 = never. Timeouts watch
// progress, never a total.
func (x *exchange) deadline() int64 {
	o, u := &x.loop.engine.options, &x.upload
	idle := after(x.moved, o.StreamIdle)
	switch {
	case x.state == xConnecting:
		return x.by
	case x.state == xAsking && (u.done || u.broken) && x.response.buf.empty() && !x.pending():
		return after(max(u.sentAt, x.response.interimAt), o.ResponseTimeout)
	case x.state == xOver:
		return 0
	}
	return idle
}

// arm sets the connection's timer to the deadline.
func (x *exchange) arm() {
	if x.c != nil && x.c.state == stServing {
		x.loop.wheel.set(&x.c.timer, x.deadline())
	}
}

// expire is called when the time of the exchange may be over; the connection runs after it.
func (x *exchange) expire() {
	if at := x.deadline(); at == 0 || at > x.loop.now {
		x.arm()
		return
	}
	m, u := x.loop.engine.metrics, &x.upload
	waits := !u.taken && u.from().empty() && u.sent == len(u.head) && u.gone == len(u.coded) // for the client
	switch x.state {
	case xConnecting:
		x.unreached(errConnectTimeout)
		x.attempt()
	case xAsking:
		switch {
		case x.pending():
			x.clientGone()
		case u.done || u.broken:
			m.UpstreamTimeouts.Inc()
			x.reply(engine.ReplyResponseTimeout)
		case waits:
			x.reply(engine.ReplyBodyStalled)
		default:
			m.UpstreamTimeouts.Inc()
			x.reply(engine.ReplyStalled)
		}
	case xRelaying:
		if x.pending() || waits {
			x.rec.Cut = true
			x.abandon()
			return
		}
		x.broken(true)
	default:
		x.rec.Cut = true
		x.abandon()
	}
}

// errConnectTimeout says that an endpoint did not accept a connection in time.
var errConnectTimeout = connectTimeout{}

type connectTimeout struct{}

func (connectTimeout) Error() string   { return "no connection in time" }
func (connectTimeout) Timeout() bool   { return true }
func (connectTimeout) Temporary() bool { return true }
