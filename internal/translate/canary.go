package translate

import (
	"slices"

	"ramjet.dev/ingress/internal/route"
)

// joinCanaries adds the canaries to the routes that they are for: same host, path and
// type, in the same namespace. The older canary wins.
func (t *translation) joinCanaries() {
	for _, p := range t.plans {
		if !p.canary.on {
			continue
		}
		if p.inert() {
			t.note(p, note{reason: ReasonCanaryInert, text: "the canary has no header, cookie or weight and gets no requests: add " + keyWeight + ", " + keyHeader + " or " + keyCookie})
			continue
		}
		for i := range p.rules {
			t.joinCanary(p, &p.rules[i])
		}
	}
}

// inert reports that nothing would ever send a request to the canary.
func (p *plan) inert() bool {
	return !p.canary.weighted && p.canary.header == "" && p.canary.cookie == "" && !p.canary.broken
}

// joinCanary adds a canary to one route.
func (t *translation) joinCanary(p *plan, r *rule) {
	c := t.production(r)
	orphan := func(text string) {
		t.note(p, note{reason: ReasonCanaryOrphan, where: r.where(), text: text + "; the canary gets no requests"})
	}
	switch {
	case c == nil:
		orphan("no production Ingress routes this host, path and type")
	case c.plan.ref.Namespace != p.ref.Namespace:
		orphan("the route belongs to " + c.plan.name() + " of another namespace")
	case c.canary != nil:
		t.note(p, note{reason: ReasonCanaryConflict, where: r.where(), text: "the route has the canary of " + c.canary.name() + " already; this one gets no requests"})
	default:
		t.attachCanary(c, p, r)
	}
}

// production finds the route that a rule of a canary is for. Whether a path is a regular
// expression is for the production Ingress to say, and only the spelling of a path that
// is none is normalised; so the text as it is written is looked for too.
func (t *translation) production(r *rule) *claim {
	if c := t.claims[r.key]; c != nil || r.key.PathType != route.ImplementationSpecific {
		return c
	}
	asWritten := r.key
	asWritten.Path = r.path
	return t.claims[asWritten]
}

// attachCanary makes p the canary of a route. A canary whose Service cannot be found is
// left out: it is an experiment, and the route is the service.
func (t *translation) attachCanary(c *claim, p *plan, r *rule) {
	c.canary = p
	if p.canary.broken {
		return
	}
	b := t.services.resolve(&r.target)
	if b.fault != "" {
		t.note(p, note{reason: ReasonServiceUnresolved, where: r.where(), text: b.fault + "; the canary gets no requests"})
		return
	}
	t.use(p, b, r)
	c.canaryBackend = b
	c.Canary = &route.CanarySpec{
		Backend: b.name, Weight: p.canary.weight, WeightTotal: p.canary.total,
		Header: p.canary.header, HeaderValue: p.canary.value, HeaderPattern: p.canary.pattern,
		Cookie: p.canary.cookie,
	}
}

// settleProtocols decides what is spoken to each Service port. Where two Ingresses want
// different protocols the older decides. A canary that says nothing is spoken to like the
// route that it joins, and so is a mirror; but what an Ingress says of a port it leads to
// comes first.
func (t *translation) settleProtocols() {
	order := slices.Clone(t.routes)
	slices.SortStableFunc(order, func(a, b *claim) int { return comparePlans(a.plan, b.plan) })
	for _, c := range order {
		t.wantProtocol(c.backend, c.plan.protocol, c.plan)
	}
	for _, c := range order {
		if c.canaryBackend != nil && c.canary.spoken {
			t.wantProtocol(c.canaryBackend, c.canary.protocol, c.canary)
		}
	}
	for _, c := range order {
		if c.canaryBackend != nil && !c.canary.spoken {
			t.wantProtocol(c.canaryBackend, c.plan.protocol, c.canary)
		}
		if c.mirror != nil {
			t.wantProtocol(c.mirror, c.plan.protocol, c.plan)
		}
	}
}

// wantProtocol gives a backend the protocol that an Ingress wants, if it is the first.
func (t *translation) wantProtocol(b *backend, want route.Protocol, p *plan) {
	switch {
	case b.spokenFor == nil:
		b.protocol, b.spokenFor = want, p
	case b.protocol != want:
		t.note(p, note{reason: ReasonBackendProtocolConflict, text: "backend " + plain(b.name) + " is spoken to in " + b.protocol.String() +
			" because of " + b.spokenFor.name() + ", and not in " + want.String() + ": give all Ingresses of this Service port the same " + keyProtocol})
	}
}
