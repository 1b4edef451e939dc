package reactor

import (
	"math/rand/v2"
	"net/http"
	"strings"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/mirror"
)

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
	x.shadow = e.mirrors.Draft(&mirror.Copy{
		Mirror:   m,
		Endpoint: ep,
		Method:   string(x.req.Method),
		Target:   strings.Clone(x.rec.Plan.Target),
		Host:     strings.Clone((&upstreamHead{plan: &x.rec.Plan}).host()),
	}, !x.body, most)
}

// headShadow gives the copy the fields that go upstream, and lets it go at once if the
// answer may be on its way for hours.
func (x *exchange) headShadow() {
	if x.shadow == nil {
		return
	}
	x.shadow.SetHeader(x.head.header())
	if x.head.asked.upgrade != "" {
		x.shadow.Release()
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
