package nethttp

import (
	"math/rand/v2"
	"net/http"

	"ramjet.dev/ingress/internal/engine/mirror"
)

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
	x.shadow = x.e.mirrors.Draft(&mirror.Copy{
		Mirror:   m,
		Endpoint: ep,
		Method:   x.r.Method,
		Target:   x.rec.Plan.Target,
		Host:     x.hostOrDefault(),
		Header:   x.header(),
	}, !x.body, most)
	if x.asked.upgrade != "" { // its answer may be on its way for hours
		x.shadow.Release()
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
	x.shadow.Release()
}
