package reactor

import (
	"strings"

	"ramjet.dev/ingress/internal/http1"
)

// book counts the exchange, however it ended.
func (x *exchange) book() {
	l, e := x.loop, x.loop.engine
	x.state = xOver
	e.metrics.Count(x.c.shard, &x.rec)
	if e.options.Done != nil {
		x.describe()
		e.options.Done(&x.rec)
	}
	x.shadow.End()
	l.inflight--
	if l.draining {
		l.settle()
	}
	x.c.state = stHead
}

// describe adds what only the access log wants to know, and copies what shares the
// memory of buffers: Done may keep strings.
func (x *exchange) describe() {
	rec, h := &x.rec, &x.req
	rec.Duration = x.loop.clock.Sub(rec.Start)
	rec.Client = x.loop.engine.options.Trust.Client(x.c.peer, forwardedFor(h))
	agent, _ := h.Field("User-Agent")
	referer, _ := h.Field("Referer")
	host := x.hostField()
	if h.Form == http1.AbsoluteForm || h.Form == http1.AuthorityForm {
		host = text(h.Host)
	}
	copyStrings(
		[]*string{&rec.Method, &rec.Target, &rec.Host, &rec.UserAgent, &rec.Referer, &rec.RequestID, &rec.Plan.Target, &rec.Plan.Authority, &rec.Proto},
		[]string{text(h.Method), text(h.Target), host, text(agent), text(referer), rec.RequestID, rec.Plan.Target, rec.Plan.Authority, text(x.version())})
}

// forwardedFor is what the client claims in X-Forwarded-For.
func forwardedFor(h *http1.RequestHead) (claim string) {
	const name = "X-Forwarded-For"
	if h.Nominated([]byte(name)) {
		return ""
	}
	for i := range h.Fields {
		if http1.EqualFold(h.Fields[i].Name, name) {
			addClaim(&claim, h.Fields[i].Value)
		}
	}
	return claim
}

// version is the version as it was sent: what follows the target.
func (x *exchange) version() []byte {
	h := &x.req
	line := x.in.b[x.begins+h.Start:]
	return line[len(h.Method)+len(h.Target)+2:][:len("HTTP/1.1")]
}

// copyStrings copies strings into one piece of memory.
func copyStrings(to []*string, from []string) {
	all := strings.Join(from, "")
	for i, s := range from {
		*to[i] = all[:len(s)]
		all = all[len(s):]
	}
}
