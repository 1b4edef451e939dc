package engine

import (
	"net/netip"
	"strings"
)

// Trust is the set of networks whose forwarding headers are believed. The zero
// value trusts nobody. It is immutable.
type Trust struct {
	networks []netip.Prefix
}

// NewTrust returns a Trust of these networks.
func NewTrust(networks []netip.Prefix) Trust {
	return Trust{networks: networks}
}

// Trusts reports whether addr lies in one of the networks. An IPv4-mapped IPv6
// address counts as the IPv4 address that it is.
func (t Trust) Trusts(addr netip.Addr) bool {
	if len(t.networks) == 0 {
		return false
	}
	addr = addr.Unmap().WithZone("")
	for _, n := range t.networks {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// Client returns the address of the client that a peer speaks for: the peer
// itself unless it is trusted, else the rightmost entry of X-Forwarded-For
// that is not trusted. When every entry is trusted the leftmost is the client;
// an entry that is no address ends the walk, because what stands left of it was
// written by nobody we know.
func (t Trust) Client(peer netip.Addr, forwardedFor string) netip.Addr {
	client := peer
	for t.Trusts(client) && forwardedFor != "" {
		var last string
		if i := strings.LastIndexByte(forwardedFor, ','); i >= 0 {
			forwardedFor, last = forwardedFor[:i], forwardedFor[i+1:]
		} else {
			forwardedFor, last = "", forwardedFor
		}
		addr, ok := parseForwardedAddr(strings.Trim(last, " \t"))
		if !ok {
			break
		}
		client = addr
	}
	return client
}

// parseForwardedAddr reads an address as found in X-Forwarded-For: bare, with a
// port, or an IPv6 literal in brackets.
func parseForwardedAddr(s string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(s); err == nil {
		return addr.Unmap(), true
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap(), true
	}
	if len(s) > 2 && s[0] == '[' && s[len(s)-1] == ']' {
		if addr, err := netip.ParseAddr(s[1 : len(s)-1]); err == nil {
			return addr.Unmap(), true
		}
	}
	return netip.Addr{}, false
}
