package nethttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/mirror"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// attemptH2 is an attempt over cleartext HTTP/2, the protocol of gRPC backends.
func (x *exchange) attemptH2(ep *route.Endpoint, _ bool) (outcome, error) {
	ctx, cancel := context.WithCancel(x.contextUntilGone())
	s := &stream{x: x, start: x.rec.Start, interims: newInterims()}
	s.idle = newIdleTimer(x.e.options.StreamIdle, func() { s.giveUp(cancel) })
	defer x.watchH2(cancel)()
	defer func() {
		s.idle.stop()
		cancel()
		s.body.end()
	}()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		Got1xxResponse: s.interims.tell,
		WroteHeaders:   s.wrote,
		WroteRequest:   func(httptrace.WroteRequestInfo) { s.wrote() },
	})
	resp, err := s.roundTrip(s.request(ctx, ep), ep)
	if err != nil {
		return s.failed(err)
	}
	defer func() {
		cancel() // else Close waits for a body that the client may never send
		resp.Body.Close()
	}()
	x.rec.Answered, x.rec.Latency = true, s.latency()
	if resp.StatusCode < 200 || resp.StatusCode > 999 {
		x.reply(engine.ReplyBadResponse)
		return answered, nil
	}
	s.idle.answer()
	s.relay(resp)
	return answered, nil
}

// roundTrip sends the request and returns the response, and relays what comes before it.
func (s *stream) roundTrip(r *http.Request, ep *route.Endpoint) (*http.Response, error) {
	results := make(chan roundTrip, 1)
	pool := s.x.e.pools.HTTP2(ep.Address)
	go func() {
		resp, err := pool.RoundTrip(r) //nolint:bodyclose // whoever gets it closes it
		results <- roundTrip{resp, err}
	}()
	result := s.interims.relayUntil(results, s.x.interim)
	return result.response, result.err
}

// contextUntilGone is what an attempt lasts as long as. Over HTTP/2 it is the request's own
// context. That of an HTTP/1 request ends not only with its client, which watchH2 sees, but
// also when the gate refuses its body, before the read has returned that says why: the
// backend would be blamed.
func (x *exchange) contextUntilGone() context.Context {
	if x.client.gate != nil && x.r.ProtoMajor == 1 {
		return context.WithoutCancel(x.r.Context())
	}
	return x.r.Context()
}

// watchH2 makes cancel be called when an HTTP/1 client goes away, until the result
// is called; the context of a request over HTTP/2 ends by itself.
func (x *exchange) watchH2(cancel context.CancelFunc) (stop func()) {
	g := x.client.gate
	if g == nil || x.r.ProtoMajor != 1 {
		return func() {}
	}
	g.cancel.Store(&cancel)
	if g.gone.Load() {
		cancel()
	}
	return func() { g.cancel.Store(nil) }
}

// stream is an exchange with an HTTP/2 backend.
type stream struct {
	x    *exchange
	body *streamBody // nil without one
	idle *idleTimer
	// silent is set, before an idle stream is cancelled, when it was the client's turn.
	silent atomic.Bool
	// start is when the exchange began; sent is when the request had been sent, as
	// far as it was then, in nanoseconds since.
	start time.Time
	sent  atomic.Int64

	interims *interims
}

// wrote notes that the head, or all of the request, has been sent. The transport
// may say so when the exchange is over.
func (s *stream) wrote() { s.sent.Store(int64(time.Since(s.start))) }

// latency counts from the end of the request, if it has been sent to its end.
func (s *stream) latency() time.Duration {
	return max(time.Since(s.start)-time.Duration(s.sent.Load()), 0)
}

// giveUp ends the stream when it has been idle for too long. The transport notices
// that it is cancelled between two reads of the body.
func (s *stream) giveUp(cancel context.CancelFunc) {
	waiting := s.body != nil && s.body.waiting.Load()
	s.silent.Store(waiting)
	cancel()
	if waiting {
		s.x.stopReading()
	}
}

// request is the request as it goes upstream.
func (s *stream) request(ctx context.Context, ep *route.Endpoint) *http.Request {
	x := s.x
	h := x.header()
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = nil // net/http would write its own
	}
	if x.asked.trailers {
		h["Te"] = []string{"trailers"}
	}
	if x.asked.expect {
		h["Expect"] = []string{"100-continue"}
	}
	r := &http.Request{
		Method: x.r.Method,
		URL:    mirror.TargetURL(x.rec.Plan.Target, ep.Address, x.hostOrDefault()),
		Host:   x.hostOrDefault(),
		Header: h,
		Body:   http.NoBody,
	}
	if x.body {
		if x.r.ProtoMajor == 1 {
			http.NewResponseController(x.w).EnableFullDuplex()
		}
		x.begun = true
		s.body = &streamBody{x: x, idle: s.idle, trailer: x.announcedTrailer()}
		if x.asked.expect {
			s.body.ask = s.interims.ask
		}
		s.idle.touch() // from here on the timer may look at the body
		r.Body, r.ContentLength, r.Trailer = &bodyTurn{streamBody: s.body}, x.r.ContentLength, s.body.trailer
		r.GetBody = s.body.again
	}
	return r.WithContext(ctx)
}

// failed answers for an attempt without a response. The error is that of a
// connection that did not come about.
func (s *stream) failed(err error) (outcome, error) {
	x := s.x
	x.checkClient()
	if reply, gone := s.body.clientFault(); gone {
		x.rec.Status = engine.StatusClientGone
		panic(errAbandon)
	} else if reply != nil {
		s.body.end()
		x.reply(reply)
		return answered, nil
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" && (s.body == nil || !s.body.taken.Load()) {
		return answered, err
	}
	x.e.log.Debug("an HTTP/2 endpoint did not answer", "backend", x.rec.Plan.Backend.Name,
		"endpoint", x.rec.Endpoint.Address, "error", err)
	wrong := s.interims.fault()
	switch {
	case wrong != nil:
		x.reply(wrong)
	case s.deadlineOver(err):
		s.deadlineExceeded()
	case s.idle.fired.Load() && s.silent.Load() && !isGRPC(x.r.Header["Content-Type"]):
		x.reply(engine.ReplyBodyStalled)
	case isTimeout(err) || s.idle.fired.Load():
		x.e.metrics.UpstreamTimeouts.Inc()
		x.reply(engine.ReplyResponseTimeout)
	default:
		x.reply(engine.ReplyUpstreamClosed)
	}
	return answered, nil
}

// relay sends the response to the client, trailers included.
func (s *stream) relay(resp *http.Response) {
	x := s.x
	h := x.w.Header()
	forwardFields(h, resp.Header)
	x.rec.Status = resp.StatusCode
	s.fieldsOfServer(h)
	x.rec.Cut = true // until the response has come to its end
	x.announceClose(h)
	x.w.WriteHeader(resp.StatusCode)
	w := bodyWriter{x: x}
	// A stream may be silent for long after its head. A head that ends its stream,
	// the form of a gRPC error without a message, has to stay one, and is sent on
	// when it is known that nothing follows.
	if resp.ContentLength != 0 {
		if err := w.flush(); err != nil {
			panic(errAbandon)
		}
	}
	if err := s.relayBody(&w, resp); err != nil {
		s.broken(&w, resp, err)
		return
	}
	var trailers []http1.Field
	for name, values := range resp.Trailer {
		for _, v := range values {
			if !http1.ForbiddenTrailer([]byte(name)) {
				trailers = append(trailers, http1.Field{Name: []byte(name), Value: []byte(v)})
			}
		}
	}
	if err := w.trailers(trailers, nil); err != nil {
		panic(errAbandon)
	}
	x.rec.Cut = false
}

// fieldsOfServer keeps net/http from adding fields of its own.
func (s *stream) fieldsOfServer(h http.Header) {
	names := []string{"Content-Type", "Date", "Content-Length"}
	if s.x.r.ProtoMajor == 1 {
		names = names[:2] // the length is the framing there
	}
	for _, name := range names {
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	if s.x.r.ProtoMajor == 1 && s.x.rec.Status == http.StatusNotModified {
		keepDescription(h)
	}
}

// relayBody streams the body; the error is one of the endpoint's side.
func (s *stream) relayBody(w *bodyWriter, resp *http.Response) error {
	buf := upstream.GetSmall()
	defer func() { upstream.PutBuffer(buf) }()
	for {
		n, err := resp.Body.Read(*buf)
		s.idle.touch()
		if n > 0 {
			if err := w.write((*buf)[:n], err == io.EOF); err != nil {
				panic(errAbandon)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if n == len(*buf) && n == upstream.Small {
			upstream.PutBuffer(buf)
			buf = upstream.GetLarge()
		}
	}
}

// broken ends a response that broke off. A gRPC client is told in the trailers: it
// would take the reset, the only one that net/http has, for a fault of its own or
// of the protocol, and not try again.
func (s *stream) broken(w *bodyWriter, resp *http.Response, err error) {
	x := s.x
	if reply, gone := s.body.clientFault(); gone || reply != nil || x.clientGone() {
		panic(errAbandon)
	}
	x.rec.Truncated = true
	x.e.metrics.UpstreamTruncated.Inc()
	if s.idle.fired.Load() {
		x.e.metrics.UpstreamTimeouts.Inc()
	}
	x.e.log.Debug("an HTTP/2 endpoint broke off its response", "backend", x.rec.Plan.Backend.Name,
		"endpoint", x.rec.Endpoint.Address, "error", err)
	if x.r.ProtoMajor == 1 || !isGRPC(resp.Header["Content-Type"]) || w.trailers(s.grpcBroken(err), nil) != nil {
		x.cut()
	}
}

// forwardFields copies the response fields that may pass.
func forwardFields(to, from http.Header) {
	for name, values := range from {
		if engine.ResponseField(name) != engine.FieldDrop {
			to[name] = values
		}
	}
}
