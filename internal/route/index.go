package route

import (
	"bytes"
	"math"
	"slices"
	"strings"
)

// pathIndex finds the route of a path among the routes of one host. Its answer is a
// rank: the position in the host's match order. Of all rules that match, the one with
// the lowest rank wins, so the index only has to visit all that match and take the
// minimum; no rule about precedence is spelled out here.
//
// Exact, Prefix and string rules are kept in a radix tree that is walked once along
// the path. Regular expressions are tried one by one, but only those that would beat
// what the tree found.
//
// An index knows paths and no backends: generations in which only these changed share it.
type pathIndex struct {
	nodes   []node
	labels  []byte // labels[i] is the first byte of nodes[i].text
	regexes []rankedPattern
}

// node is a node of the radix tree. The children of one node stand side by side.
type node struct {
	text  string // what the walk consumes to get here from the parent
	first uint32 // index of the first child
	count uint32 // number of children
	// Ranks of the rules whose path ends here, none where there is no such rule.
	exact, prefix, str int32
}

type rankedPattern struct {
	rank int32
	*pattern
}

// none is the rank of no rule. It is larger than any other.
const none = math.MaxInt32

// match returns the lowest rank of the rules that match path, or none.
func (x *pathIndex) match(path string) int32 {
	best := x.walk(path)
	for i := range x.regexes {
		r := &x.regexes[i]
		if r.rank >= best {
			break
		}
		if r.match(path) {
			return r.rank
		}
	}
	return best
}

// walk follows path through the tree and returns the lowest rank on the way.
func (x *pathIndex) walk(path string) int32 {
	best := int32(none)
	n := &x.nodes[0]
	for len(path) >= len(n.text) && path[:len(n.text)] == n.text {
		path = path[len(n.text):]
		if path == "" {
			return min(best, n.exact, n.prefix, n.str)
		}
		best = min(best, n.str)
		if path[0] == '/' {
			best = min(best, n.prefix)
		}
		if n = x.child(n, path[0]); n == nil {
			break
		}
	}
	return best
}

// child returns the child of n that continues with c.
func (x *pathIndex) child(n *node, c byte) *node {
	labels := x.labels[n.first : n.first+n.count]
	if len(labels) <= 4 {
		for i := range labels {
			if labels[i] == c {
				return &x.nodes[int(n.first)+i]
			}
		}
		return nil
	}
	if i := bytes.IndexByte(labels, c); i >= 0 {
		return &x.nodes[int(n.first)+i]
	}
	return nil
}

// find returns the rank of the rule itself, not of what would match its path.
func (x *pathIndex) find(path string, kind pathKind) int32 {
	if kind == kindRegex {
		for _, r := range x.regexes {
			if r.text == path {
				return r.rank
			}
		}
		return none
	}
	path = treePath(path, kind)
	n := &x.nodes[0]
	for n != nil && strings.HasPrefix(path, n.text) {
		if path = path[len(n.text):]; path == "" {
			return [...]int32{kindExact: n.exact, kindPrefix: n.prefix, kindString: n.str}[kind]
		}
		n = x.child(n, path[0])
	}
	return none
}

// treePath is where a rule stands in the tree. The Prefix "/" has no element at all:
// it stands at the root, and as every path goes on with a slash there, it matches all.
func treePath(path string, kind pathKind) string {
	if kind == kindPrefix && path == "/" {
		return ""
	}
	return path
}

// treeRule is a rule on its way into the tree.
type treeRule struct {
	path string
	kind pathKind
	rank int32
}

// newPathIndex builds the index of rules that are in match order.
func newPathIndex(rules []*draft) *pathIndex {
	x := &pathIndex{nodes: make([]node, 1, 2*len(rules)+1), labels: make([]byte, 1, 2*len(rules)+1)}
	tree := make([]treeRule, 0, len(rules))
	for rank, d := range rules {
		if d.kind == kindRegex {
			x.regexes = append(x.regexes, rankedPattern{int32(rank), d.pattern})
			continue
		}
		tree = append(tree, treeRule{treePath(d.path, d.kind), d.kind, int32(rank)})
	}
	slices.SortFunc(tree, func(a, b treeRule) int { return strings.Compare(a.path, b.path) })
	x.fill(0, tree, 0)
	x.nodes, x.labels = slices.Clone(x.nodes), slices.Clone(x.labels) // an index lives long: no slack
	return x
}

// fill makes nodes[at] the root of rules, which are sorted by path and equal in their
// first from bytes.
func (x *pathIndex) fill(at int, rules []treeRule, from int) {
	n := &x.nodes[at]
	n.exact, n.prefix, n.str = none, none, none
	if len(rules) == 0 {
		return
	}
	end := from + commonPrefix(rules[0].path[from:], rules[len(rules)-1].path[from:])
	n.text = rules[0].path[from:end]
	for len(rules) > 0 && len(rules[0].path) == end {
		*n.slot(rules[0].kind) = rules[0].rank
		rules = rules[1:]
	}
	first := len(x.nodes)
	n.first = uint32(first)
	var starts []int // of the rules of each child
	for i := range rules {
		if i == 0 || rules[i].path[end] != rules[i-1].path[end] {
			starts = append(starts, i)
			x.nodes = append(x.nodes, node{})
			x.labels = append(x.labels, rules[i].path[end])
		}
	}
	x.nodes[at].count = uint32(len(starts)) // n may have been moved by append
	for i, start := range starts {
		stop := len(rules)
		if i+1 < len(starts) {
			stop = starts[i+1]
		}
		x.fill(first+i, rules[start:stop], end)
	}
}

// slot returns the rank of the node for a kind of rule.
func (n *node) slot(kind pathKind) *int32 {
	switch kind {
	case kindExact:
		return &n.exact
	case kindPrefix:
		return &n.prefix
	}
	return &n.str
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
