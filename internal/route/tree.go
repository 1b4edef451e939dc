package route

import (
	"math"
	"slices"
	"strings"
)

// pathTree finds the route of a path among the many rules of one host. Its answer is a
// rank: the position in the host's match order. Of all rules that match, the one with
// the lowest rank wins, so it only has to visit all that match and take the minimum; no
// rule about precedence is spelled out here.
//
// Exact, Prefix and string rules are kept in a radix tree that is walked once along
// the path. Regular expressions are tried one by one, but only those that would beat
// what the walk found.
type pathTree struct {
	// nodes stand in breadth-first order, so the children of one node stand side by
	// side, in front of those of the next: nodes[i].first and nodes[i+1].first enclose
	// the children of i, and likewise for text. A last node closes the lists.
	nodes   []node
	labels  []byte // labels[i] is the byte that leads from the parent to nodes[i]
	text    string // what the walk consumes at each node after its label
	regexes []rankedPattern
}

// node is a node of the radix tree. It is small because a matcher that is asked about
// thousands of hosts spends its time waiting for memory.
type node struct {
	text  uint32 // where its text starts
	first uint32 // its first child
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
func (x *pathTree) match(path string) int32 {
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
func (x *pathTree) walk(path string) int32 {
	best := int32(none)
	for at := 0; at >= 0; at = x.child(at, path[0]) {
		if at > 0 {
			path = path[1:]
		}
		n := &x.nodes[at]
		text := x.text[n.text:x.nodes[at+1].text]
		if !strings.HasPrefix(path, text) {
			break
		}
		if path = path[len(text):]; path == "" {
			return min(best, n.exact, n.prefix, n.str)
		}
		best = min(best, n.str)
		if path[0] == '/' {
			best = min(best, n.prefix)
		}
	}
	return best
}

// child returns the child of a node that continues with c, -1 when there is none.
func (x *pathTree) child(at int, c byte) int {
	first := int(x.nodes[at].first)
	for i, label := range x.labels[first:x.nodes[at+1].first] {
		if label == c {
			return first + i
		}
	}
	return -1
}

// find returns the rank of the rule itself, not of what would match its path.
func (x *pathTree) find(path string, kind pathKind) int32 {
	if kind == kindRegex {
		for _, r := range x.regexes {
			if r.text == path {
				return r.rank
			}
		}
		return none
	}
	path = treePath(path, kind)
	for at := 0; at >= 0; at = x.child(at, path[0]) {
		if at > 0 {
			path = path[1:]
		}
		n := &x.nodes[at]
		text := x.text[n.text:x.nodes[at+1].text]
		if !strings.HasPrefix(path, text) {
			break
		}
		if path = path[len(text):]; path == "" {
			return *n.slot(kind)
		}
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

// newPathTree builds the tree of rules that are in match order.
func newPathTree(rules []*draft) *pathTree {
	x := &pathTree{}
	static := make([]treeRule, 0, len(rules))
	for rank, d := range rules {
		if d.kind == kindRegex {
			x.regexes = append(x.regexes, rankedPattern{int32(rank), d.pattern})
			continue
		}
		static = append(static, treeRule{treePath(d.path, d.kind), d.kind, int32(rank)})
	}
	slices.SortFunc(static, func(a, b treeRule) int { return strings.Compare(a.path, b.path) })
	x.build(static)
	return x
}

// branch is a node in the making: the rules below it, which are equal in their first
// depth bytes.
type branch struct {
	rules []treeRule
	depth int
}

// build makes the tree of rules that are sorted by path.
func (x *pathTree) build(rules []treeRule) {
	nodes := make([]node, 0, 2*len(rules)+2)
	labels := make([]byte, 1, 2*len(rules)+1) // the root has none
	var text []byte
	queue := []branch{{rules: rules}}
	for at := 0; at < len(queue); at++ {
		n := node{text: uint32(len(text)), first: uint32(len(queue)), exact: none, prefix: none, str: none}
		rules, depth := queue[at].rules, queue[at].depth
		if len(rules) > 0 {
			depth = commonPrefix(rules[0].path, rules[len(rules)-1].path)
			text = append(text, rules[0].path[queue[at].depth:depth]...)
		}
		for len(rules) > 0 && len(rules[0].path) == depth {
			*n.slot(rules[0].kind) = rules[0].rank
			rules = rules[1:]
		}
		for len(rules) > 0 {
			label := rules[0].path[depth]
			end := slices.IndexFunc(rules, func(r treeRule) bool { return r.path[depth] != label })
			if end < 0 {
				end = len(rules)
			}
			queue = append(queue, branch{rules[:end], depth + 1})
			labels = append(labels, label)
			rules = rules[end:]
		}
		nodes = append(nodes, n)
	}
	nodes = append(nodes, node{text: uint32(len(text)), first: uint32(len(queue))})
	x.nodes, x.labels, x.text = slices.Clone(nodes), slices.Clone(labels), string(text) // no slack
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
