package nethttp

import (
	"math/rand/v2"
	"net/http"
	"sync"

	"ramjet.dev/ingress/internal/engine/mirror"
)

// shadow is the copy of a request in the making. The request itself is streamed
// to the primary as ever; what the upload reads is kept aside until the body has
// ended, or is longer than may be copied. Then it waits for the answer of the
// primary to be on its way: making and sending a copy is work, and the request comes
// first. A nil shadow makes no copy.
type shadow struct {
	e *Engine

	mu    sync.Mutex // the upload adds, the exchange releases
	copy  *mirror.Copy
	whole bool // the body has ended
	free  bool // nobody waits for it to be sent later
	over  bool // sent, or given up
}

// startShadow begins a copy if the route has a mirror that samples this request.
// A copy of a copy is not made: a mirror may lead back here.
func (x *exchange) startShadow() {
	m := x.rec.Plan.Route.Mirror
	if m == nil || !m.Samples(rand.Uint32()) || len(x.r.Header["X-Mirrored-By"]) > 0 {
		return
	}
	most := x.e.options.MirrorMaxBody
	if x.body && (most == 0 || x.r.ContentLength > most) {
		x.e.metrics.MirrorSkipped.Inc()
		return
	}
	ep := x.e.mirrors.Admit(m)
	if ep == nil {
		return
	}
	x.shadow = &shadow{e: x.e, copy: &mirror.Copy{
		Mirror:   m,
		Endpoint: ep,
		Method:   x.r.Method,
		Target:   x.rec.Plan.Target,
		Host:     x.rec.Plan.Authority,
		Header:   x.header(),
	}}
	x.shadow.whole = !x.body
	if x.asked.upgrade != "" { // its answer may be on its way for hours
		x.shadow.release()
	}
}

// answeredShadow releases the copy of a request whose answer is written. Over HTTP/1
// what is written lies in net/http's buffer still, and would be sent beside the
// copy's work instead of before it. Over HTTP/2 it has to stay there: a flush would
// cut a head that ends its stream in two.
func (x *exchange) answeredShadow() {
	if x.shadow == nil {
		return
	}
	if x.r.ProtoMajor == 1 && x.rec.Status != http.StatusSwitchingProtocols { // a tunnel is not net/http's any more
		http.NewResponseController(x.w).Flush() // a client that has gone is nobody's fault
	}
	x.shadow.release()
}

// add keeps a piece of the body; last is its end.
func (s *shadow) add(piece []byte, last bool) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
	case int64(len(s.copy.Body)+len(piece)) > s.e.options.MirrorMaxBody && len(piece) > 0:
		s.e.metrics.MirrorSkipped.Inc()
		s.drop()
	case !s.e.mirrors.Reserve(len(piece)):
		s.e.metrics.MirrorDropped.Inc()
		s.drop()
	default:
		s.copy.Body = append(s.copy.Body, piece...)
		s.whole = last
		s.offer()
	}
}

// release lets the copy be sent as soon as it is whole.
func (s *shadow) release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = true
	s.offer()
}

// end sends the copy, or gives it up when the request ended before its body did.
func (s *shadow) end() {
	if s == nil {
		return
	}
	s.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

// offer sends the copy if it is time. The caller holds the lock.
func (s *shadow) offer() {
	if s.whole && s.free && !s.over {
		s.over = true
		s.e.mirrors.Offer(s.copy)
	}
}

// drop gives the copy up. The caller holds the lock.
func (s *shadow) drop() {
	if s.over {
		return
	}
	s.over = true
	s.e.mirrors.Release(len(s.copy.Body))
	s.copy = nil
}
