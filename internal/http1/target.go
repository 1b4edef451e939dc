package http1

import "bytes"

// TargetForm is the form of a request target (RFC 9112 section 3.2).
type TargetForm uint8

const (
	// OriginForm is a path with an optional query.
	OriginForm TargetForm = iota
	// AbsoluteForm is an http or https URL. Which of the two is not acted on: what
	// the client connected to decides.
	AbsoluteForm
	// AuthorityForm is host:port, with CONNECT and only there.
	AuthorityForm
	// AsteriskForm is "*", with OPTIONS and only there.
	AsteriskForm
)

var slash = []byte("/")

// parseTarget splits Target into its parts. What passes, net/url's
// ParseRequestURI accepts.
func (h *RequestHead) parseTarget() fault {
	switch {
	case string(h.Method) == "CONNECT":
		h.Form = AuthorityForm
		h.Host = h.Target
		if port, ok := splitAuthority(h.Target); !ok || len(port) == 0 {
			return faultTarget
		}
		return fine
	case h.Target[0] == '/':
		return h.parsePath(h.Target)
	case len(h.Target) == 1 && h.Target[0] == '*':
		h.Form = AsteriskForm
		h.Path = h.Target
		if string(h.Method) != "OPTIONS" {
			return faultTarget
		}
		return fine
	}
	return h.parseURL()
}

// parseURL reads the absolute form. A URL without a path asks for "/", also with
// OPTIONS: only the last of a chain of forward proxies, which this is not, turns
// that into "*" (RFC 9112 section 3.2.4).
func (h *RequestHead) parseURL() fault {
	scheme, rest, ok := bytes.Cut(h.Target, []byte("://"))
	if !ok {
		return faultTarget
	}
	if !EqualFold(scheme, "http") && !EqualFold(scheme, "https") {
		return faultScheme
	}
	h.Form = AbsoluteForm
	end := bytes.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	h.Host = rest[:end:end]
	if bytes.IndexByte(h.Host, '@') >= 0 {
		return faultUserinfo
	}
	// An http URL without a host is to be refused: RFC 9110 section 4.2.1.
	if len(h.Host) == 0 || !validAuthority(h.Host) {
		return faultHost
	}
	return h.parsePath(rest[end:])
}

// parsePath splits path and query. A percent sign in the path has to begin an
// encoded byte; in the query, where many clients send it raw and nothing here
// decodes, it may be anything.
func (h *RequestHead) parsePath(b []byte) fault {
	h.Path = b
	if q := bytes.IndexByte(b, '?'); q >= 0 {
		h.Path = b[:q:q]
		h.Query, h.HasQuery = b[q+1:], true
	}
	for rest := h.Path; ; {
		i := bytes.IndexByte(rest, '%')
		if i < 0 {
			break
		}
		if len(rest) < i+3 || class[rest[i+1]]&class[rest[i+2]]&classHex == 0 {
			return faultTarget
		}
		rest = rest[i+3:]
	}
	if len(h.Path) == 0 {
		h.Path = slash
	}
	return fine
}

// validAuthority reports whether b is a host with an optional port (RFC 3986
// section 3.2, without userinfo), as a request to a web server can name it: no
// percent-encoding, no zone, no future kind of address, a port below 65536.
// Nothing that an Ingress can name is lost by that, and decoding, which
// implementations do at different times, cannot change the host.
func validAuthority(b []byte) bool {
	_, ok := splitAuthority(b)
	return ok
}

// splitAuthority finds the port, empty when there is none.
func splitAuthority(b []byte) (port []byte, ok bool) {
	end := 0
	if len(b) > 0 && b[0] == '[' {
		end = bytes.IndexByte(b, ']')
		if end < 0 || !validIPv6(b[1:end]) {
			return nil, false
		}
		end++
	} else {
		for end < len(b) && class[b[end]]&classHost != 0 {
			end++
		}
	}
	if end == 0 || end < len(b) && b[end] != ':' {
		return nil, false
	}
	if end < len(b) {
		port = b[end+1:]
	}
	return port, validPort(port)
}

// validPort accepts the empty port, which means the default one.
func validPort(b []byte) bool {
	n := 0
	for _, c := range b {
		if !isDigit(c) {
			return false
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return false
		}
	}
	return true
}

// validIPv6 reports whether b is an IPv6 address in text form (RFC 4291 section
// 2.2): eight groups, "::" once for at least one of them, the last two perhaps as
// IPv4.
func validIPv6(b []byte) bool {
	groups, gap := 0, false
	if len(b) >= 2 && b[0] == ':' && b[1] == ':' {
		gap, b = true, b[2:]
	}
	for len(b) > 0 {
		n := 0
		for n < len(b) && class[b[n]]&classHex != 0 {
			n++
		}
		if n < len(b) && b[n] == '.' {
			groups += 2
			return validIPv4(b) && complete(groups, gap)
		}
		if n == 0 || n > 4 {
			return false
		}
		groups++
		b = b[n:]
		switch {
		case len(b) == 0:
		case b[0] != ':' || len(b) == 1:
			return false
		case b[1] == ':' && gap:
			return false
		case b[1] == ':':
			gap, b = true, b[2:]
		default:
			b = b[1:]
		}
	}
	return complete(groups, gap)
}

// complete: "::" stands for one group at least.
func complete(groups int, gap bool) bool { return groups == 8 && !gap || groups < 8 && gap }

// validIPv4 reports whether b is four decimal bytes without leading zeros.
func validIPv4(b []byte) bool {
	for part := 0; ; part++ {
		n, value := 0, 0
		for n < len(b) && n < 4 && isDigit(b[n]) {
			value = value*10 + int(b[n]-'0')
			n++
		}
		if n == 0 || value > 255 || n > 1 && b[0] == '0' {
			return false
		}
		b = b[n:]
		if part == 3 {
			return len(b) == 0
		}
		if len(b) == 0 || b[0] != '.' {
			return false
		}
		b = b[1:]
	}
}
