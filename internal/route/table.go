package route

import "slices"

// Table is one compiled generation of routes, backends and certificate claims. It is
// immutable and safe for any number of readers. A nil Table has nothing in it.
type Table struct {
	hosts    names[*group]
	groups   []*group // all of hosts and the hostless one, sorted by host
	any      *group   // rules without a host; nil when there are none
	star     *Route   // answers the target "*"; nil when only fallback can
	fallback *Route   // leads to the default backend; nil when there is none
	backends []*Backend
	unknown  []*Backend // named by routes, not described; sorted by name
	certs    *certTable
	digest   string
}

// Route is one compiled route. It is immutable.
type Route struct {
	// Host is in lower case: a name, "*.name", or "" for any.
	Host string
	// Path is in normal form, or the text of a regular expression.
	Path     string
	Backend  *Backend // never nil
	Canary   *Canary  // nil is none
	Mirror   *Mirror  // nil is none
	Counters *Counters
	PathType PathType
	Regex    bool

	fallback bool
	pattern  *pattern // of a regular expression
}

// Default reports that this is the route to the default backend, which has no host
// and no path.
func (r *Route) Default() bool { return r.fallback }

// String returns "host path -> backend", with "*" for no host, and "default -> backend"
// for the default route.
func (r *Route) String() string {
	if r.fallback {
		return "default -> " + r.Backend.Name
	}
	return r.where() + " -> " + r.Backend.Name
}

// where returns "host path".
func (r *Route) where() string {
	if r.Host == "" {
		return "* " + r.Path
	}
	return r.Host + " " + r.Path
}

func (r *Route) kind() pathKind { return kindOf(r.PathType, r.Regex) }

// Match returns the route of a request: nil is no route at all, which is a 404. The
// host is chosen first, then a path within that host only; where the host's rules have
// no such path the default route answers, never a less specific host.
//
// authority is what the client sent, in any case, with or without port; one that
// [NormalizeHost] refuses has no host and finds rules without a host only. path is what
// [NormalizePath] returned. The target "*" belongs to the server and to no host: it
// goes to the rule without a host that takes every path, or to the default route.
//
// The time taken does not depend on the number of hosts, and hardly on the number of
// paths of the host, except for its regular expressions. Nothing is allocated.
func (t *Table) Match(authority, path string) *Route {
	if t == nil {
		return nil
	}
	if path == "*" {
		if t.star != nil {
			return t.star
		}
		return t.fallback
	}
	// An authority that is a configured host byte for byte is normal already, and nearly
	// all are.
	g, ok := t.hosts.exact[authority]
	if !ok {
		g = t.group(authority)
	}
	if g != nil {
		if r := g.match(path); r != nil {
			return r
		}
	}
	return t.fallback
}

// group chooses the host of an authority that is not normal or not configured.
func (t *Table) group(authority string) *group {
	if len(authority) > 0 && authority[0] == '[' {
		var buf [maxHost]byte
		if literal, ok := appendLiteral(buf[:0], authority); ok {
			if g, ok := t.hosts.exact[string(literal)]; ok {
				return g
			}
		}
		return t.any
	}
	if host, ok := stripPort(authority); ok {
		if g, ok := t.hosts.find(host); ok {
			return g
		}
	}
	return t.any
}

// rules returns the group of a configured host, nil when there is none.
func (t *Table) rules(host string) *group {
	if t == nil {
		return nil
	}
	if host == "" {
		return t.any
	}
	return t.hosts.rule(host)
}

// Certificate resolves the server name of a handshake: the exact name, then the
// wildcard one label up, then the default certificate. Case and one trailing dot do not
// matter. ok is false when there is none, which fails the handshake. Nothing is allocated.
func (t *Table) Certificate(serverName string) (id CertID, ok bool) {
	if t == nil {
		return 0, false
	}
	return t.certs.find(serverName)
}

// Routes returns the routes sorted by host and, within a host, in the order in which
// they are asked; the default route is not among them. The slice is new, the routes are
// shared.
func (t *Table) Routes() []*Route {
	if t == nil {
		return nil
	}
	n := 0
	for _, g := range t.groups {
		n += len(g.routes)
	}
	routes := make([]*Route, 0, n)
	for _, g := range t.groups {
		routes = append(routes, g.routes...)
	}
	return routes
}

// Hosts returns the named hosts, sorted. Rules without a host have none.
func (t *Table) Hosts() []string {
	if t == nil {
		return nil
	}
	hosts := make([]string, 0, len(t.groups))
	for _, g := range t.groups {
		if g.host != "" {
			hosts = append(hosts, g.host)
		}
	}
	return hosts
}

// Backends returns the backends that the Spec describes, sorted by name. The slice is new.
func (t *Table) Backends() []*Backend {
	if t == nil {
		return nil
	}
	return slices.Clone(t.backends)
}

// Certs returns the claims in effect, sorted by host; "*" is the default certificate.
// The slice is new.
func (t *Table) Certs() []CertSpec {
	if t == nil {
		return nil
	}
	certs := make([]CertSpec, len(t.certs.list))
	for i, claim := range t.certs.list {
		certs[i] = *claim
	}
	return certs
}

// DefaultBackend returns the backend of requests without a route; nil is none.
func (t *Table) DefaultBackend() *Backend {
	if t == nil || t.fallback == nil {
		return nil
	}
	return t.fallback.Backend
}

// Digest returns the first 16 hexadecimal digits of the SHA-256 of [Table.Text]. Two
// tables with one digest do the same.
func (t *Table) Digest() string {
	if t == nil {
		return ""
	}
	return t.digest
}
