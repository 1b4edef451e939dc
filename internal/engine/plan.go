package engine

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"strings"

	"ramjet.dev/ingress/internal/route"
)

// Request is what routing needs to know of a request.
type Request struct {
	Method string
	// Target is the request target as sent: origin, absolute or asterisk form
	// (RFC 9112 §3.2).
	Target string
	// Host is the Host field or :authority as sent.
	Host string
	// HostOptional is set for HTTP/1.0, which may leave Host out.
	HostOptional bool
	// OriginForm is set for HTTP/2, which has no absolute form (RFC 9113 §8.3.1).
	OriginForm bool
	// Peer is the other end of the connection.
	Peer netip.Addr
	// Fields answers the canary rules' questions.
	Fields route.Fields
}

// Plan is what happens to a request, decided before a byte goes upstream and
// against one table, whatever is published meanwhile.
type Plan struct {
	Route *route.Route
	// Backend is the route's or its canary's.
	Backend *route.Backend
	// Canary is set when the canary side answers.
	Canary bool
	// Target is the request target that goes upstream, in origin or asterisk form.
	Target string
	// Authority is the Host that goes upstream: as sent, or the authority of an
	// absolute-form target (RFC 9112 §3.2.2); empty for an HTTP/1.0 request without
	// one.
	Authority string
}

// NewPlan routes a request. When the request cannot be routed the Reply says
// why; the Plan then holds what was known. No route is a Reply, no endpoint is
// not: that is found out when one is picked.
func NewPlan(t *route.Table, q *Request) (Plan, *Reply) {
	p := Plan{Target: q.Target, Authority: q.Host}
	// HTTP/1 parsers have seen to these two; HTTP/2 allows bytes in them that
	// would end a request line when they are sent on as HTTP/1.
	if !isToken(q.Method) {
		return p, ReplyBadMethod
	}
	if !isTarget(q.Target) {
		return p, ReplyBadTarget
	}
	if q.Method == "CONNECT" {
		p.Authority = q.Target // RFC 9112 §3.2.3
		return p, ReplyConnect
	}
	path, query, reply := splitTarget(q, &p)
	if reply != nil {
		return p, reply
	}
	if p.Authority == "" {
		if !q.HostOptional {
			return p, ReplyBadHost
		}
	} else if _, ok := route.NormalizeHost(p.Authority); !ok {
		return p, ReplyBadHost
	}
	if path != "*" {
		normal, dots, err := route.NormalizePath(path)
		if err != nil {
			return p, pathReply(err)
		}
		if dots {
			p.Target = normal + query
		}
		path = normal
	}
	r := t.Match(p.Authority, path)
	if r == nil {
		return p, ReplyNoRoute
	}
	p.Route, p.Backend = r, r.Backend
	if r.Canary != nil && r.Canary.Takes(q.Fields, rand.Uint32()) {
		p.Backend, p.Canary = r.Canary.Backend, true
	}
	return p, nil
}

// splitTarget finds the path and the query (with its '?') of the target and
// puts the forms that are not origin form into it.
func splitTarget(q *Request, p *Plan) (path, query string, reply *Reply) {
	target := q.Target
	if target == "*" {
		if q.Method != "OPTIONS" {
			return "", "", ReplyBadTarget
		}
		return "*", "", nil
	}
	if target == "" || target[0] != '/' {
		if q.OriginForm {
			return "", "", ReplyBadTarget
		}
		if target, reply = absoluteForm(target, p); reply != nil {
			return "", "", reply
		}
		if target == "" && q.Method == "OPTIONS" {
			p.Target = "*" // RFC 9112 §3.2.4
			return "*", "", nil
		}
		if target == "" || target[0] == '?' {
			target = "/" + target
		}
		p.Target = target
	}
	if i := strings.IndexByte(target, '?'); i >= 0 {
		return target[:i], target[i:], nil
	}
	return target, "", nil
}

// absoluteForm takes scheme and authority off an absolute-form target; the
// authority replaces Host.
func absoluteForm(target string, p *Plan) (rest string, reply *Reply) {
	scheme, rest, ok := strings.Cut(target, "://")
	if !ok || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", ReplyBadTarget
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, rest = rest[:i], rest[i:]
	} else {
		rest = ""
	}
	if strings.IndexByte(authority, '@') >= 0 {
		return "", ReplyUserinfo
	}
	if authority == "" {
		return "", ReplyBadTarget
	}
	p.Authority = authority
	return rest, nil
}

// isToken reports whether s is a token (RFC 9110 §5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			continue
		}
		if strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isTarget reports whether s can stand in a request line: no white space, no
// control bytes, no fragment.
func isTarget(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c == 0x7f || c == '#' {
			return false
		}
	}
	return true
}

func pathReply(err error) *Reply {
	switch {
	case errors.Is(err, route.ErrClimbs):
		return ReplyClimbs
	case errors.Is(err, route.ErrNUL):
		return ReplyNUL
	case errors.Is(err, route.ErrPercent):
		return ReplyPercent
	}
	return ReplyBadTarget
}
