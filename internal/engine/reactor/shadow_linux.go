package reactor

import (
	"math/rand/v2"
	"net/http"
	"strings"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/mirror"
)

// shadow is the copy of a request in the making: see nethttp's. All of it belongs to
// the loop. A nil shadow makes no copy.
type shadow struct {
	e     *Engine
	copy  *mirror.Copy
	whole bool // the body has ended
	free  bool // the answer is on its way: the copy may be sent
	over  bool // sent, or given up
}

// startShadow begins a copy if the route has a mirror that samples this request. A copy
// of a copy is not made: a mirror may lead back here.
func (x *exchange) startShadow() {
	m := x.rec.Plan.Route.Mirror
	if m == nil || !m.Samples(rand.Uint32()) {
		return
	}
	if _, copied := x.req.Field("X-Mirrored-By"); copied {
		return
	}
	e := x.loop.engine
	most := e.options.MirrorMaxBody
	if x.body && (most == 0 || x.req.ContentLength > most) {
		e.metrics.MirrorSkipped.Inc()
		return
	}
	ep := e.mirrors.Admit(m)
	if ep == nil {
		return
	}
	x.shadow = &shadow{e: e, whole: !x.body, copy: &mirror.Copy{
		Mirror:   m,
		Endpoint: ep,
		Method:   string(x.req.Method),
		Target:   strings.Clone(x.rec.Plan.Target),
		Host:     strings.Clone(x.rec.Plan.Authority),
	}}
}

// headed gives the copy the fields that go upstream, and lets it go at once if the
// answer may be on its way for hours.
func (s *shadow) headed(u *upstreamHead) {
	if s == nil {
		return
	}
	s.copy.Header = u.header()
	if u.asked.upgrade != "" {
		s.release()
	}
}

// header is what the head has beside framing and Host, as net/http has it. The values
// are copies.
func (u *upstreamHead) header() http.Header {
	again := *u // claims are noted anew
	again.claims = engine.Claims{}
	again.requestID = ""
	fields := again.appendPassing(nil)
	again.requestID = u.requestID
	fields = again.appendOwn(fields)
	h := make(http.Header)
	for line := range strings.SplitSeq(strings.TrimSuffix(string(fields), "\r\n"), "\r\n") {
		name, value, _ := strings.Cut(line, ": ")
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], value)
	}
	return h
}

// add keeps a piece of the body; last is its end.
func (s *shadow) add(piece []byte, last bool) {
	if s == nil || s.over {
		return
	}
	switch {
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
	if s != nil {
		s.free = true
		s.offer()
	}
}

// end sends the copy, or gives it up when the request ended before its body did.
func (s *shadow) end() {
	if s != nil {
		s.release()
		s.drop()
	}
}

func (s *shadow) offer() {
	if s.whole && s.free && !s.over {
		s.over = true
		s.e.mirrors.Offer(s.copy)
	}
}

func (s *shadow) drop() {
	if s.over {
		return
	}
	s.over = true
	s.e.mirrors.Release(len(s.copy.Body))
	s.copy = nil
}
