package engine

import (
	"net/netip"
	"strings"
)

// Claims are the forwarding fields that a request arrived with; "" is absent.
// Several fields of one name are joined by ", " in order (RFC 9110 §5.3).
type Claims struct {
	For, Proto, Scheme, XScheme, Host, Port, OriginalFor, Forwarded string
}

// Forwarding are the forwarding fields that go upstream; "" is not sent.
type Forwarding struct {
	// For is X-Forwarded-For, RealIP is X-Real-IP.
	For, RealIP string
	// Proto, Scheme and XScheme are X-Forwarded-Proto, X-Forwarded-Scheme and
	// X-Scheme; Host and Port are X-Forwarded-Host and X-Forwarded-Port.
	Proto, Scheme, XScheme, Host, Port string
	// OriginalFor is X-Original-Forwarded-For: what an untrusted peer claimed.
	OriginalFor string
	// Forwarded is the Forwarded field of RFC 7239, kept from trusted peers only.
	Forwarded string
}

// Forward decides the forwarding fields (docs/routing.md, "Headers on the way
// in"). peer is the address at the other end of the connection, peerText its
// text (so that callers can keep one string per connection), authority the Host
// as sent.
func (t Trust) Forward(peer netip.Addr, peerText, authority string, secure bool, c Claims) Forwarding {
	trusted := t.Trusts(peer)
	scheme := "http"
	if secure {
		scheme = "https"
	}
	if trusted && c.Proto != "" {
		scheme = c.Proto // what is not claimed has to fit what is
	}
	port := portOf(authority)
	switch {
	case port != "":
	case strings.EqualFold(scheme, "https"): // whoever is trusted may spell it as he likes
		port = "443"
	default:
		port = "80"
	}
	own := Forwarding{
		For: peerText, RealIP: peerText,
		Proto: scheme, Scheme: scheme, XScheme: scheme,
		Host: authority, Port: port,
	}
	if !trusted {
		own.OriginalFor = c.For
		return own
	}
	if c.For != "" {
		own.For = c.For + ", " + peerText
		if client := t.Client(peer, c.For); client != peer {
			own.RealIP = client.String()
		}
	}
	keep(&own.Proto, c.Proto)
	keep(&own.Scheme, c.Scheme)
	keep(&own.XScheme, c.XScheme)
	keep(&own.Host, c.Host)
	keep(&own.Port, c.Port)
	own.OriginalFor = c.OriginalFor
	own.Forwarded = c.Forwarded
	return own
}

func keep(own *string, claim string) {
	if claim != "" {
		*own = claim
	}
}

// portOf returns the port of an authority, "" when it names none.
func portOf(authority string) string {
	i := strings.LastIndexByte(authority, ':')
	if i < 0 || strings.IndexByte(authority[i:], ']') >= 0 {
		return ""
	}
	return authority[i+1:]
}
