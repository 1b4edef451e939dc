package route

import "slices"

// group is all there is for one host. Generations in which nothing of it changed share it.
type group struct {
	host   string
	routes []*Route // in match order; empty for a host that is only claimed
	index  *pathIndex
}

// pathIndex finds the route of a path in a group. It knows paths and no backends, so
// generations in which only these changed share it.
type pathIndex struct {
	tails []tail    // of a host with few rules
	tree  *pathTree // of any other; nil beside tails
}

// newPathIndex builds the index of rules that are in match order.
func newPathIndex(rules []*draft) *pathIndex {
	if tails := newTails(rules); tails != nil {
		return &pathIndex{tails: tails}
	}
	return &pathIndex{tree: newPathTree(rules)}
}

// match returns the route of a path, nil when the host has none for it.
func (g *group) match(path string) *Route {
	if g.index.tree == nil {
		return g.scan(path)
	}
	if rank := g.index.tree.match(path); rank != none {
		return g.routes[rank]
	}
	return nil
}

// find returns the route with that path itself, nil when there is none.
func (g *group) find(path string, pathType PathType) *Route {
	if g == nil {
		return nil
	}
	if g.index.tree == nil {
		i := slices.IndexFunc(g.routes, func(r *Route) bool {
			return r.PathType == pathType && r.Path == path
		})
		if i < 0 {
			return nil
		}
		return g.routes[i]
	}
	rank := g.index.tree.find(path, kindOf(pathType, false))
	if rank == none && pathType == ImplementationSpecific {
		rank = g.index.tree.find(path, kindRegex)
	}
	if rank == none {
		return nil
	}
	return g.routes[rank]
}

// all returns the routes; a nil group has none.
func (g *group) all() []*Route {
	if g == nil {
		return nil
	}
	return g.routes
}

// samePaths reports that an index of one group serves the other.
func (g *group) samePaths(other *group) bool {
	return slices.EqualFunc(g.routes, other.routes, func(a, b *Route) bool {
		return a == b || a.Path == b.Path && a.kind() == b.kind()
	})
}
