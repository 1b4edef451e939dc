package route

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
)

// Compile builds a table. It never fails: what cannot be honoured is degraded alone
// and reported, in the order of the Spec.
//
// kept are the tables of the generations that are still kept, newest first; nil ones
// are passed over. Counters, balancing state and everything that did not change are
// taken from the first of them that has the same identity. A caller that publishes must
// name every table that may still be serving, or its numbers would start anew.
func Compile(spec Spec, kept ...*Table) (*Table, []Diagnostic) {
	c := &compiler{spec: spec, described: map[string]*Backend{}, unknown: map[string]*Backend{}}
	for _, t := range kept {
		if t != nil {
			c.kept = append(c.kept, t)
		}
	}
	t := &Table{backends: c.compileBackends()}
	c.compileHosts(t)
	t.fallback = c.compileFallback()
	t.star = takesAll(t.any)
	t.certs = c.compileCerts()
	for _, name := range sortedKeys(c.unknown) {
		t.unknown = append(t.unknown, c.unknown[name])
	}
	t.digest = t.computeDigest()
	slices.SortStableFunc(c.diagnostics, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Index, b.Index))
	})
	return t, c.diagnostics
}

// compiler is the state of one Compile.
type compiler struct {
	spec        Spec
	kept        []*Table
	described   map[string]*Backend // by name
	unknown     map[string]*Backend // named but not described
	next        int                 // where unchangedBackend looks first
	patterns    map[string]*pattern // by text; nil until one is asked for
	headers     map[string]*regexp.Regexp
	diagnostics []Diagnostic
}

func (c *compiler) report(kind Kind, index int, reason, format string, args ...any) {
	c.diagnostics = append(c.diagnostics, Diagnostic{kind, index, reason, fmt.Sprintf(format, args...)})
}

// backend returns the backend of that name. A name that is not described has no
// endpoints, so that what leads there is answered 503.
func (c *compiler) backend(name string) (b *Backend, known bool) {
	if b, known = c.described[name]; known {
		return b, true
	}
	if b = c.unknown[name]; b != nil {
		return b, false
	}
	for _, t := range c.kept {
		if b = findBackend(t.unknown, name); b != nil {
			break
		}
	}
	if b == nil {
		b = &Backend{Name: name, unknown: true}
	}
	c.unknown[name] = b
	return b, false
}

// compileFallback builds the default route, with the numbers it had.
func (c *compiler) compileFallback() *Route {
	name := c.spec.DefaultBackend
	if name == "" {
		return nil
	}
	b, known := c.backend(name)
	if !known {
		c.report(KindSpec, -1, ReasonUnknownBackend, "default backend %q is not known; requests without a route are answered 503", name)
	}
	r := &Route{Backend: b, fallback: true}
	for _, t := range c.kept {
		if t.fallback == nil || t.fallback.Backend.Name != name {
			continue
		}
		if t.fallback.Backend == b {
			return t.fallback
		}
		r.Counters = t.fallback.Counters
		return r
	}
	r.Counters = newCounters()
	return r
}

// takesAll returns the rule of a group that takes every path.
func takesAll(g *group) *Route {
	if r := g.find("/", Prefix); r != nil {
		return r
	}
	if r := g.find("/", ImplementationSpecific); r != nil && !r.Regex {
		return r
	}
	return nil
}

// pattern compiles the regular expression of a route, once per text.
func (c *compiler) pattern(text string) (*pattern, error) {
	c.collectPatterns()
	if p, ok := c.patterns[text]; ok {
		return p, nil
	}
	p, err := compilePattern(text)
	if err == nil {
		c.patterns[text] = p
	}
	return p, err
}

// headerPattern compiles the pattern of a canary header, once per text.
func (c *compiler) headerPattern(text string) (*regexp.Regexp, error) {
	c.collectPatterns()
	if re, ok := c.headers[text]; ok {
		return re, nil
	}
	re, err := compileHeaderPattern(text)
	if err == nil {
		c.headers[text] = re
	}
	return re, err
}

// collectPatterns gathers the expressions of the kept tables, when the first is needed.
func (c *compiler) collectPatterns() {
	if c.patterns != nil {
		return
	}
	c.patterns, c.headers = map[string]*pattern{}, map[string]*regexp.Regexp{}
	for _, t := range c.kept {
		for _, g := range t.groups {
			for _, r := range g.routes {
				if r.pattern != nil {
					c.patterns[r.Path] = r.pattern
				}
				if r.Canary != nil && r.Canary.HeaderPattern != nil {
					c.headers[r.Canary.HeaderPattern.String()] = r.Canary.HeaderPattern
				}
			}
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
