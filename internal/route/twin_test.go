package route

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The slow twin answers as docs/routing.md tells it, from the Spec and without any of
// the code it is compared with: sort the routes of each host, try one after the other.

type slowTable map[string][]RouteSpec

// newSlowTable takes a Spec in lower case and without duplicates.
func newSlowTable(s Spec) slowTable {
	t := slowTable{}
	for _, r := range s.Routes {
		t[r.Host] = append(t[r.Host], r)
	}
	for _, routes := range t {
		slices.SortFunc(routes, slowOrder)
	}
	return t
}

// match returns the owner of the route that takes a request, "default" when there is none.
func (t slowTable) match(host, path string) string {
	exact := host
	if strings.HasPrefix(host, "*") {
		exact = "no such rule" // a client that says "*.w.test" does not mean the rule
	}
	for _, rule := range []string{exact, slowWildcard(host), ""} {
		routes, found := t[rule]
		if !found {
			continue
		}
		for _, r := range routes {
			if slowTakes(r, path) {
				return r.Owner
			}
		}
		return "default"
	}
	return "default"
}

func slowWildcard(host string) string {
	label, rest, ok := strings.Cut(host, ".")
	if !ok || label == "" || label == "*" {
		return "no such rule"
	}
	return "*." + rest
}

func slowOrder(a, b RouteSpec) int {
	exact := func(r RouteSpec) bool { return r.PathType == Exact }
	rank := func(r RouteSpec) int {
		switch {
		case r.PathType == Prefix:
			return 1
		case !r.Regex:
			return 2
		}
		return 3
	}
	length := func(r RouteSpec) int {
		if r.PathType == Prefix {
			return max(1, len(strings.TrimRight(r.Path, "/")))
		}
		return len(r.Path)
	}
	switch {
	case exact(a) != exact(b) && exact(a):
		return -1
	case exact(a) != exact(b):
		return 1
	case length(a) != length(b):
		return length(b) - length(a)
	case rank(a) != rank(b):
		return rank(a) - rank(b)
	case a.Created != b.Created:
		return int(a.Created - b.Created)
	case a.Owner != b.Owner:
		return strings.Compare(a.Owner, b.Owner)
	}
	return strings.Compare(a.Path, b.Path)
}

var slowPatterns = map[string]*regexp.Regexp{}

func slowTakes(r RouteSpec, path string) bool {
	switch {
	case r.PathType == Exact:
		return path == r.Path
	case r.PathType == Prefix:
		rule := strings.Split(strings.TrimRight(r.Path, "/"), "/")
		asked := strings.Split(path, "/")
		return len(asked) >= len(rule) && slices.Equal(asked[:len(rule)], rule)
	case r.Regex:
		re := slowPatterns[r.Path]
		if re == nil {
			re = regexp.MustCompile("(?i)^(?:" + r.Path + ")")
			slowPatterns[r.Path] = re
		}
		return re.MatchString(path)
	}
	return strings.HasPrefix(path, r.Path)
}

// randomPath makes short paths of few letters, so that they often are prefixes of each other.
func randomPath(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(4) {
		b.WriteByte('/')
		for range rng.IntN(4) {
			b.WriteByte("aaabAk~%"[rng.IntN(7)])
		}
	}
	return b.String()
}

func randomRegex(rng *rand.Rand) string {
	pieces := []string{"/", "a", "b", ".", ".*", "a+", "[ab]", "(a|b)", "k", "/a", "a?", "$", "|/b"}
	pattern := "/"
	for range 1 + rng.IntN(4) {
		pattern += pieces[rng.IntN(len(pieces))]
	}
	return pattern
}

var twinHosts = []string{"", "a.test", "b.test", "*.w.test", "x.w.test", "*.test", "[::1]"}

// randomSpec makes routes without duplicates; who owns a route names it.
func randomSpec(rng *rand.Rand, routes int) Spec {
	s := Spec{Backends: []BackendSpec{{Name: "web"}}, DefaultBackend: "web"}
	seen := map[string]bool{}
	for i := range routes {
		r := RouteSpec{
			Host: twinHosts[rng.IntN(len(twinHosts))], Path: randomPath(rng), PathType: PathType(rng.IntN(3)),
			Backend: "web", Created: rng.Int64N(3), Owner: fmt.Sprintf("ns/%d", i),
		}
		if r.PathType == ImplementationSpecific && rng.IntN(2) == 0 {
			r.Regex, r.Path = true, randomRegex(rng)
		}
		key := r.Path
		if r.PathType == Prefix {
			key = strings.TrimRight(r.Path, "/")
		}
		key = fmt.Sprintf("%s %s %s", r.Host, key, r.PathType)
		if !seen[key] {
			seen[key] = true
			s.Routes = append(s.Routes, r)
		}
	}
	return s
}

// TestMatchAgainstSlowTwin compares on tables of few rules, which are scanned, and of
// many, which are walked: 50,000 requests in all.
func TestMatchAgainstSlowTwin(t *testing.T) {
	var kept *Table // a table of other paths, so that sharing is put to the test too
	for _, routes := range []int{5, 20, 60, 150, 400} {
		for seed := range uint64(50) {
			rng := rand.New(rand.NewPCG(seed, uint64(routes)))
			spec := randomSpec(rng, routes)
			table, diagnostics := Compile(named(spec), kept)
			kept = table
			if len(diagnostics) > 0 {
				t.Fatalf("seed %d: %v\n%+v", seed, diagnostics, spec)
			}
			slow := newSlowTable(spec)
			for range 200 {
				host := []string{"a.test", "b.test", "x.w.test", "y.w.test", "c.test", "other", ".w.test", "*.w.test", "[::1]", ""}[rng.IntN(10)]
				path := randomPath(rng)
				got := "none"
				if r := table.Match(host, path); r != nil {
					got = r.Backend.Name
				}
				if want := slow.match(host, path); got != want {
					t.Fatalf("seed %d, %d routes: %q %q goes to %s, want %s\n%s", seed, routes, host, path, got, want, table.Text())
				}
			}
		}
	}
}

// named gives every route a backend that is called like its owner, so that the answer
// tells which route it was.
func named(s Spec) Spec {
	s.Routes = slices.Clone(s.Routes)
	s.Backends = []BackendSpec{{Name: "default"}}
	s.DefaultBackend = "default"
	for i := range s.Routes {
		s.Routes[i].Backend = s.Routes[i].Owner
		s.Backends = append(s.Backends, BackendSpec{Name: s.Routes[i].Owner})
	}
	return s
}

// TestRandomSpecs checks on random tables that the text is canonical, that the order of
// lists does not matter, and that sharing with a kept table changes nothing.
func TestRandomSpecs(t *testing.T) {
	var kept *Table
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 1))
		spec := randomSpec(rng, 40)
		table, diagnostics := Compile(spec)
		checkCanonical(t, table)
		checkOrderIndependence(t, spec, table, diagnostics)
		shared, _ := Compile(spec, kept)
		if shared.Text() != table.Text() || shared.Digest() != table.Digest() {
			t.Fatalf("seed %d: beside a kept table:\n%s\nalone:\n%s", seed, shared.Text(), table.Text())
		}
		kept = shared
	}
}

// FuzzText feeds arbitrary descriptions: what parses compiles, and the text of what was
// compiled is canonical.
func FuzzText(f *testing.F) {
	for _, text := range specTexts(f) {
		f.Add(text)
	}
	f.Add("route \"a b\" \"\\xff\\n\" Exact -> \"\\u2028\"")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := ParseText(text)
		if err != nil {
			return
		}
		table, _ := Compile(spec)
		checkCanonical(t, table)
		for _, r := range table.Routes() {
			if r.Regex {
				continue
			}
			got := table.Match(strings.Replace(r.Host, "*", "x", 1), r.Path)
			if got == nil {
				t.Fatalf("the path of %v is not matched\n%s", r, table.Text())
			}
		}
	})
}
