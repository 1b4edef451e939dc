package nethttp

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
)

// buildHead writes the request head as it goes to an HTTP/1.1 backend. It is
// built once and sent as it is on every attempt, so that nothing is appended
// twice.
func (x *exchange) buildHead() {
	r := x.r
	b := (*x.room)[:0]
	b = append(b, r.Method...)
	b = append(b, ' ')
	b = append(b, x.rec.Plan.Target...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", x.hostOrDefault())
	for name, value := range x.fields {
		b = appendField(b, name, value)
	}
	b = x.appendFraming(b)
	x.head = append(b, '\r', '\n')
}

// hostOrDefault is the Host that goes upstream. Servers refuse an empty one, which is
// what HTTP/1.0 leaves us with; any name will do then.
func (x *exchange) hostOrDefault() string {
	if x.rec.Plan.Authority == "" {
		return "localhost"
	}
	return x.rec.Plan.Authority
}

// fields yields the fields that go upstream whatever the protocol there: what
// the client sent and may pass, then what this hop vouches for.
func (x *exchange) fields(yield func(name, value string) bool) {
	for name, values := range x.r.Header {
		if engine.RequestField(name) != engine.FieldForward || x.nominated(name) ||
			!x.e.options.Underscores && strings.IndexByte(name, '_') >= 0 {
			continue
		}
		for _, v := range values {
			if !yield(name, v) {
				return
			}
		}
	}
	x.ownFields(yield)
}

// header is fields as net/http has them.
func (x *exchange) header() http.Header {
	h := make(http.Header, len(x.r.Header)+10)
	for name, value := range x.fields {
		name = http.CanonicalHeaderKey(name)
		h[name] = append(h[name], value)
	}
	return h
}

// nominated reports whether the client's Connection field names a field, which
// makes it the business of this hop alone (RFC 9110 §7.6.1).
func (x *exchange) nominated(name string) bool {
	c := x.r.Header["Connection"]
	return len(c) > 0 && engine.NamesToken(c, name)
}

// ownFields yields the fields that this hop vouches for.
func (x *exchange) ownFields(yield func(name, value string) bool) {
	f := x.e.options.Trust.Forward(x.client.peer.addr, x.client.peer.text, x.hostOrDefault(), x.r.TLS != nil, engine.Claims{
		For:         x.claim("X-Forwarded-For"),
		Proto:       x.claim("X-Forwarded-Proto"),
		Scheme:      x.claim("X-Forwarded-Scheme"),
		XScheme:     x.claim("X-Scheme"),
		Host:        x.claim("X-Forwarded-Host"),
		Port:        x.claim("X-Forwarded-Port"),
		OriginalFor: x.claim("X-Original-Forwarded-For"),
		Forwarded:   x.claim("Forwarded"),
	})
	if x.rec.RequestID == "" {
		x.rec.RequestID = requestID(x.claim("X-Request-Id"))
	}
	for _, own := range [...]struct{ name, value string }{
		{"X-Forwarded-For", f.For},
		{"X-Real-IP", f.RealIP},
		{"X-Forwarded-Proto", f.Proto},
		{"X-Forwarded-Scheme", f.Scheme},
		{"X-Scheme", f.XScheme},
		{"X-Forwarded-Host", f.Host},
		{"X-Forwarded-Port", f.Port},
		{"X-Original-Forwarded-For", f.OriginalFor},
		{"Forwarded", f.Forwarded},
		{"X-Request-Id", x.rec.RequestID},
	} {
		if own.value != "" && !yield(own.name, own.value) {
			return
		}
	}
}

// claim is what the client says in a field; several are joined in order, and an empty
// one says nothing.
func (x *exchange) claim(name string) string {
	if x.nominated(name) {
		return ""
	}
	claim := ""
	for _, v := range x.r.Header[name] {
		switch {
		case claim == "":
			claim = v
		case v != "":
			claim += ", " + v
		}
	}
	return claim
}

// appendFraming says how the body is delimited and what its sender expects.
func (x *exchange) appendFraming(b []byte) []byte {
	r := x.r
	switch {
	case x.body && r.ContentLength < 0:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
		if names := x.promisedTrailers(); len(names) > 0 {
			b = appendField(b, "Trailer", strings.Join(names, ", "))
		}
	case x.body || len(r.Header["Content-Length"]) > 0 || wantsLength(r.Method):
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, max(r.ContentLength, 0), 10)
		b = append(b, "\r\n"...)
	}
	if x.asked.expect {
		b = append(b, "Expect: 100-continue\r\n"...)
	}
	if x.asked.upgrade != "" {
		b = append(b, "Connection: Upgrade\r\n"...)
		b = appendField(b, "Upgrade", x.asked.upgrade)
	}
	return b
}

// promisedTrailers are the trailer fields that the client announced and that pass.
func (x *exchange) promisedTrailers() []string {
	var names []string
	for name := range x.r.Trailer {
		if x.trailerPasses(name) {
			names = append(names, name)
		}
	}
	return names
}

// trailerPasses reports whether a request trailer goes upstream.
func (x *exchange) trailerPasses(name string) bool {
	return !http1.ForbiddenTrailer([]byte(name)) && engine.RequestField(name) == engine.FieldForward && !x.nominated(name) &&
		(x.e.options.Underscores || strings.IndexByte(name, '_') < 0)
}

// wantsLength names the methods whose empty body is worth saying so: without a
// length some servers answer 411 (RFC 9110 §8.6).
func wantsLength(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// requestID keeps a sane id or makes one of 32 random hexadecimal digits.
func requestID(sent string) string {
	if engine.KeepRequestID(sent) {
		return sent
	}
	var id [32]byte
	for i, word := range [2]uint64{rand.Uint64(), rand.Uint64()} {
		for j := range 16 {
			id[16*i+j] = "0123456789abcdef"[word>>(4*j)&15]
		}
	}
	return string(id[:])
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ':', ' ')
	b = append(b, value...)
	return append(b, '\r', '\n')
}
