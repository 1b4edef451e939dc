package reactor

import (
	"net/http"
	"strconv"
	"unsafe"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
)

// What messages look like one hop further: heads in, bytes out. Nothing here knows of
// sockets.

// text is b as a string that shares its memory: it is good for as long as b is.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// known is the longest name of a field that any rule knows.
const known = 32

// canonical is a name in the spelling that the rules of package engine use, in room.
// A name too long for it is known to no rule, and comes back as it is.
func canonical(name []byte, room *[known]byte) string {
	if len(name) > known {
		return text(name)
	}
	upper := true
	for i, c := range name {
		switch {
		case upper && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		case !upper && 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		room[i] = c
		upper = c == '-'
	}
	return text(room[:len(name)])
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ':', ' ')
	b = append(b, value...)
	return append(b, '\r', '\n')
}

// appendStatus appends a status line. The reason phrase is the standard's, not the
// backend's: it means nothing (RFC 9112 section 4), and net/http does it so.
func appendStatus(b []byte, minor, status int) []byte {
	if minor == 0 {
		b = append(b, "HTTP/1.0 "...)
	} else {
		b = append(b, "HTTP/1.1 "...)
	}
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, ' ')
	if reason := http.StatusText(status); reason != "" {
		b = append(b, reason...)
	} else {
		b = append(b, "status code "...)
		b = strconv.AppendInt(b, int64(status), 10)
	}
	return append(b, '\r', '\n')
}

// appendPassing appends the fields of a response that may pass, without its length.
func appendPassing(b []byte, h *http1.ResponseHead) []byte {
	var room [known]byte
	for i := range h.Fields {
		f := &h.Fields[i]
		if engine.ResponseField(canonical(f.Name, &room)) != engine.FieldForward || h.Nominated(f.Name) {
			continue
		}
		b = append(b, f.Name...)
		b = append(b, ':', ' ')
		b = append(b, f.Value...)
		b = append(b, '\r', '\n')
	}
	return b
}

// appendNominations appends what the Connection fields of a response list, if they name
// more than hop-by-hop fields: trailers have to be held against it when the head is
// gone.
func appendNominations(b []byte, h *http1.ResponseHead) []byte {
	if !h.Nominates {
		return b
	}
	for i := range h.Fields {
		if http1.EqualFold(h.Fields[i].Name, "Connection") {
			b = append(b, h.Fields[i].Value...)
			b = append(b, ',')
		}
	}
	return b
}

// appendTrailers appends the trailer fields of a response that may pass.
func appendTrailers(b []byte, fields []http1.Field, nominated []byte) []byte {
	var room [known]byte
	for i := range fields {
		f := &fields[i]
		if engine.ResponseField(canonical(f.Name, &room)) == engine.FieldDrop || http1.HasToken(nominated, text(f.Name)) {
			continue
		}
		b = appendField(b, text(f.Name), text(f.Value))
	}
	return b
}

// appendChunk appends a piece of a body in the chunked coding. An empty piece would be
// the end and is none.
func appendChunk(b, piece []byte) []byte {
	if len(piece) == 0 {
		return b
	}
	b = strconv.AppendUint(b, uint64(len(piece)), 16)
	b = append(b, '\r', '\n')
	b = append(b, piece...)
	return append(b, '\r', '\n')
}

// room for the framing of one chunk.
const chunkFraming = 8 + 2 + 2
