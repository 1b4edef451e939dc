package nethttp

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"ramjet.dev/ingress/internal/engine"
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
	b = appendField(b, "Host", x.rec.Plan.Authority)
	b = x.appendFields(b)
	b = x.appendFraming(b)
	b = x.appendOwn(b)
	x.head = append(b, '\r', '\n')
}

// appendFields copies what the client sent and may pass.
func (x *exchange) appendFields(b []byte) []byte {
	nominated := x.r.Header["Connection"]
	for name, values := range x.r.Header {
		if engine.RequestField(name) != engine.FieldForward {
			continue
		}
		if !x.e.options.Underscores && strings.IndexByte(name, '_') >= 0 {
			continue
		}
		if len(nominated) > 0 && engine.NamesToken(nominated, name) {
			continue
		}
		for _, v := range values {
			b = appendField(b, name, v)
		}
	}
	return b
}

// appendFraming says how the body is delimited and what its sender expects.
func (x *exchange) appendFraming(b []byte) []byte {
	r := x.r
	switch {
	case x.body && r.ContentLength < 0:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
		if len(r.Trailer) > 0 {
			b = append(b, "Trailer: "...)
			first := true
			for name := range r.Trailer {
				if !first {
					b = append(b, ", "...)
				}
				b, first = append(b, name...), false
			}
			b = append(b, "\r\n"...)
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

// wantsLength names the methods whose empty body is worth saying so: without a
// length some servers answer 411 (RFC 9110 §8.6).
func wantsLength(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// appendOwn writes the fields that this hop vouches for.
func (x *exchange) appendOwn(b []byte) []byte {
	h := x.r.Header
	f := x.e.options.Trust.Forward(x.client.peer.addr, x.client.peer.text, x.rec.Plan.Authority, x.r.TLS != nil, engine.Claims{
		For:         joined(h["X-Forwarded-For"]),
		Proto:       joined(h["X-Forwarded-Proto"]),
		Scheme:      joined(h["X-Forwarded-Scheme"]),
		XScheme:     joined(h["X-Scheme"]),
		Host:        joined(h["X-Forwarded-Host"]),
		Port:        joined(h["X-Forwarded-Port"]),
		OriginalFor: joined(h["X-Original-Forwarded-For"]),
		Forwarded:   joined(h["Forwarded"]),
	})
	b = appendField(b, "X-Forwarded-For", f.For)
	b = appendField(b, "X-Real-IP", f.RealIP)
	b = appendField(b, "X-Forwarded-Proto", f.Proto)
	b = appendField(b, "X-Forwarded-Scheme", f.Scheme)
	b = appendField(b, "X-Scheme", f.XScheme)
	b = appendField(b, "X-Forwarded-Host", f.Host)
	b = appendField(b, "X-Forwarded-Port", f.Port)
	if f.OriginalFor != "" {
		b = appendField(b, "X-Original-Forwarded-For", f.OriginalFor)
	}
	if f.Forwarded != "" {
		b = appendField(b, "Forwarded", f.Forwarded)
	}
	x.rec.RequestID = requestID(h["X-Request-Id"])
	return appendField(b, "X-Request-Id", x.rec.RequestID)
}

func joined(values []string) string {
	switch len(values) {
	case 0:
		return ""
	case 1:
		return values[0]
	}
	return strings.Join(values, ", ")
}

// requestID keeps a sane id or makes one of 32 random hexadecimal digits.
func requestID(sent []string) string {
	if len(sent) == 1 && engine.KeepRequestID(sent[0]) {
		return sent[0]
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
