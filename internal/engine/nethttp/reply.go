package nethttp

import (
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/upstream"
)

// reply writes an answer of the proxy's own.
func (x *exchange) reply(p *engine.Reply) {
	x.rec.Status = p.Status
	line := p.Line()
	h := x.w.Header()
	h["Content-Type"] = []string{"text/plain"}
	h["Content-Length"] = []string{strconv.Itoa(len(line))}
	if p.Allow != "" {
		h["Allow"] = []string{p.Allow}
	}
	if p.Unsupported != "" {
		h["X-Ramjet-Unsupported"] = []string{p.Unsupported}
	}
	if x.r.ProtoMajor == 1 && (x.client.gate.readAborted() || x.bodyUnread() && !x.skipBody()) {
		http.NewResponseController(x.w).EnableFullDuplex() // do not wait for the body
		x.stopReading()                                    // not after the answer either
		h["Connection"] = []string{"close"}
	}
	if x.r.ProtoMajor == 2 && x.e.options.StreamIdle > 0 {
		// A client that opens no window must not hold the stream for ever.
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(x.e.options.StreamIdle))
	}
	x.w.WriteHeader(p.Status)
	if x.r.Method != http.MethodHead {
		_, _ = io.WriteString(x.w, line) // a client that has gone is nobody's fault
		x.rec.BytesOut += int64(len(line))
	}
}

// bodyUnread reports whether the client may still be sending its body.
func (x *exchange) bodyUnread() bool {
	return hasBody(x.r) && !x.allRead.Load()
}

// announceClose tells an HTTP/1 client that gets its answer early to stop; its
// connection then has a lingering close.
func (x *exchange) announceClose(h http.Header) {
	if x.r.ProtoMajor == 1 && x.bodyUnread() {
		h["Connection"] = []string{"close"}
	}
}

// hasBody reports whether there is a body; HTTP/2 requests have a Body that is
// empty.
func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// shortBodyWait is how long the rest of a short body is waited for: that of a client
// which sends head and body apart is there in a moment.
const shortBodyWait = time.Second

// skipBody reads a body that nobody has begun to read, if it is on its way anyway and so
// small that reading it costs less than a new connection. It reports whether all of it
// was read; if not, nothing more is read. net/http would do the same before it answers,
// but for as long as a body may take, and when the exchange counts as ended.
func (x *exchange) skipBody() bool {
	if x.begun || x.r.ContentLength < 0 || x.r.ContentLength > upstream.Large || len(x.r.Header["Expect"]) > 0 {
		return false
	}
	end := time.AfterFunc(shortBodyWait, x.client.gate.abortRead)
	_, err := io.Copy(io.Discard, x.r.Body)
	if !end.Stop() || err != nil {
		return false
	}
	x.allRead.Store(true)
	return true
}

// refusedHead books a request that never became one.
func (e *Engine) refusedHead(peer netip.Addr, p *engine.Reply) {
	rec := engine.Record{Start: time.Now(), Status: p.Status, Client: peer, BytesOut: int64(len(p.Line()))}
	e.metrics.Count(0, &rec)
	if e.options.Done != nil {
		e.options.Done(&rec)
	}
}
