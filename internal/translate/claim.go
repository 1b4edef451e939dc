package translate

import (
	"slices"

	"ramjet.dev/ingress/internal/route"
)

// claimRoutes settles which rule holds which key: the one of the older Ingress. Canaries
// claim nothing.
func (t *translation) claimRoutes() {
	total := 0
	for _, p := range t.plans {
		total += len(p.rules)
	}
	t.pool = make([]claim, total)
	t.routes = make([]*claim, 0, total)
	t.claims = make(map[route.Key]*claim, total)
	for _, p := range t.plans {
		if p.canary.on {
			continue
		}
		for i := range p.rules {
			r := &p.rules[i]
			if holder := t.claims[r.key]; holder != nil {
				t.note(p, note{reason: ReasonPathConflict, where: r.where(), text: "belongs to " + holder.plan.name() + "; this path is not served: the older Ingress keeps it"})
				continue
			}
			t.addRoute(p, r)
		}
	}
}

// addRoute adds the route of a rule, which nobody has claimed yet.
func (t *translation) addRoute(p *plan, r *rule) *claim {
	c := t.newClaim()
	*c = claim{plan: p, RouteSpec: route.RouteSpec{
		Host: r.key.Host, Path: r.path, PathType: r.key.PathType, Regex: r.regex,
		Created: p.created, Owner: p.owner,
	}}
	c.backend = t.services.resolve(&r.target)
	c.Backend = c.backend.name
	if c.backend.fault != "" {
		t.note(p, note{reason: ReasonServiceUnresolved, where: r.where(), text: c.backend.fault + "; requests are answered 503"})
	}
	t.use(p, c.backend, r)
	t.routes = append(t.routes, c)
	t.claims[r.key] = c
	return c
}

// newClaim takes a claim out of the pool: one allocation for all of them, or nearly.
func (t *translation) newClaim() *claim {
	if len(t.pool) == 0 {
		t.pool = make([]claim, 64)
	}
	c := &t.pool[0]
	t.pool = t.pool[1:]
	return c
}

// use notes that a rule leads to a backend, and what of it is left out.
func (t *translation) use(p *plan, b *backend, r *rule) {
	b.used = true
	if remark := b.remark(); remark != "" {
		t.note(p, note{reason: ReasonServiceUnresolved, where: r.where(), text: remark})
	}
}

// claimDefaults adds routes for spec.defaultBackend. It takes what no rule takes on the
// hosts that the Ingress names, and on the hosts that nobody names. It does not take what
// is left on the hosts of others: those are not the Ingress's to answer for.
func (t *translation) claimDefaults() {
	if !t.options.DefaultBackend.IsZero() {
		t.resolveFallback()
	}
	for _, p := range t.plans {
		switch {
		case p.fallback == nil:
		case p.canary.on:
			t.note(p, note{reason: ReasonCanaryInert, text: "the defaultBackend of a canary gets no requests: write a rule with the path / instead"})
		default:
			for _, host := range p.hosts {
				t.claimDefault(p, host)
			}
			if !slices.Contains(p.hosts, "") {
				t.claimDefault(p, "")
			}
		}
	}
}

// claimDefault adds the route of a defaultBackend on one host, unless a rule takes
// everything there already.
func (t *translation) claimDefault(p *plan, host string) {
	r := rule{
		key: route.Key{Host: host, Path: "/", PathType: route.Prefix}, path: "/",
		target: *p.fallback, label: "defaultBackend for " + plain(host),
	}
	if host == "" {
		r.label = "defaultBackend for all other hosts"
	}
	holder := t.claims[r.key]
	if holder == nil {
		holder = t.claims[route.Key{Host: host, Path: "/", PathType: route.ImplementationSpecific}]
	}
	switch {
	case holder == nil:
		t.addRoute(p, &r).implied = true
	case holder.implied || host == "" && holder.plan != p:
		t.note(p, note{reason: ReasonPathConflict, where: r.label, text: "these requests belong to " + holder.plan.name() + "; this defaultBackend does not get them"})
	}
}

// resolveFallback looks up --default-backend.
func (t *translation) resolveFallback() {
	ref := t.options.DefaultBackend
	b := t.services.resolve(&target{BackendRef: ref})
	t.fallback, b.used = b.name, true
	if b.fault != "" {
		t.notes = append(t.notes, note{
			object: Ref{Kind: kindService, Namespace: ref.Namespace, Name: ref.Name},
			reason: ReasonServiceUnresolved, where: "--default-backend", text: b.fault + "; requests without a route are answered 503",
		})
	}
}

// name names the Ingress of a plan in a message about another.
func (p *plan) name() string { return "Ingress " + plain(p.ref.Namespace) + "/" + plain(p.ref.Name) }

// claimHosts names the hosts of rules without a route, so that no wildcard host takes
// their requests.
func (t *translation) claimHosts() {
	for _, p := range t.plans {
		if p.canary.on {
			continue
		}
		for _, host := range p.bare {
			if host != "" {
				t.hosts = append(t.hosts, host)
			}
		}
		if p.fallback != nil || t.fallback != "" {
			continue
		}
		for _, host := range p.pathless {
			t.note(p, note{reason: ReasonIngressRejected, where: hostText(host), text: "the rule has no paths and there is no default backend; requests that no other rule takes are answered 404"})
		}
	}
	slices.Sort(t.hosts)
	t.hosts = slices.Compact(t.hosts)
}
