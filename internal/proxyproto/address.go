package proxyproto

import (
	"bytes"
	"net/netip"
)

// The parsers of netip take strings, and a string made of the bytes of a header would
// be an allocation; the tests hold these here to the same verdicts, but for the
// zones, which have no place in a header.

// parseAddress reads an address of the one family or the other.
func parseAddress(b []byte, six bool) (netip.Addr, bool) {
	if six {
		return parseIPv6(b)
	}
	ip, ok := dotted(b)
	return netip.AddrFrom4(ip), ok
}

// dotted reads four decimal numbers without leading zeros: an IPv4 address.
func dotted(b []byte) (ip [4]byte, ok bool) {
	for i := range ip {
		end := len(b)
		if i < len(ip)-1 {
			if end = bytes.IndexByte(b, '.'); end < 0 {
				return ip, false
			}
		}
		n, ok := parseDecimal(b[:end], 255)
		if !ok {
			return ip, false
		}
		ip[i] = byte(n)
		b = b[min(end+1, len(b)):]
	}
	return ip, true
}

// parseIPv6 reads groups of up to four hexadecimal digits with one "::" at most. The
// last two groups may be an IPv4 address: so the C library writes mapped addresses,
// and with it load balancers that listen for both families on one socket. Of such an
// address the result is the IPv4 address.
func parseIPv6(b []byte) (netip.Addr, bool) {
	var ip [16]byte
	n, gap := 0, -1 // bytes so far, and how many of them stand before the "::"
	if len(b) >= 2 && b[0] == ':' && b[1] == ':' {
		gap, b = 0, b[2:]
	}
	for len(b) > 0 {
		value, digits := hexadecimal(b)
		switch {
		case n == len(ip), digits == 0:
			return netip.Addr{}, false
		case digits < len(b) && b[digits] == '.':
			last, ok := dotted(b)
			if !ok || n > len(ip)-len(last) {
				return netip.Addr{}, false
			}
			n += copy(ip[n:], last[:])
			return expand(ip, n, gap)
		}
		ip[n], ip[n+1] = byte(value>>8), byte(value)
		n += 2
		if b = b[digits:]; len(b) == 0 {
			break
		}
		if b[0] != ':' || len(b) == 1 {
			return netip.Addr{}, false
		}
		if b = b[1:]; b[0] == ':' {
			if gap >= 0 {
				return netip.Addr{}, false
			}
			gap, b = n, b[1:]
		}
	}
	return expand(ip, n, gap)
}

// hexadecimal reads up to four digits.
func hexadecimal(b []byte) (value uint16, digits int) {
	for digits < min(len(b), 4) {
		c := b[digits]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return value, digits
		}
		value = value<<4 | uint16(c)
		digits++
	}
	return value, digits
}

// expand puts the zeros of "::" between the bytes before and after it: one group at
// least.
func expand(ip [16]byte, n, gap int) (netip.Addr, bool) {
	if gap < 0 {
		return netip.AddrFrom16(ip).Unmap(), n == len(ip)
	}
	if n == len(ip) {
		return netip.Addr{}, false
	}
	tail := n - gap
	copy(ip[len(ip)-tail:], ip[gap:n])
	clear(ip[gap : len(ip)-tail])
	return netip.AddrFrom16(ip).Unmap(), true
}
