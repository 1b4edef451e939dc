package route

import "encoding/binary"

// A host with few rules, and nearly all have few, needs no tree: its rules are scanned
// in match order and the first that matches wins. What makes the scan fast is that a
// rule is passed over after one comparison of eight bytes: those its path ends with,
// which is where the paths of one host differ.

const (
	scanRules = 32 // most rules of a host that is scanned; beyond, the tree is faster
	scanBytes = 56 // longest path of such a rule
)

// tail is a rule as the scan sees it. A regular expression has an empty tail, which no
// path fails.
type tail struct {
	bytes  uint64 // the last eight bytes of the path, zero bytes before a shorter one
	length uint32
}

// newTails returns the tails of rules that can be scanned, nil when there are too many
// or too long ones.
func newTails(rules []*draft) []tail {
	if len(rules) > scanRules {
		return nil
	}
	tails := make([]tail, len(rules))
	for i, d := range rules {
		if d.kind == kindRegex {
			continue
		}
		if len(d.path) > scanBytes {
			return nil
		}
		tails[i] = tail{windowOf(d.path).endingAt(len(d.path)), uint32(len(d.path))}
	}
	return tails
}

// window is the beginning of a path between zero bytes, so that the eight bytes before
// any place in it can be loaded at once. A rule that is longer than the path is compared
// with zero bytes, and no rule contains one.
type window [8 + scanBytes]byte

func windowOf(path string) *window {
	var w window
	copy(w[8:], path)
	return &w
}

func (w *window) endingAt(end int) uint64 { return binary.LittleEndian.Uint64(w[end:]) }

// scan returns the first route that takes path, nil when none does.
func (g *group) scan(path string) *Route {
	w := windowOf(path)
	for i, t := range g.index.tails {
		if t.bytes == w.endingAt(int(t.length)) && g.routes[i].takes(path) {
			return g.routes[i]
		}
	}
	return nil
}

// takes reports whether the route's own rule matches path.
func (r *Route) takes(path string) bool {
	if r.pattern != nil {
		return r.pattern.match(path)
	}
	n := len(r.Path)
	if len(path) < n || path[:n] != r.Path {
		return false
	}
	switch r.PathType {
	case Exact:
		return len(path) == n
	case Prefix:
		return n == 1 || len(path) == n || path[n] == '/' // of length 1 is only "/"
	}
	return true
}
