package route

import (
	"errors"
	"net/netip"
	"strings"
)

// maxHost is the longest name the DNS can hold, in its text form without the final
// dot. No rule may be longer, so a longer request host matches none.
const maxHost = 253

// NormalizeHost puts the authority of a request into the form that hosts are compared
// in: without port, without one trailing dot, in ASCII lower case. An IPv6 literal
// keeps its brackets and takes its shortest form (RFC 5952). ok is false when
// authority is no host: empty, with user information, a port that is no number, a
// list, a percent sequence, or a byte that RFC 3986 §3.2.2 does not allow; a caller
// answers 400 then. A second trailing dot is refused as well: what a normal form says
// must not change when it is normalised again. A name that is already normal is returned
// without a copy.
func NormalizeHost(authority string) (host string, ok bool) {
	if strings.HasPrefix(authority, "[") {
		var buf [maxHost]byte
		b, ok := appendLiteral(buf[:0], authority)
		if ok && strings.HasPrefix(authority, string(b)) {
			return authority[:len(b)], true
		}
		return string(b), ok
	}
	host, ok = stripPort(authority)
	return strings.ToLower(host), ok
}

// stripPort removes port and one trailing dot from an authority that is no IPv6
// literal, and checks every byte on the way.
func stripPort(authority string) (host string, ok bool) {
	end := 0
	for end < len(authority) && isHostByte[authority[end]] {
		end++
	}
	host = strings.TrimSuffix(authority[:end], ".")
	if host == "" || host[len(host)-1] == '.' || !isPortSuffix(authority[end:]) {
		return "", false
	}
	return host, true
}

// appendLiteral appends the shortest form of an authority that starts with an IPv6
// literal. Zones are refused: they mean something on one machine only (RFC 6874 §1).
func appendLiteral(dst []byte, authority string) ([]byte, bool) {
	end := strings.IndexByte(authority, ']')
	if end < 0 || !isPortSuffix(authority[end+1:]) {
		return nil, false
	}
	addr, err := netip.ParseAddr(authority[1:end])
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return nil, false
	}
	return append(addr.AppendTo(append(dst, '[')), ']'), true
}

// isPortSuffix accepts nothing, a bare colon (RFC 9110 §4.2.3: an empty port equals
// none) and a colon with a decimal number that fits a port.
func isPortSuffix(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' {
		return false
	}
	port := 0
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
		if port = port*10 + int(s[i]-'0'); port > 65535 {
			return false
		}
	}
	return true
}

// isHostByte holds what a reg-name may contain: unreserved characters and sub-delims
// (RFC 3986 §3.2.2) without the comma, because a list is what an intermediary makes of
// two Host fields, and without percent sequences, because they spell one name in many
// ways and nobody agrees on decoding them.
var isHostByte = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+;=")

func byteSet(members string) (set [256]bool) {
	for i := range len(members) {
		set[members[i]] = true
	}
	return set
}

// ruleHost checks a configured host and returns it in lower case. Nothing is repaired:
// a host that only nearly makes sense would match something its author did not mean.
func ruleHost(s string) (string, error) {
	if strings.HasPrefix(s, "[") {
		host, ok := NormalizeHost(s)
		if !ok || !strings.HasSuffix(s, "]") {
			return "", errors.New("is not an IPv6 address in brackets without a port")
		}
		return host, nil
	}
	name := strings.TrimPrefix(s, "*.")
	switch {
	case len(s) > maxHost:
		return "", errors.New("is longer than a DNS name can be")
	case strings.ContainsAny(s, "/?#"):
		return "", errors.New("contains a path; a host is a name only")
	case strings.Contains(s, ":"):
		return "", errors.New("contains a port; every port of a name is routed alike")
	case strings.Contains(name, "*"):
		return "", errors.New(`has a misplaced "*": a wildcard is "*." followed by a name`)
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" {
			return "", errors.New("has an empty label")
		}
		for i := range len(label) {
			if !isLabelByte[label[i]] {
				return "", errors.New("contains a character that no host name has (write international names in their xn-- form)")
			}
		}
	}
	return strings.ToLower(s), nil
}

// isLabelByte is what a configured name may contain. The underscore is no letter of a
// host name, but names with it are in use.
var isLabelByte = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")

// names maps host names to values with the one precedence that routes and
// certificates share: the exact name, then the wildcard of its parent.
type names[V any] struct {
	exact map[string]V // by name
	wild  map[string]V // by what follows the "*" of the rule: ".w.test"
}

func newNames[V any](size int) names[V] {
	return names[V]{exact: make(map[string]V, size), wild: map[string]V{}}
}

// put sets the value of a configured host.
func (n names[V]) put(host string, v V) {
	if suffix, ok := strings.CutPrefix(host, "*"); ok {
		n.wild[suffix] = v
		return
	}
	n.exact[host] = v
}

// rule returns the value of a configured host, itself and not what it would match.
func (n names[V]) rule(host string) V {
	if suffix, ok := strings.CutPrefix(host, "*"); ok {
		return n.wild[suffix]
	}
	return n.exact[host]
}

// find resolves a name of any case, without port and trailing dot. It does not
// allocate: lower case is written into a buffer on the stack.
func (n names[V]) find(host string) (v V, ok bool) {
	if len(host) > maxHost {
		return v, false
	}
	var buf [maxHost]byte
	lower := appendLower(buf[:0], host)
	if v, ok = n.exact[string(lower)]; ok {
		return v, true
	}
	return n.findParent(lower)
}

// findParent resolves the wildcard one label up. The label must be one: the parent of
// ".w.test" is nothing, and a literal "*" is a rule's word, not a name.
func (n names[V]) findParent(lower []byte) (v V, ok bool) {
	for i, c := range lower {
		if c != '.' {
			continue
		}
		if i == 0 || string(lower[:i]) == "*" {
			return v, false
		}
		v, ok = n.wild[string(lower[i:])]
		return v, ok
	}
	return v, false
}

// appendLower appends s in ASCII lower case.
func appendLower(dst []byte, s string) []byte {
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}
