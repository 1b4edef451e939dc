package http1

import "bytes"

// trailer collects a trailer section (RFC 9112 section 7.1.2). It is copied,
// because whoever reads a body reuses the buffer long before the trailer ends.
type trailer struct {
	scanner
	copied []byte
	fields []Field
}

func (t *trailer) reset() {
	t.restart(stLine)
	t.copied = t.copied[:0]
	t.fields = t.fields[:0]
}

// read consumes bytes of the section, to its end if src has it. The rules for
// field lines are those of a request head, on both sides of the proxy.
func (t *trailer) read(src []byte, limits Limits) (used int, f fault) {
	if t.pos == 0 && len(src) >= 2 && src[0] == '\r' && src[1] == '\n' {
		t.state = stDone // the common case needs no copy
		return 2, fine
	}
	limit := limits.trailer()
	for used < len(src) && t.state != stDone {
		// A line at a time, so that nothing behind the section is copied.
		piece := src[used:min(len(src), used+limit-len(t.copied))]
		if i := bytes.IndexByte(piece, '\n'); i >= 0 {
			piece = piece[:i+1]
		}
		t.copied = append(t.copied, piece...)
		used += len(piece)
		if f := t.scanFields(t.copied, limits.fields()); f != fine {
			return 0, f
		}
		if t.state != stDone && len(t.copied) >= limit {
			return 0, faultTrailerTooLarge
		}
	}
	if t.state == stDone {
		t.keep()
	}
	return used, fine
}

// keep parses the copy and drops the forbidden fields.
func (t *trailer) keep() {
	t.fields = t.scanner.fields(t.copied, t.fields[:0])
	kept := t.fields[:0]
	for _, f := range t.fields {
		if !ForbiddenTrailer(f.Name) {
			kept = append(kept, f)
		}
	}
	t.fields = kept
}

// forbiddenTrailers are the names that ForbiddenTrailer knows, by what they are
// for.
var forbiddenTrailers = func() map[string]bool {
	all := make(map[string]bool)
	for _, names := range [][]string{
		{"content-length", "transfer-encoding", "trailer", "te", "connection", // framing and the hop
			"keep-alive", "proxy-connection", "upgrade", "http2-settings"},
		{"host", "forwarded", "via", "max-forwards", "proxy", // routing, and who the client is
			"x-real-ip", "x-scheme", "x-request-id"},
		{"expect", "range", "cache-control", "pragma"}, // request modifiers
		{"authorization", "proxy-authorization", "proxy-authenticate", "www-authenticate", // authentication
			"cookie", "set-cookie"},
		{"age", "expires", "location", "retry-after", "vary", "warning"}, // response control
		{"content-encoding", "content-type", "content-range"},            // content format
	} {
		for _, name := range names {
			all[name] = true
		}
	}
	return all
}()

// forbiddenTrailerPrefixes extend the list: conditionals, and the families of
// fields that say where a request came from.
var forbiddenTrailerPrefixes = []string{"if-", "x-forwarded-", "x-original-"}

// ForbiddenTrailer reports whether a field must not be taken from a trailer
// section: it says something that had to be known before the body (RFC 9110
// section 6.5.1), and a recipient that merges trailers into the head would be
// told by it, after all checks, how to frame, route or trust the message.
func ForbiddenTrailer(name []byte) bool {
	var room [32]byte
	folded := room[:0]
	for _, c := range name[:min(len(name), len(room))] {
		folded = append(folded, lower(c))
	}
	for _, prefix := range forbiddenTrailerPrefixes {
		if len(folded) >= len(prefix) && string(folded[:len(prefix)]) == prefix {
			return true
		}
	}
	return len(name) <= len(room) && forbiddenTrailers[string(folded)]
}

// announcesFraming reports whether a Trailer field promises one of the fields that
// delimit messages. net/http refuses such a message, and rightly: it comes from
// someone who tries.
func announcesFraming(list []byte) bool {
	for more := true; more; {
		var name []byte
		name, list, more = NextElement(list)
		switch recognise(name) {
		case fieldContentLength, fieldTransferEncoding, fieldTrailer:
			return true
		}
	}
	return false
}
