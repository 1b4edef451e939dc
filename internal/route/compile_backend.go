package route

import (
	"math"
	"slices"
	"strings"
)

// compileBackends fills described and returns it sorted by name.
func (c *compiler) compileBackends() []*Backend {
	holders := make(map[string]int, len(c.spec.Backends)) // name to index in the Spec
	drafts := make([]*Backend, len(c.spec.Backends))
	for i := range c.spec.Backends {
		b := c.unchangedBackend(&c.spec.Backends[i])
		if b == nil {
			b = c.draftBackend(i)
		}
		if b == nil {
			continue
		}
		drafts[i] = b
		holder, taken := holders[b.Name]
		if !taken {
			holders[b.Name] = i
			continue
		}
		// Backends have no age. Content decides, so that the order of the list cannot.
		loser := i
		if string(b.appendText(nil)) < string(drafts[holder].appendText(nil)) {
			holders[b.Name], loser = i, holder
		}
		c.report(KindBackend, loser, ReasonDuplicateBackend, "backend %q is described more than once; this description is ignored", b.Name)
	}
	list := make([]*Backend, 0, len(holders))
	for i, draft := range drafts { // in the order of the Spec, which may be sorted already
		if draft == nil || holders[draft.Name] != i {
			continue
		}
		b := c.adopt(draft)
		c.described[b.Name] = b
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b *Backend) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// unchangedBackend returns the backend of the newest kept table that is what the
// description says, to the order of its endpoints; nil when there is none. It spares
// nearly every backend of the next generation the checks and the copy. Who describes
// backends in the order of their names is served fastest.
func (c *compiler) unchangedBackend(spec *BackendSpec) *Backend {
	if len(c.kept) == 0 {
		return nil
	}
	list := c.kept[0].backends
	if c.next >= len(list) || list[c.next].Name != spec.Name {
		at, found := slices.BinarySearchFunc(list, spec.Name, func(b *Backend, name string) int { return strings.Compare(b.Name, name) })
		if !found {
			return nil
		}
		c.next = at
	}
	k := list[c.next]
	c.next++
	if !k.isDescribedBy(spec) {
		return nil
	}
	return k
}

// isDescribedBy reports whether compiling a description would give this backend, as far
// as that can be seen at once.
func (b *Backend) isDescribedBy(spec *BackendSpec) bool {
	if b.Policy != spec.Policy || b.Protocol != spec.Protocol || len(b.Endpoints) != len(spec.Endpoints) {
		return false
	}
	for i, e := range b.Endpoints {
		if e.Address != spec.Endpoints[i].Address || e.Weight != spec.Endpoints[i].Weight {
			return false
		}
	}
	return true
}

// draftBackend checks one description. The result has no state yet.
func (c *compiler) draftBackend(i int) *Backend {
	spec := &c.spec.Backends[i]
	switch {
	case spec.Name == "":
		c.report(KindBackend, i, ReasonInvalidBackend, "backend has no name")
		return nil
	case int(spec.Policy) >= len(policyWords) || int(spec.Protocol) >= len(protocolWords):
		c.report(KindBackend, i, ReasonInvalidBackend, "backend %q has an unknown policy or protocol: %s, %s", spec.Name, spec.Policy, spec.Protocol)
		return nil
	}
	b := &Backend{Name: spec.Name, Policy: spec.Policy, Protocol: spec.Protocol}
	for j := range spec.Endpoints {
		if e := c.draftEndpoint(i, &spec.Endpoints[j]); e != nil {
			b.Endpoints = append(b.Endpoints, e)
		}
	}
	c.mergeEndpoints(i, b)
	return b
}

func (c *compiler) draftEndpoint(i int, spec *EndpointSpec) *Endpoint {
	name := c.spec.Backends[i].Name
	if err := CheckAddress(spec.Address); err != nil {
		c.report(KindBackend, i, ReasonInvalidEndpoint, "endpoint %q of backend %q %v; it is left out", spec.Address, name, err)
		return nil
	}
	e := &Endpoint{Address: spec.Address, Weight: spec.Weight}
	if e.Weight < 0 || e.Weight > math.MaxInt32 {
		c.report(KindBackend, i, ReasonInvalidWeight, "endpoint %q of backend %q has weight %d, which is not between 0 and %d; it gets no requests", spec.Address, name, spec.Weight, math.MaxInt32)
		e.Weight = 0
	}
	return e
}

// mergeEndpoints sorts the endpoints and leaves every address once. To list an address
// twice says nothing new (the API allows a pod to be in two slices); two weights do
// contradict, and the larger counts.
func (c *compiler) mergeEndpoints(i int, b *Backend) {
	slices.SortFunc(b.Endpoints, func(x, y *Endpoint) int {
		if d := strings.Compare(x.Address, y.Address); d != 0 {
			return d
		}
		return y.Weight - x.Weight
	})
	b.Endpoints = slices.CompactFunc(b.Endpoints, func(x, y *Endpoint) bool {
		if x.Address != y.Address {
			return false
		}
		if x.Weight != y.Weight {
			c.report(KindBackend, i, ReasonDuplicateEndpoint, "endpoint %q of backend %q is listed with the weights %d and %d; the larger counts",
				x.Address, b.Name, max(x.Weight, y.Weight), min(x.Weight, y.Weight))
		}
		return true
	})
}

// adopt returns the kept backend that is equal to the draft, or the draft with the
// state that its name and addresses have in the kept tables.
func (c *compiler) adopt(draft *Backend) *Backend {
	if draft.state != nil {
		return draft // unchanged
	}
	var relatives []*Backend
	for _, t := range c.kept {
		k := findBackend(t.backends, draft.Name)
		if k == nil || slices.Contains(relatives, k) {
			continue
		}
		if k.sameAs(draft) {
			return k
		}
		relatives = append(relatives, k)
	}
	for _, k := range relatives {
		if draft.state == nil {
			draft.Name, draft.state = k.Name, k.state
		}
		draft.adoptEndpoints(k)
	}
	if draft.state == nil {
		draft.state = &balance{}
	}
	for _, e := range draft.Endpoints {
		if e.load == nil {
			e.load = &load{}
		}
	}
	draft.turns = newTurns(draft.Endpoints)
	return draft
}

// adoptEndpoints takes over what a relative has of the draft's addresses. Both lists
// are sorted.
func (b *Backend) adoptEndpoints(from *Backend) {
	i := 0
	for at, e := range b.Endpoints {
		for i < len(from.Endpoints) && from.Endpoints[i].Address < e.Address {
			i++
		}
		if i == len(from.Endpoints) || from.Endpoints[i].Address != e.Address || e.load != nil {
			continue
		}
		if from.Endpoints[i].Weight == e.Weight {
			b.Endpoints[at] = from.Endpoints[i]
			continue
		}
		e.Address, e.load = from.Endpoints[i].Address, from.Endpoints[i].load
	}
}

func (b *Backend) sameAs(other *Backend) bool {
	return b.Policy == other.Policy && b.Protocol == other.Protocol &&
		slices.EqualFunc(b.Endpoints, other.Endpoints, func(x, y *Endpoint) bool {
			return x.Address == y.Address && x.Weight == y.Weight
		})
}

// findBackend looks a name up in a sorted list.
func findBackend(list []*Backend, name string) *Backend {
	i, found := slices.BinarySearchFunc(list, name, func(b *Backend, name string) int {
		return strings.Compare(b.Name, name)
	})
	if !found {
		return nil
	}
	return list[i]
}
