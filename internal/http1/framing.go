package http1

import "math"

// Framing says where a body ends (RFC 9112 section 6.3).
type Framing uint8

const (
	// FramingNone: there is no body; the next message follows the head.
	FramingNone Framing = iota
	// FramingLength: ContentLength bytes follow, perhaps none.
	FramingLength
	// FramingChunked: the chunked coding follows.
	FramingChunked
	// FramingUntilClose: everything until the peer closes. Responses only.
	FramingUntilClose
)

// String returns "none", "length", "chunked" or "until-close".
func (f Framing) String() string {
	switch f {
	case FramingNone:
		return "none"
	case FramingLength:
		return "length"
	case FramingChunked:
		return "chunked"
	}
	return "until-close"
}

// framing collects what the fields of a head say about the length of the body.
// The rules are stricter than RFC 9112 asks: one Content-Length of digits, or one
// Transfer-Encoding that is "chunked". Equal repetitions, which section 6.3 lets a
// recipient fold into one, are refused in both spellings ("6, 6" and two fields),
// because net/http refuses the first and forwarding the second needs a repair.
type framing struct {
	length    int64 // -1: no Content-Length
	hasLength bool
	hasCoding bool
	coding    fault // what is wrong with Transfer-Encoding
}

// contentLength adds a Content-Length field.
func (f *framing) contentLength(value []byte) fault {
	if f.hasLength {
		return faultTwoLengths
	}
	f.hasLength = true
	const most = 19 // digits of the largest int64
	if len(value) == 0 || len(value) > most {
		return faultLength
	}
	n := uint64(0)
	for _, c := range value {
		if !isDigit(c) {
			return faultLength
		}
		n = n*10 + uint64(c-'0')
	}
	if n > math.MaxInt64 {
		return faultLength
	}
	f.length = int64(n)
	return fine
}

// transferEncoding adds a Transfer-Encoding field. Which of several faults is told
// has to wait for the other fields.
func (f *framing) transferEncoding(value []byte) {
	switch {
	case f.hasCoding:
		f.coding = faultCoding
	case !EqualFold(value, "chunked"):
		f.coding = codingFault(value)
	}
	f.hasCoding = true
}

// codingFault tells a message that is framed correctly with codings we do not
// implement (501, RFC 9112 section 6.1) from one whose framing is in doubt: an
// empty element, chunked not last, or chunked twice.
func codingFault(list []byte) fault {
	chunked, last := 0, false
	for more := true; more; {
		var coding []byte
		coding, list, more = NextElement(list)
		if len(coding) == 0 {
			return faultCoding
		}
		last = EqualFold(coding, "chunked")
		if last {
			chunked++
		}
	}
	if last && chunked == 1 {
		return faultUnknownCoding
	}
	return faultCoding
}

// check applies the rules on both fields together. HTTP/1.0 has no transfer
// codings: such a message was made or changed by something that does not
// understand what it forwards (RFC 9112 section 6.1).
func (f *framing) check(minor int) fault {
	switch {
	case f.hasCoding && f.hasLength:
		return faultLengthAndCoding
	case f.hasCoding && minor == 0:
		return faultCodingOn10
	}
	return f.coding
}

// declared returns what the fields say, without regard to what kind of message
// cannot have a body.
func (f *framing) declared() Framing {
	switch {
	case f.hasCoding:
		return FramingChunked
	case f.hasLength:
		return FramingLength
	}
	return FramingNone
}

// tabbed reports whether a tab stands beside the value of a field line. It is
// optional white space to the letter of the standard, but implementations were
// found that take "chunked<TAB>" for an unknown coding: around the two fields
// that delimit a message it is refused.
func tabbed(b []byte, l span) bool {
	for i := l.colon + 1; i < l.end && isBlank(b[i]); i++ {
		if b[i] == '\t' {
			return true
		}
	}
	for i := l.end - 1; i > l.colon && isBlank(b[i]); i-- {
		if b[i] == '\t' {
			return true
		}
	}
	return false
}
