package route

import (
	"fmt"
	"slices"
	"strings"
)

// compileHosts fills the table's groups.
func (c *compiler) compileHosts(t *Table) {
	drafts, claimed := c.draftRoutes()
	drafts = c.settleClaims(drafts)
	slices.SortFunc(drafts, func(a, b *draft) int {
		if d := strings.Compare(a.host, b.host); d != 0 {
			return d
		}
		return compareMatch(a, b)
	})
	for start := 0; start < len(drafts); {
		end := start + 1
		for end < len(drafts) && drafts[end].host == drafts[start].host {
			end++
		}
		host := drafts[start].host
		delete(claimed, host)
		t.groups = append(t.groups, c.compileGroup(host, drafts[start:end]))
		start = end
	}
	for host := range claimed {
		t.groups = append(t.groups, c.compileGroup(host, nil))
	}
	slices.SortFunc(t.groups, func(a, b *group) int { return strings.Compare(a.host, b.host) })
	t.groups = slices.Clip(t.groups)
	t.hosts = newNames[*group](len(t.groups))
	for _, g := range t.groups {
		if g.host == "" {
			t.any = g
			continue
		}
		t.hosts.put(g.host, g)
	}
}

// draftRoutes checks every route of the Spec. claimed are the hosts that are spoken
// for without a route: by the Spec, or by a route that had to be refused. Their
// requests belong to the default route; without the claim, a slip in a path would hand
// them to a wildcard host, which may be somebody else's.
func (c *compiler) draftRoutes() (drafts []*draft, claimed map[string]bool) {
	claimed = map[string]bool{}
	for _, name := range c.spec.Hosts {
		host, err := ruleHost(name)
		if err != nil {
			c.report(KindSpec, -1, ReasonInvalidHost, "host %q %v", name, err)
			continue
		}
		claimed[host] = true
	}
	drafts = make([]*draft, 0, len(c.spec.Routes))
	pool := make([]draft, len(c.spec.Routes))
	for i := range c.spec.Routes {
		d := &pool[i]
		d.spec, d.index = &c.spec.Routes[i], i
		if !c.checkHost(d) {
			continue
		}
		if !c.checkPath(d) {
			if d.host != "" {
				claimed[d.host] = true
			}
			continue
		}
		c.resolveBackends(d)
		drafts = append(drafts, d)
	}
	return drafts, claimed
}

func (c *compiler) checkHost(d *draft) bool {
	if d.spec.Host == "" {
		return true
	}
	host, err := ruleHost(d.spec.Host)
	if err != nil {
		c.report(KindRoute, d.index, ReasonInvalidHost, "host %q %v; its route is left out", d.spec.Host, err)
		return false
	}
	d.host = host
	return true
}

func (c *compiler) checkPath(d *draft) bool {
	refuse := func(reason string, why any) bool {
		c.report(KindRoute, d.index, reason, "route %s is left out: %v", d.where(), why)
		return false
	}
	d.path = d.spec.Path
	if int(d.spec.PathType) >= len(pathTypeWords) {
		return refuse(ReasonInvalidPath, fmt.Sprintf("unknown path type %s", d.spec.PathType))
	}
	if d.spec.Regex && d.spec.PathType != ImplementationSpecific {
		return refuse(ReasonInvalidRegex, fmt.Sprintf("a regular expression needs the path type %s, not %s", ImplementationSpecific, d.spec.PathType))
	}
	d.kind = kindOf(d.spec.PathType, d.spec.Regex)
	path, err := rulePath(d.spec.Path, d.kind)
	if err != nil {
		return refuse(ReasonInvalidPath, err)
	}
	d.path = path
	if d.kind == kindRegex {
		if d.pattern, err = c.pattern(path); err != nil {
			return refuse(ReasonInvalidRegex, err)
		}
	}
	return true
}

// where returns "host path" for a message: short, and quoted where a byte of it could
// garble the line.
func (d *draft) where() string {
	const longest = 200
	r := Route{Host: d.host, Path: d.path}
	where := r.where()
	if len(where) > longest {
		where = where[:longest] + "..."
	}
	if strings.ContainsFunc(where, isControl) {
		return fmt.Sprintf("%q", where)
	}
	return where
}

// resolveBackends finds what the route leads to.
func (c *compiler) resolveBackends(d *draft) {
	var known bool
	if d.backend, known = c.backend(d.spec.Backend); !known {
		c.report(KindRoute, d.index, ReasonUnknownBackend, "backend %q is not known; requests for %s are answered 503", d.spec.Backend, d.where())
	}
	d.canary = c.compileCanary(d)
	d.mirror = c.compileMirror(d)
}

// settleClaims leaves every key once: the older route keeps it.
func (c *compiler) settleClaims(drafts []*draft) []*draft {
	holders := make(map[Key]*draft, len(drafts))
	for _, d := range drafts {
		holder, taken := holders[d.key()]
		if !taken {
			holders[d.key()] = d
			continue
		}
		loser := d
		if compareClaim(d, holder) < 0 {
			holders[d.key()], loser = d, holder
		}
		loser.backend = nil // marks it until the end of the loop
	}
	return slices.DeleteFunc(drafts, func(d *draft) bool {
		if d.backend != nil {
			return false
		}
		c.report(KindRoute, d.index, ReasonDuplicateRoute, "%s (%s) already belongs to %s; this route is left out",
			d.where(), d.spec.PathType, ownerOf(holders[d.key()].spec.Owner, "another route"))
		return true
	})
}

// ownerOf names the holder of a claim. Objects of a route file have no owner.
func ownerOf(owner, otherwise string) string {
	if owner == "" {
		return otherwise
	}
	return owner
}

// compileGroup builds what there is for one host; rules are in match order.
func (c *compiler) compileGroup(host string, rules []*draft) *group {
	var relatives []*group
	for _, t := range c.kept {
		if g := t.rules(host); g != nil && !slices.Contains(relatives, g) {
			relatives = append(relatives, g)
		}
	}
	if len(relatives) > 0 {
		host = relatives[0].host // one copy of the text for all generations
	}
	g := &group{host: host, routes: make([]*Route, len(rules))}
	for i, d := range rules {
		g.routes[i] = c.compileRoute(d, relatives)
	}
	for _, k := range relatives {
		if slices.Equal(k.routes, g.routes) {
			return k
		}
		if g.index == nil && k.samePaths(g) {
			g.index = k.index
		}
	}
	if g.index == nil {
		g.index = newPathIndex(rules)
	}
	return g
}

// compileRoute returns the kept route that is equal to the draft, or a new one with
// the numbers of its identity.
func (c *compiler) compileRoute(d *draft, relatives []*group) *Route {
	r := &Route{
		Host: d.host, Path: d.path, PathType: d.spec.PathType, Regex: d.spec.Regex,
		Backend: d.backend, Canary: d.canary, Mirror: d.mirror,
		pattern: d.pattern,
	}
	for _, g := range relatives {
		k := g.find(d.path, d.spec.PathType)
		if k == nil {
			continue
		}
		r.Host, r.Path = k.Host, k.Path
		if k.Canary != nil && r.Canary != nil && *k.Canary == *r.Canary {
			r.Canary = k.Canary
		}
		if k.Mirror != nil && r.Mirror != nil && *k.Mirror == *r.Mirror {
			r.Mirror = k.Mirror
		}
		if k.Backend.Name != r.Backend.Name {
			continue
		}
		if r.Counters == nil {
			r.Counters = k.Counters
		}
		if *k == *r {
			return k
		}
	}
	if r.Counters == nil {
		r.Counters = newCounters()
	}
	return r
}
