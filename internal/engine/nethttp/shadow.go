package nethttp

import (
	"math/rand/v2"

	"ramjet.dev/ingress/internal/engine/mirror"
)

// shadow is the copy of a request in the making. The request itself is streamed
// to the primary as ever; what the upload reads is kept aside until the body has
// ended, or is longer than may be copied. A nil shadow makes no copy. After the
// upload has begun it belongs to the upload.
type shadow struct {
	e    *Engine
	copy *mirror.Copy
	over bool // sent, or given up
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
	x.shadow = &shadow{e: x.e, copy: &mirror.Copy{
		Mirror: m,
		Method: x.r.Method,
		Target: x.rec.Plan.Target,
		Host:   x.rec.Plan.Authority,
		Header: x.header(),
	}}
	if !x.body {
		x.shadow.add(nil, true)
	}
}

// add keeps a piece of the body; last sends the copy off.
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
		if last {
			s.over = true
			s.e.mirrors.Offer(s.copy)
		}
	}
}

// drop gives the copy up; also when the request ended before its body did.
func (s *shadow) drop() {
	if s == nil || s.over {
		return
	}
	s.over = true
	s.e.mirrors.Release(len(s.copy.Body))
	s.copy = nil
}
