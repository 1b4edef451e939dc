package reactor

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"strconv"
	"strings"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
)

// asked is what the client asked of this hop rather than of the backend.
type asked struct {
	upgrade string // the protocols offered, "" for none
	expect  bool   // waits for 100 before it sends the body
}

func readAsked(h *http1.RequestHead, body bool) asked {
	a := asked{expect: body && h.ExpectContinue}
	if h.Upgrade && !h.UpgradeH2C { // an h2c tunnel would carry requests past the routing
		a.upgrade = joined(h, "Upgrade")
	}
	return a
}

// joined is the value of a field; several are joined in order. A single one shares the
// memory of the head.
func joined(h *http1.RequestHead, name string) string {
	first, found := "", 0
	for i := range h.Fields {
		if !http1.EqualFold(h.Fields[i].Name, name) {
			continue
		}
		if found++; found == 1 {
			first = text(h.Fields[i].Value)
		} else {
			first += ", " + text(h.Fields[i].Value)
		}
	}
	return first
}

// upstreamHead is all that decides what the head of a request looks like for an
// HTTP/1.1 backend.
type upstreamHead struct {
	head      *http1.RequestHead
	plan      *engine.Plan
	options   *engine.Options
	peer      netip.Addr
	peerText  string
	secure    bool
	asked     asked
	body      bool
	id        *[32]byte // where to make an id
	requestID string    // the id that was sent or made; shares memory
	claims    engine.Claims
}

// append appends the head. It is sent as it is on every attempt, so that nothing is
// appended twice.
func (u *upstreamHead) append(b []byte) []byte {
	b = append(b, u.head.Method...)
	b = append(b, ' ')
	b = append(b, u.plan.Target...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", u.host())
	b = u.appendPassing(b)
	b = u.appendOwn(b)
	b = u.appendFraming(b)
	return append(b, '\r', '\n')
}

// host is the Host that goes upstream. Servers refuse an empty one, which is what
// HTTP/1.0 leaves us with; any name will do then.
func (u *upstreamHead) host() string {
	if u.plan.Authority == "" {
		return "localhost"
	}
	return u.plan.Authority
}

// appendPassing appends what the client sent and may pass, and notes what it claims.
func (u *upstreamHead) appendPassing(b []byte) []byte {
	var room [known]byte
	for i := range u.head.Fields {
		f := &u.head.Fields[i]
		name := canonical(f.Name, &room)
		switch engine.RequestField(name) {
		case engine.FieldForward:
			if u.passes(f.Name) {
				b = append(b, f.Name...)
				b = append(b, ':', ' ')
				b = append(b, f.Value...)
				b = append(b, '\r', '\n')
			}
		case engine.FieldOwn:
			u.claim(name, f)
		}
	}
	return b
}

// passes reports whether a field or trailer goes upstream, of which no rule says
// otherwise.
func (u *upstreamHead) passes(name []byte) bool {
	return !u.head.Nominated(name) && (u.options.Underscores || bytes.IndexByte(name, '_') < 0)
}

// claim notes what the client says of itself.
func (u *upstreamHead) claim(name string, f *http1.Field) {
	var to *string
	switch name {
	case "X-Forwarded-For":
		to = &u.claims.For
	case "X-Forwarded-Proto":
		to = &u.claims.Proto
	case "X-Forwarded-Scheme":
		to = &u.claims.Scheme
	case "X-Scheme":
		to = &u.claims.XScheme
	case "X-Forwarded-Host":
		to = &u.claims.Host
	case "X-Forwarded-Port":
		to = &u.claims.Port
	case "X-Original-Forwarded-For":
		to = &u.claims.OriginalFor
	case "Forwarded":
		to = &u.claims.Forwarded
	case "X-Request-Id":
		to = &u.requestID
	default:
		return
	}
	if !u.head.Nominated(f.Name) {
		addClaim(to, f.Value)
	}
}

// addClaim adds a field to what those of its name say; an empty one says nothing.
func addClaim(to *string, value []byte) {
	switch {
	case *to == "":
		*to = text(value)
	case len(value) > 0:
		*to += ", " + text(value)
	}
}

// appendOwn appends the fields that this hop vouches for.
func (u *upstreamHead) appendOwn(b []byte) []byte {
	f := u.options.Trust.Forward(u.peer, u.peerText, u.host(), u.secure, u.claims)
	if !engine.KeepRequestID(u.requestID) {
		u.requestID = makeID(u.id)
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
		{"X-Request-Id", u.requestID},
	} {
		if own.value != "" {
			b = appendField(b, own.name, own.value)
		}
	}
	return b
}

// makeID makes an id of 32 random hexadecimal digits.
func makeID(room *[32]byte) string {
	for i, word := range [2]uint64{rand.Uint64(), rand.Uint64()} {
		for j := range 16 {
			room[16*i+j] = "0123456789abcdef"[word>>(4*j)&15]
		}
	}
	return text(room[:])
}

// appendFraming says how the body is delimited and what its sender expects.
func (u *upstreamHead) appendFraming(b []byte) []byte {
	h := u.head
	switch {
	case h.Framing == http1.FramingChunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
		b = u.appendPromises(b)
	case u.body || h.ContentLength >= 0 || wantsLength(h.Method):
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, max(h.ContentLength, 0), 10)
		b = append(b, "\r\n"...)
	}
	if u.asked.expect {
		b = append(b, "Expect: 100-continue\r\n"...)
	}
	if u.asked.upgrade != "" {
		b = append(b, "Connection: Upgrade\r\n"...)
		b = appendField(b, "Upgrade", u.asked.upgrade)
	}
	return b
}

// appendPromises announces the trailer fields that the client announced and that pass.
func (u *upstreamHead) appendPromises(b []byte) []byte {
	start := len(b)
	var room [known]byte
	for i := range u.head.Fields {
		if !http1.EqualFold(u.head.Fields[i].Name, "Trailer") {
			continue
		}
		list := u.head.Fields[i].Value
		for more := true; more; {
			var name []byte
			name, list, more = http1.NextElement(list)
			if len(name) == 0 || !u.trailerPasses(name) {
				continue
			}
			if len(b) == start {
				b = append(b, "Trailer: "...)
			} else {
				b = append(b, ", "...)
			}
			b = append(b, canonical(name, &room)...)
		}
	}
	if len(b) > start {
		b = append(b, "\r\n"...)
	}
	return b
}

// trailerPasses reports whether a request trailer goes upstream.
func (u *upstreamHead) trailerPasses(name []byte) bool {
	var room [known]byte
	return !http1.ForbiddenTrailer(name) && engine.RequestField(canonical(name, &room)) == engine.FieldForward && u.passes(name)
}

// wantsLength names the methods whose empty body is worth saying so: without a length
// some servers answer 411 (RFC 9110 section 8.6).
func wantsLength(method []byte) bool {
	switch string(method) {
	case "POST", "PUT", "PATCH":
		return true
	}
	return false
}

// canaryFields answers the canary rules from a request.
type canaryFields http1.RequestHead

// Field returns the value of a field; several are joined (RFC 9110 section 5.3).
func (f *canaryFields) Field(name string) (string, bool) {
	h := (*http1.RequestHead)(f)
	if _, ok := h.Field(name); !ok {
		return "", false
	}
	return joined(h, name), true
}

// Cookie returns the value of the first cookie of that name.
func (f *canaryFields) Cookie(name string) (string, bool) {
	for i := range f.Fields {
		if !http1.EqualFold(f.Fields[i].Name, "Cookie") {
			continue
		}
		for line := text(f.Fields[i].Value); line != ""; {
			var part string
			part, line, _ = strings.Cut(line, ";")
			k, v, ok := strings.Cut(strings.Trim(part, " \t"), "=")
			if ok && k == name {
				return strings.Trim(v, `"`), true
			}
		}
	}
	return "", false
}
