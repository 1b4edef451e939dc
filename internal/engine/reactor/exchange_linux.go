package reactor

import (
	"context"
	"net/http"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/mirror"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/route"
)

// exchange is one request on its way: read, routed, sent to an endpoint, answered. Its
// memory is the loop's and serves one exchange after another; a connection has one from
// the first byte of a head to the end of the answer.
type exchange struct {
	c      *conn
	loop   *loop
	serial uint64 // differs for each use of the memory
	state  state
	rec    engine.Record
	query  engine.Request

	// The request. What is known of it as text lies in the buffer of in.
	parser  http1.Parser
	req     http1.RequestHead
	chunked http1.Chunked
	in      window // the head, and what came with it
	begins  int    // where in in the head begins
	more    window // what comes of a body after that
	headBy  int64  // when the head that has begun must be whole; 0 = none has begun
	asked   asked
	body    bool // there is one
	shadow  *mirror.Draft

	// The way upstream.
	up       *upconn
	cancel   context.CancelFunc // ends a lookup; nil = none is going on
	lookup   int                // which one
	tried    []*route.Endpoint
	endpoint *route.Endpoint // counted as load; nil = none is
	fresh    bool            // the next attempt is at the same endpoint, however many there were
	retried  bool            // the request was repeated after it had reached an endpoint
	timeouts int             // of the endpoints tried
	by       int64           // when connecting must have ended
	head     upstreamHead
	id       [32]byte
	upload   upload

	// The way back.
	response response
	out      []byte // what goes to the client, from sent on, and behind it direct
	sent     int
	direct   []byte // in the response's buffer
	moved    int64  // when a byte of anything last moved
	closing  bool   // the client's connection ends with this exchange
	tunnel   *tunnel
}

type state uint8

const (
	xHead       state = iota // its head is being read
	xConnecting              // to an endpoint
	xAsking                  // the request is being sent, the answer has not begun
	xRelaying                // the answer is being sent on
	xReplying                // an answer of our own is being sent
	xSkipping                // it was sent, and the rest of a short body is thrown away
	xTunnel
	xOver
)

// takeExchange lends memory for an exchange.
func (l *loop) takeExchange(c *conn) *exchange {
	l.serial++
	last := len(l.exchanges) - 1
	if last < 0 {
		return &exchange{c: c, loop: l, serial: l.serial, parser: http1.Parser{Limits: l.engine.limits},
			response: response{parser: http1.Parser{Limits: l.engine.limits}}}
	}
	x := l.exchanges[last]
	l.exchanges[last] = nil
	l.exchanges = l.exchanges[:last]
	x.c, x.serial = c, l.serial
	return x
}

// keepExchanges bounds the memory of exchanges that waits for the next one.
const keepExchanges = 512

// putExchange takes it back.
func (l *loop) putExchange(x *exchange) {
	x.in.free(&l.buffers)
	x.clear()
	x.c = nil
	x.serial = 0
	if len(l.exchanges) < keepExchanges {
		l.exchanges = append(l.exchanges, x)
	}
}

// manyFields is how many fields a head may have for its memory to be kept.
const manyFields = 64

// spare is what the decoder of an ended body leaves for the next one.
func spare(c http1.Chunked) http1.Chunked {
	if len(c.Trailer()) > manyFields {
		return http1.Chunked{}
	}
	return c
}

// clear forgets everything but what the client has sent behind its request, and the
// memory that the next exchange can use.
func (x *exchange) clear() {
	l := x.loop
	x.more.free(&l.buffers)
	x.upload.free(&l.buffers)
	x.response.free(&l.buffers)
	if x.out != nil {
		l.put(x.out)
	}
	clear(x.tried)
	x.parser.Reset()
	if cap(x.req.Fields) > manyFields {
		x.parser, x.req = http1.Parser{Limits: l.engine.limits}, http1.RequestHead{}
	}
	l.serial++
	*x = exchange{
		c: x.c, loop: l, serial: l.serial, parser: x.parser, req: http1.RequestHead{Fields: x.req.Fields[:0]}, chunked: spare(x.chunked),
		in: x.in, tried: x.tried[:0], response: x.response.memory(l.engine.limits),
	}
}

// start begins to serve the request whose head lies in the next n bytes of in.
func (x *exchange) start(n int) {
	l, e := x.loop, x.loop.engine
	x.begins = x.in.start
	x.in.start += n
	x.rec.Start, x.moved = l.clock, l.now
	x.body = x.req.Framing == http1.FramingChunked || x.req.ContentLength > 0
	x.upload.begin(x)
	table := e.source.Table()
	if table == nil {
		x.reply(engine.ReplyNotReady)
		return
	}
	x.query = engine.Request{
		Method:       text(x.req.Method),
		Target:       text(x.req.Target),
		Host:         x.hostField(),
		HostOptional: x.req.Minor == 0,
		Peer:         x.c.peer,
		Fields:       (*canaryFields)(&x.req),
	}
	plan, reply := engine.NewPlan(table, &x.query)
	x.rec.Plan = plan
	if reply == nil && plan.Backend.Protocol == route.HTTP && x.isGRPC() {
		e.metrics.UnsupportedGRPC.Inc()
		reply = engine.ReplyGRPCNeedsH2
	}
	if reply != nil {
		x.reply(reply)
		return
	}
	if plan.Backend.Protocol == route.GRPC {
		x.handOver()
		return
	}
	x.asked = readAsked(&x.req, x.body)
	x.startShadow()
	x.head = upstreamHead{
		head: &x.req, plan: &x.rec.Plan, options: &e.options, asked: x.asked, body: x.body, id: &x.id,
		peer: x.c.peer, peerText: x.c.peerText, secure: x.c.tls != nil,
	}
	x.upload.head = x.head.append(l.small()[:0])
	x.rec.RequestID = x.head.requestID
	x.headShadow()
	x.attempt()
}

// hostField is the value of Host.
func (x *exchange) hostField() string {
	value, _ := x.req.Field("Host")
	return text(value)
}

func (x *exchange) isGRPC() bool {
	const kind = "application/grpc"
	value, _ := x.req.Field("Content-Type")
	return len(value) >= len(kind) && http1.EqualFold(value[:len(kind)], kind)
}

// run goes on with the exchange; more says that the connection has work at hand.
func (x *exchange) run() (more bool) {
	c, serial := x.c, x.serial
	if c.hup && x.dependsOnClient() {
		x.clientGone()
		return false
	}
	if x.state == xReplying || x.state == xSkipping {
		x.endReply()
		return x.goesOn(c, serial)
	}
	if x.moves() {
		more = x.pumpUpload()
	}
	if x.serial == serial && x.moves() {
		more = x.pumpResponse() || more
	}
	if x.serial == serial && x.moves() {
		x.lookAhead()
	}
	if x.serial == serial && x.moves() {
		x.arm()
		return more
	}
	return x.goesOn(c, serial)
}

// moves reports whether the request or its answer is on its way.
func (x *exchange) moves() bool { return x.state == xAsking || x.state == xRelaying }

// goesOn reports whether the connection has work at hand after the exchange became
// something else: an answer of our own, a tunnel, or the next exchange. x may be
// somebody else's by now.
func (x *exchange) goesOn(c *conn, serial uint64) bool {
	if x.serial == serial {
		x.arm()
		return c.state == stTunnel || c.state == stServing && x.moves()
	}
	return c.state == stHead && (c.x != nil && !c.x.in.empty() || c.canRead())
}

// dependsOnClient reports whether the client's end is the end of the exchange. An
// answer that only has to be sent is sent.
func (x *exchange) dependsOnClient() bool {
	switch x.state {
	case xConnecting, xAsking:
		return true
	case xRelaying:
		return !x.response.done
	}
	return false
}

// lookAhead reads on while the request is served, over TLS only: the end of a
// connection may be a message of TLS, and what comes before it the next request.
func (x *exchange) lookAhead() {
	c := x.c
	if c.tls == nil || !x.upload.taken || !x.upload.from().empty() {
		return
	}
	for c.canRead() && x.more.end < small {
		n, how := c.read(x.more.room(&x.loop.buffers))
		switch how {
		case moved:
			x.more.end += n
		case blocked:
			if x.more.empty() {
				x.more.free(&x.loop.buffers)
			}
		case ended, failed:
			if x.dependsOnClient() {
				x.clientGone()
				return
			}
			c.hup = true
			return
		}
	}
}

// clientGone ends an exchange whose client has gone.
func (x *exchange) clientGone() {
	switch x.state {
	case xConnecting, xAsking:
		x.rec.Status = engine.StatusClientGone
	default:
		x.rec.Cut = true
	}
	x.abandon()
}

// forced ends an exchange because the grace is over.
func (x *exchange) forced() {
	if x.state == xConnecting || x.state == xAsking {
		x.rec.Status = http.StatusServiceUnavailable
	}
	x.rec.Cut = true
	x.abandon()
}

// abandon ends the exchange with the client's connection.
func (x *exchange) abandon() {
	c := x.c
	x.dropUpstream()
	x.book()
	c.swallow()
	c.close()
}

// dropUpstream ends what is going on upstream.
func (x *exchange) dropUpstream() {
	if x.cancel != nil {
		x.cancel()
		x.cancel = nil
		x.lookup++ // its result is nobody's
	}
	if x.up != nil {
		x.up.close()
		x.up = nil
	}
	x.released()
}

// released takes the load off the endpoint.
func (x *exchange) released() {
	if x.endpoint != nil {
		x.endpoint.Release()
		x.endpoint = nil
	}
}

// finish ends an exchange whose answer is with the kernel.
func (x *exchange) finish() {
	c := x.c
	if u := x.up; u != nil {
		x.up = nil
		if x.response.reusable() && x.upload.done {
			u.home.put(u)
		} else {
			u.close()
		}
	}
	x.released()
	unread := !x.upload.taken
	x.book()
	if unread || x.closing && (c.canRead() || !x.upload.from().empty()) {
		c.linger()
		return
	}
	if x.closing || c.hup && !c.readable || c.loop.draining {
		c.close()
		return
	}
	x.keepRest()
	x.clear()
	c.next()
}

// keepRest keeps what came behind the request, which is the beginning of the next.
func (x *exchange) keepRest() {
	if from := x.upload.from(); from == &x.more {
		x.in.free(&x.loop.buffers)
		x.in, x.more = x.more, window{}
	}
	if x.in.empty() {
		x.in.free(&x.loop.buffers)
	}
}

// write adds to what goes to the client.
func (x *exchange) write(s string) {
	if x.out == nil {
		x.out = x.loop.small()[:0]
	}
	x.out = append(x.out, s...)
}

// pending reports whether something waits to be sent to the client.
func (x *exchange) pending() bool {
	return x.sent < len(x.out) || len(x.direct) > 0 || x.c.unsent()
}

// flush sends what waits for the client.
func (x *exchange) flush() transfer {
	for x.sent < len(x.out) || len(x.direct) > 0 {
		rest := x.out[x.sent:]
		n, how := x.c.send(rest, x.direct)
		if n > 0 {
			x.moved = x.loop.now
		}
		head := min(n, len(rest))
		x.sent += head
		x.response.used(n - head)
		x.direct = x.direct[n-head:]
		if how != moved {
			return how
		}
	}
	if x.out != nil {
		x.loop.put(x.out)
		x.out, x.sent = nil, 0
	}
	if x.c.unsent() {
		return x.c.tls.flush()
	}
	return moved
}
