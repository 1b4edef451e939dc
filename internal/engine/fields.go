package engine

import "strings"

// FieldRule says what a hop does with a field of a message head.
type FieldRule uint8

const (
	// FieldForward passes the field on as it is.
	FieldForward FieldRule = iota
	// FieldDrop never passes the field on: it belongs to one hop (RFC 9110
	// §7.6.1) or must not reach a backend.
	FieldDrop
	// FieldOwn is a field that this hop writes itself (framing, Host,
	// forwarding, request id); the sender's is an input at most.
	FieldOwn
)

// RequestField is the rule for a request field, by its canonical name
// (net/textproto spelling).
func RequestField(name string) FieldRule {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Te", "Transfer-Encoding", "Upgrade",
		"Trailer", "Proxy-Authorization", "Proxy-Authenticate", "Http2-Settings",
		"Proxy": // httpoxy: a CGI backend would read it as HTTP_PROXY
		return FieldDrop
	case "Host", "Content-Length", "Expect",
		"X-Forwarded-For", "X-Real-Ip", "X-Forwarded-Proto", "X-Forwarded-Scheme", "X-Scheme",
		"X-Forwarded-Host", "X-Forwarded-Port", "X-Original-Forwarded-For", "Forwarded", "X-Request-Id":
		return FieldOwn
	}
	return FieldForward
}

// ResponseField is the rule for a response field, by its canonical name.
func ResponseField(name string) FieldRule {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Te", "Transfer-Encoding", "Upgrade",
		"Trailer", "Proxy-Authenticate", "Proxy-Authorization":
		return FieldDrop
	case "Content-Length":
		return FieldOwn
	case "X-Ramjet-Unsupported": // says that this hop refused; a backend must not say it
		return FieldDrop
	}
	return FieldForward
}

// HasToken reports whether a comma-separated list holds token, in any case
// (RFC 9110 §5.6.1).
func HasToken(list, token string) bool {
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		if strings.EqualFold(strings.Trim(item, " \t"), token) {
			return true
		}
	}
	return false
}

// NamesToken is HasToken over several fields of one name.
func NamesToken(fields []string, token string) bool {
	for _, f := range fields {
		if HasToken(f, token) {
			return true
		}
	}
	return false
}

// OffersH2C reports whether a list of protocols (RFC 9110 §7.8) has h2c, in any version.
func OffersH2C(list string) bool {
	for list != "" {
		var protocol string
		protocol, list, _ = strings.Cut(list, ",")
		name, _, _ := strings.Cut(strings.Trim(protocol, " \t"), "/")
		if strings.EqualFold(name, "h2c") {
			return true
		}
	}
	return false
}

// KeepRequestID reports whether a client's X-Request-Id is sane: 1 to 128
// printable ASCII characters.
func KeepRequestID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}
