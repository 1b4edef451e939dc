package http1

import "bytes"

// maxOptions bounds what Connection fields list in all, empty elements included
// (RFC 9110 section 5.6.1.2 wants a reasonable number of those ignored). Each
// option is compared with each field when a head is forwarded: without a bound, a
// head of 64 KiB could ask for millions of comparisons.
const maxOptions = 64

// options collects what Connection and Upgrade fields say.
type options struct {
	close, keep bool // Connection: close, keep-alive
	named       bool // Connection: upgrade
	others      bool // Connection names something that HopByHop does not
	offered     bool // Upgrade has a value
	h2c         bool // Upgrade has h2c
	count       int
}

// connection adds a Connection field (RFC 9110 section 7.6.1). An option that is
// no token names no field and is ignored.
func (o *options) connection(list []byte) fault {
	for more := true; more; {
		var option []byte
		option, list, more = NextElement(list)
		if o.count++; o.count > maxOptions {
			return faultOptions
		}
		switch {
		case len(option) == 0:
		case EqualFold(option, "close"):
			o.close = true
		case EqualFold(option, "keep-alive"):
			o.keep = true
		case EqualFold(option, "upgrade"):
			o.named = true
		case !HopByHop(option):
			o.others = true
		}
	}
	return fine
}

// upgrade adds an Upgrade field (RFC 9110 section 7.8).
func (o *options) upgrade(list []byte) {
	for more := true; more; {
		var protocol []byte
		protocol, list, more = NextElement(list)
		o.offered = o.offered || len(protocol) > 0
		name, _, _ := bytes.Cut(protocol, slash) // a version may follow
		o.h2c = o.h2c || EqualFold(name, "h2c")
	}
}

// keepAlive applies RFC 9112 section 9.3: close wins, HTTP/1.1 persists unless
// told otherwise, HTTP/1.0 only when asked to.
func (o *options) keepAlive(minor int) bool {
	return !o.close && (minor > 0 || o.keep)
}

// HopByHop reports whether the field belongs to one connection and is never
// forwarded, whether or not Connection names it (RFC 9110 section 7.6.1, and what
// older standards added: Proxy-Authenticate and its kin, HTTP2-Settings). TE,
// Upgrade and Transfer-Encoding are among them; what takes their place on the next
// hop is the caller's decision. Trailer is not: it describes the message.
func HopByHop(name []byte) bool {
	switch len(name) {
	case 2:
		return EqualFold(name, "te")
	case 7:
		return EqualFold(name, "upgrade")
	case 10:
		return EqualFold(name, "connection") || EqualFold(name, "keep-alive")
	case 14:
		return EqualFold(name, "http2-settings")
	case 16:
		return EqualFold(name, "proxy-connection")
	case 17:
		return EqualFold(name, "transfer-encoding")
	case 18:
		return EqualFold(name, "proxy-authenticate")
	case 19:
		return EqualFold(name, "proxy-authorization")
	}
	return false
}

// nominated reports whether any Connection field names the field.
func nominated(fields []Field, name []byte) bool {
	for i := range fields {
		if recognise(fields[i].Name) != fieldConnection {
			continue
		}
		list := fields[i].Value
		for more := true; more; {
			var option []byte
			option, list, more = NextElement(list)
			if equalFoldBytes(option, name) {
				return true
			}
		}
	}
	return false
}

func equalFoldBytes(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}
