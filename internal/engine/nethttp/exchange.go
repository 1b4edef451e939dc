package nethttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/mirror"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// exchange is one request on its way: routed, sent to an endpoint, answered.
// It belongs to the goroutine that serves the request; only the upload runs
// beside it.
type exchange struct {
	e      *Engine
	w      http.ResponseWriter
	r      *http.Request
	client *client
	rec    engine.Record
	body   bool // the request has a body
	asked  asked
	head   []byte // the request head as it goes upstream, in room if it fits
	room   *[]byte
	upload *upload
	begun  bool // something reads the body
	// allRead is set once the client has sent its whole body, before the last byte
	// goes upstream: a backend that answers only then has not answered early.
	allRead atomic.Bool
	bytesIn atomic.Int64 // of the body, as content
	tried   []*route.Endpoint
	// retried is set once the request was repeated after it had reached an endpoint.
	retried bool
	shadow  *mirror.Draft
	query   engine.Request
	resp    response
	// stopWatch ends the watch of an HTTP/2 stream; HTTP/1 has the gate's.
	stopWatch func() bool
}

// asked is what the client asked of this hop rather than of the backend.
type asked struct {
	upgrade  string // the protocols offered, "" for none
	expect   bool   // waits for 100 before it sends the body
	trailers bool   // TE: trailers
}

// errAbandon ends an exchange whose connection can carry nothing more: the
// client is gone, or a response broke off and must be seen to have.
var errAbandon = http.ErrAbortHandler

// serve is the http.Handler of the engine.
func (e *Engine) serve(w http.ResponseWriter, r *http.Request) {
	e.inflight.enter()
	defer e.inflight.leave()
	x := exchanges.Get().(*exchange)
	x.e, x.w, x.r = e, w, r
	x.client, _ = r.Context().Value(connKey{}).(*client)
	x.rec.Start = time.Now()
	defer x.finish()
	defer x.caught()
	x.run()
	x.answeredShadow()
}

// caught logs a panic that is a fault of ours, which net/http would mention among the
// remarks that nobody reads. The client sees its connection, or its stream, cut.
func (x *exchange) caught() {
	fault := recover()
	if fault == nil {
		return
	}
	if fault != errAbandon {
		x.rec.Status = http.StatusInternalServerError
		x.e.log.Error("a request made the proxy panic: please report this", "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
	}
	panic(errAbandon)
}

// exchanges keeps the memory of ended exchanges: parsers, field slices, buffers
// for names. Nothing of an exchange outlives serve.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// finish books the exchange, however it ended.
func (x *exchange) finish() {
	x.e.metrics.Count(x.client.shard, &x.rec)
	if x.e.options.Done != nil {
		x.describe()
		x.e.options.Done(&x.rec)
	}
	x.shadow.End()
	clear(x.tried)
	*x = exchange{tried: x.tried[:0], resp: x.resp.memory()}
	exchanges.Put(x)
}

// describe adds what only the access log wants to know.
func (x *exchange) describe() {
	rec, r := &x.rec, x.r
	rec.Duration = time.Since(rec.Start)
	rec.Client = x.e.options.Trust.Client(x.client.peer.addr, x.claim("X-Forwarded-For"))
	rec.Method, rec.Target, rec.Host, rec.Proto = r.Method, r.RequestURI, r.Host, r.Proto
	rec.UserAgent, rec.Referer = r.UserAgent(), r.Referer()
	rec.BytesIn = x.bytesIn.Load()
}

func (x *exchange) run() {
	table := x.e.source.Table()
	if table == nil {
		x.reply(engine.ReplyNotReady)
		return
	}
	x.query = engine.Request{
		Method:       x.r.Method,
		Target:       x.r.RequestURI,
		Host:         x.r.Host,
		HostOptional: x.r.ProtoMajor == 1 && x.r.ProtoMinor == 0,
		OriginForm:   x.r.ProtoMajor == 2,
		Peer:         x.client.peer.addr,
		Fields:       (*canaryFields)(x.r),
	}
	plan, reply := engine.NewPlan(table, &x.query)
	x.rec.Plan = plan
	if reply == nil && x.r.ProtoMajor == 2 {
		reply = contradicts(x.r)
	}
	if reply == nil {
		reply = x.supported()
	}
	if reply != nil {
		x.reply(reply)
		return
	}
	x.body = hasBody(x.r)
	x.asked = readAsked(x.r, x.body)
	x.startShadow()
	if plan.Backend.Protocol == route.GRPC {
		x.attempts(x.attemptH2)
		return
	}
	x.room = upstream.GetSmall()
	defer upstream.PutBuffer(x.room)
	x.buildHead()
	x.attempts(x.attemptH1)
}

// contradicts refuses an HTTP/2 request that says one thing in its fields and another
// where HTTP/2 has it: whoever reads it after us may go by the other one. HTTP/1 has the
// gate.
func contradicts(r *http.Request) *engine.Reply {
	if !hostHolds(r) {
		return engine.ReplyTwoHosts
	}
	if !lengthHolds(r) {
		return engine.ReplyBadLength
	}
	return nil
}

// hostHolds reports whether a Host field names what :authority names, if there are both
// (RFC 9113 §8.3.1).
func hostHolds(r *http.Request) bool {
	for _, said := range r.Header["Host"] {
		if said == r.Host {
			continue
		}
		ours, _ := route.NormalizeHost(r.Host)
		if theirs, ok := route.NormalizeHost(said); !ok || theirs != ours {
			return false
		}
	}
	return true
}

// lengthHolds reports whether what an HTTP/2 request says of its length is one
// number, and the one that net/http went by (RFC 9113 §8.1.1).
func lengthHolds(r *http.Request) bool {
	said := r.Header["Content-Length"]
	switch {
	case len(said) == 0:
		return true
	case len(said) > 1 || said[0] == "":
		return false
	}
	for i := range len(said[0]) {
		if c := said[0][i]; c < '0' || c > '9' {
			return false
		}
	}
	n, err := strconv.ParseInt(said[0], 10, 64)
	return err == nil && n == r.ContentLength
}

// supported refuses what this backend cannot be asked.
func (x *exchange) supported() *engine.Reply {
	if x.rec.Plan.Backend.Protocol == route.HTTP && isGRPC(x.r.Header["Content-Type"]) {
		x.e.metrics.UnsupportedGRPC.Inc()
		return engine.ReplyGRPCNeedsH2
	}
	return nil
}

func isGRPC(contentType []string) bool {
	return len(contentType) > 0 && strings.HasPrefix(strings.ToLower(contentType[0]), "application/grpc")
}

func readAsked(r *http.Request, body bool) asked {
	var a asked
	a.trailers = r.ProtoMajor == 2 || engine.NamesToken(r.Header["Te"], "trailers")
	if !r.ProtoAtLeast(1, 1) || r.ProtoMajor != 1 {
		return a // net/http keeps the expectations of HTTP/2 to itself, and asks when the body is read
	}
	a.expect = body && engine.NamesToken(r.Header["Expect"], "100-continue")
	if up := r.Header["Upgrade"]; len(up) > 0 && engine.NamesToken(r.Header["Connection"], "upgrade") {
		// An h2c tunnel would carry requests past the routing.
		if offer := strings.Join(up, ", "); strings.Trim(offer, ", \t") != "" && !engine.OffersH2C(offer) {
			a.upgrade = offer
		}
	}
	return a
}

// outcome is how an attempt ended.
type outcome uint8

const (
	answered outcome = iota // the client got its answer
	again                   // nothing happened; try a new connection
)

// attempt sends the request to an endpoint and relays the answer. An error says
// that no connection came about, so that nothing happened. fresh asks for a new
// connection.
type attempt func(ep *route.Endpoint, fresh bool) (outcome, error)

// attempts tries endpoints until one answers.
func (x *exchange) attempts(try attempt) {
	backend := x.rec.Plan.Backend
	var ep *route.Endpoint
	fresh, timeouts := false, 0
	for x.rec.Attempts < max(x.e.options.MaxConnectAttempts, 1) || fresh {
		if ep == nil {
			if ep = backend.Pick(x.tried); ep == nil {
				break
			}
		}
		if x.rec.Attempts++; x.rec.Attempts > 1 {
			x.e.metrics.UpstreamRetries.Inc()
		}
		x.rec.Endpoint = ep
		// What is repeated gets a new connection wherever it goes: one that is kept may
		// have ended as well, and there is no third time.
		out, err := x.tracked(try, ep, x.retried)
		if err == nil {
			if out == answered {
				return
			}
			fresh = true
			continue
		}
		x.checkClient()
		x.e.metrics.ConnectFailures.Inc()
		x.e.log.Debug("connecting to an endpoint failed", "backend", backend.Name, "error", err)
		if isTimeout(err) {
			timeouts++
		}
		x.tried = append(x.tried, ep)
		ep, fresh = nil, false
	}
	switch {
	case len(x.tried) == 0:
		x.reply(engine.ReplyNoEndpoints)
	case timeouts == len(x.tried):
		x.e.metrics.UpstreamTimeouts.Inc()
		x.reply(engine.ReplyConnectTimeout)
	default:
		x.reply(engine.ReplyConnectFailed)
	}
}

// tracked counts the attempt as load of its endpoint, however it ends.
func (x *exchange) tracked(try attempt, ep *route.Endpoint, fresh bool) (outcome, error) {
	ep.Acquire()
	defer ep.Release()
	return try(ep, fresh)
}

// checkClient ends the exchange when its client has gone.
func (x *exchange) checkClient() {
	if !x.clientGone() {
		return
	}
	x.rec.Status = engine.StatusClientGone
	if x.e.forced.Load() { // it was us who ended it
		x.rec.Status, x.rec.Cut = http.StatusServiceUnavailable, true
	}
	panic(errAbandon)
}

// attemptH1 is an attempt over HTTP/1.1.
func (x *exchange) attemptH1(ep *route.Endpoint, fresh bool) (outcome, error) {
	if !fresh {
		if c := x.e.pools.Kept(ep.Address); c != nil {
			return x.over(c), nil
		}
	}
	c, err := x.dial(ep)
	if err != nil {
		return answered, err
	}
	return x.over(c), nil
}

// over sends the request over c and relays the answer.
func (x *exchange) over(c *upstream.Conn) outcome {
	x.watch(c)
	reuse := false
	defer func() {
		x.endUpload(c)
		if x.unwatch() && reuse {
			c.Put()
		} else {
			c.Close()
		}
	}()
	n, err := c.Write(x.head, x.e.options.StreamIdle, nil)
	if err != nil {
		return x.failed(c, engine.Failure{Wrote: n > 0, Closed: isClosed(err)}, err)
	}
	sent := time.Now()
	if x.body {
		x.startUpload(c)
	} else {
		c.ReadWithin(x.e.options.ResponseTimeout)
	}
	resp := x.resp.begin(x, c, sent)
	defer resp.free()
	if err := resp.readHead(); err != nil {
		return x.failed(c, engine.Failure{Wrote: true, Closed: resp.filled == 0 && isClosed(err)}, err)
	}
	if resp.head.Status == http.StatusSwitchingProtocols {
		resp.tunnel()
		return answered
	}
	reuse = resp.relay()
	return answered
}

// watch makes c end when the client goes away.
func (x *exchange) watch(c *upstream.Conn) {
	if g := x.client.gate; g != nil && x.r.ProtoMajor == 1 {
		g.serving.Store(c)
		if g.gone.Load() {
			c.Abort()
		}
		return
	}
	x.stopWatch = context.AfterFunc(x.r.Context(), c.Abort)
}

// unwatch ends that, and reports whether the client is still there.
func (x *exchange) unwatch() bool {
	if x.stopWatch != nil {
		return x.stopWatch()
	}
	g := x.client.gate
	g.serving.Store(nil)
	return !g.gone.Load()
}

// clientGone reports whether the client has ended the connection or stream. For
// HTTP/1 only the gate knows: net/http cancels the context also when the gate
// refuses a body.
func (x *exchange) clientGone() bool {
	if g := x.client.gate; g != nil && x.r.ProtoMajor == 1 {
		return g.gone.Load()
	}
	return x.r.Context().Err() != nil
}

// failed answers for an attempt that brought no response, or says to repeat it.
func (x *exchange) failed(c *upstream.Conn, f engine.Failure, err error) outcome {
	x.checkClient()
	if x.upload != nil {
		if reply := x.uploadFault(); reply != nil {
			if reply == engine.ReplyStalled {
				x.e.metrics.UpstreamTimeouts.Inc()
			}
			x.reply(reply)
			return answered
		}
		f.BodyTaken = true
	}
	f.Method, f.Reused, f.Retried = x.r.Method, c.Reused(), x.retried
	if f.MayRetry() {
		x.retried = true
		return again
	}
	x.e.log.Debug("an endpoint did not answer", "backend", x.rec.Plan.Backend.Name,
		"endpoint", x.rec.Endpoint.Address, "error", err)
	var bad *badResponse
	switch {
	case isTimeout(err):
		x.e.metrics.UpstreamTimeouts.Inc()
		x.reply(engine.ReplyResponseTimeout)
	case errors.As(err, &bad):
		x.reply(bad.reply)
	default:
		x.reply(engine.ReplyUpstreamClosed)
	}
	return answered
}

// isTimeout reports whether something took too long.
func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// isDeadline reports whether a deadline of ours passed, which ETIMEDOUT, the
// kernel's word for a peer that has died, does not mean. The first question is
// enough for what sockets return, and is asked often.
func isDeadline(err error) bool {
	if op, ok := err.(*net.OpError); ok && op.Err == os.ErrDeadlineExceeded {
		return true
	}
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// isClosed reports whether the peer ended the connection.
func isClosed(err error) bool {
	return err == io.EOF || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
