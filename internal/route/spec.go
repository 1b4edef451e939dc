package route

import (
	"fmt"
	"strconv"
)

// PathType says how the path of a route is compared, in the words of the
// networking.k8s.io/v1 Ingress API.
type PathType uint8

const (
	// Exact matches byte for byte.
	Exact PathType = iota
	// Prefix matches by whole path elements.
	Prefix
	// ImplementationSpecific is a plain string prefix, or a regular expression when
	// the route asks for one.
	ImplementationSpecific
)

var pathTypeWords = [...]string{"Exact", "Prefix", "ImplementationSpecific"}

// String returns the API's word for the path type.
func (p PathType) String() string { return word("PathType", pathTypeWords[:], uint8(p)) }

// ParsePathType reads the API's word for a path type. Case matters.
func ParsePathType(s string) (PathType, error) {
	n, err := parseWord("path type", pathTypeWords[:], s)
	return PathType(n), err
}

// Policy says how a backend spreads requests over its endpoints.
type Policy uint8

const (
	// RoundRobin takes turns; uneven weights are interleaved.
	RoundRobin Policy = iota
	// LeastConn takes the endpoint with the fewest requests in flight for its weight.
	LeastConn
	// Random draws with a probability proportional to the weight.
	Random
)

var policyWords = [...]string{"roundRobin", "leastConn", "random"}

// String returns the word that a route file uses for the policy.
func (p Policy) String() string { return word("Policy", policyWords[:], uint8(p)) }

// ParsePolicy reads a policy as a route file spells it. Case matters.
func ParsePolicy(s string) (Policy, error) {
	n, err := parseWord("policy", policyWords[:], s)
	return Policy(n), err
}

// Protocol says what is spoken to the endpoints of a backend.
type Protocol uint8

const (
	// HTTP is HTTP/1.1 in clear text.
	HTTP Protocol = iota
	// GRPC is HTTP/2 in clear text with prior knowledge (RFC 9113 §3.3).
	GRPC
)

var protocolWords = [...]string{"HTTP", "GRPC"}

// String returns the word that a route file uses for the protocol.
func (p Protocol) String() string { return word("Protocol", protocolWords[:], uint8(p)) }

// ParseProtocol reads a protocol as a route file spells it. Case matters.
func ParseProtocol(s string) (Protocol, error) {
	n, err := parseWord("protocol", protocolWords[:], s)
	return Protocol(n), err
}

// CertID is the identity of certificate contents: 64 bits of a hash, so that equal
// contents of the same Secret are the same certificate in every generation.
type CertID uint64

// String returns 16 hexadecimal digits.
func (id CertID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// ParseCertID reads what [CertID.String] prints: exactly 16 hexadecimal digits.
func ParseCertID(s string) (CertID, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil || len(s) != 16 {
		return 0, fmt.Errorf("certificate id %q is not 16 hexadecimal digits", s)
	}
	return CertID(n), nil
}

// Spec is everything a compiler says about one generation, as plain data. The order
// of the lists has no meaning.
type Spec struct {
	Backends []BackendSpec
	Routes   []RouteSpec
	Certs    []CertSpec
	// Hosts are claimed even if no route is for them: what asks for such a host goes to
	// the default backend and not to a wildcard host.
	Hosts []string
	// DefaultBackend names the backend of requests that no route takes; "" is none.
	DefaultBackend string
}

// BackendSpec describes one backend. Name is its identity over generations.
type BackendSpec struct {
	Name      string
	Policy    Policy
	Protocol  Protocol
	Endpoints []EndpointSpec
}

// EndpointSpec describes one endpoint of a backend.
type EndpointSpec struct {
	// Address is host:port, with an IPv6 host in brackets.
	Address string
	// Weight is the endpoint's share relative to its siblings; 0 drains it.
	Weight int
}

// RouteSpec describes one route.
type RouteSpec struct {
	// Host is an exact name, "*.name" for exactly one label more, or "" for any.
	Host string
	// Path is a path, or a regular expression when Regex is set; "" means "/".
	Path     string
	PathType PathType
	// Regex makes an ImplementationSpecific path a case-insensitive regular
	// expression, anchored at the start.
	Regex   bool
	Backend string
	Canary  *CanarySpec
	Mirror  *MirrorSpec
	// Created is when the owning object was created, in Unix nanoseconds: ties and
	// duplicates go to the older. 0 where objects have no age.
	Created int64
	// Owner is the owning object's "namespace/name", the next tie-breaker.
	Owner string
}

// CanarySpec describes a second backend that takes a share of a route. The rules are
// asked in the order header, cookie, weight.
type CanarySpec struct {
	Backend string
	// Weight of WeightTotal is the share; a total below 100 means 100.
	Weight, WeightTotal int
	// Header names a request header; "" is no header rule.
	Header string
	// HeaderValue is the exact value that goes to the canary; "" leaves the literals
	// "always" and "never", or HeaderPattern.
	HeaderValue string
	// HeaderPattern is an unanchored RE2 expression, not used beside a HeaderValue.
	HeaderPattern string
	// Cookie names a cookie whose values "always" and "never" decide; "" is none.
	Cookie string
}

// MirrorSpec describes a backend that gets copies of a route's requests.
type MirrorSpec struct {
	Backend string
	// Percent of the requests that are copied, 0 to 100; 0 is configured but silent.
	Percent int
	// Host replaces the Host of the copies; "" keeps the client's.
	Host string
}

// CertSpec claims a host for a certificate.
type CertSpec struct {
	// Host is as in [RouteSpec], but "" and "*" are the default certificate.
	Host string
	ID   CertID
	// Created and Owner settle two claims on one host, as for routes.
	Created int64
	Owner   string
}

// word prints an enum value, and a value outside the enum in a way that shows it.
func word(kind string, words []string, n uint8) string {
	if int(n) < len(words) {
		return words[n]
	}
	return fmt.Sprintf("%s(%d)", kind, n)
}

// parseWord is the inverse of word for the values of the enum.
func parseWord(kind string, words []string, s string) (uint8, error) {
	for i, w := range words {
		if w == s {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q: known are %q", kind, s, words)
}
