package route

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestCompile runs the scripts of testdata/compile: a description, the canonical text
// it compiles to, and what is reported. The text must be its own compilation, and the
// order of the description's lists must not matter.
func TestCompile(t *testing.T) {
	scripts(t, "compile", func(t *testing.T, s *script) {
		spec := parse(t, s.sections[""])
		table, diagnostics := Compile(spec)
		s.expect(t, "text", table.Text())
		s.expect(t, "diagnostics", listDiagnostics(diagnostics))
		checkCanonical(t, table)
		checkOrderIndependence(t, spec, table, diagnostics)
	})
}

func listDiagnostics(diagnostics []Diagnostic) string {
	var b strings.Builder
	for _, d := range diagnostics {
		fmt.Fprintf(&b, "%s %d %v\n", d.Kind, d.Index, d)
	}
	return b.String()
}

// checkCanonical checks that the text of a table compiles to a table with that text.
func checkCanonical(t testing.TB, table *Table) {
	t.Helper()
	text := table.Text()
	spec, err := ParseText(text)
	if err != nil {
		t.Fatalf("the text of a table does not parse: %v\n%s", err, text)
	}
	again, _ := Compile(spec)
	if again.Text() != text || again.Digest() != table.Digest() {
		t.Fatalf("text:\n%s\ncompiles to:\n%s", text, again.Text())
	}
	if d := Compare(table, again).Summary(1, 2); d != "no visible change (gen 1→2)" {
		t.Fatalf("a table differs from the compilation of its text: %s\n%s", d, text)
	}
}

func checkOrderIndependence(t testing.TB, spec Spec, table *Table, diagnostics []Diagnostic) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		shuffle(rng, &spec)
		again, others := Compile(spec)
		if again.Text() != table.Text() {
			t.Fatalf("another order:\n%s\ncompiles to:\n%s\nwanted:\n%s", fmt.Sprintf("%+v", spec), again.Text(), table.Text())
		}
		if !slices.Equal(messages(diagnostics), messages(others)) {
			t.Fatalf("another order reports %q, wanted %q", messages(others), messages(diagnostics))
		}
	}
}

// messages returns what was said, without where.
func messages(diagnostics []Diagnostic) []string {
	list := make([]string, len(diagnostics))
	for i, d := range diagnostics {
		list[i] = d.Kind.String() + " " + d.String()
	}
	slices.Sort(list)
	return list
}

// shuffle changes the order of every list of a Spec.
func shuffle(rng *rand.Rand, s *Spec) {
	mix := func(n int, swap func(i, j int)) { rng.Shuffle(n, swap) }
	s.Backends = slices.Clone(s.Backends)
	mix(len(s.Backends), func(i, j int) { s.Backends[i], s.Backends[j] = s.Backends[j], s.Backends[i] })
	for i := range s.Backends {
		e := slices.Clone(s.Backends[i].Endpoints)
		mix(len(e), func(i, j int) { e[i], e[j] = e[j], e[i] })
		s.Backends[i].Endpoints = e
	}
	s.Routes = slices.Clone(s.Routes)
	mix(len(s.Routes), func(i, j int) { s.Routes[i], s.Routes[j] = s.Routes[j], s.Routes[i] })
	s.Certs = slices.Clone(s.Certs)
	mix(len(s.Certs), func(i, j int) { s.Certs[i], s.Certs[j] = s.Certs[j], s.Certs[i] })
	s.Hosts = slices.Clone(s.Hosts)
	mix(len(s.Hosts), func(i, j int) { s.Hosts[i], s.Hosts[j] = s.Hosts[j], s.Hosts[i] })
}

// TestCompileRefusesWhatTextCannotSay covers values outside the enums and the ranges.
func TestCompileRefusesWhatTextCannotSay(t *testing.T) {
	_, diagnostics := Compile(Spec{
		Backends: []BackendSpec{
			{Name: "policy", Policy: 9},
			{Name: "protocol", Protocol: 9},
			{Name: "web", Endpoints: []EndpointSpec{{Address: "a.test:80", Weight: math.MaxInt32 + 1}}},
		},
		Routes: []RouteSpec{
			{Host: "a.test", Path: "/type", PathType: 9, Backend: "web"},
			{Host: "a.test", Path: "/regex", PathType: Prefix, Regex: true, Backend: "web"},
			{Host: "a.test", Path: "/ok", Backend: "web", Canary: &CanarySpec{Backend: "web", Weight: 1, WeightTotal: math.MaxInt32 + 1}},
		},
	})
	want := []string{
		"backend 0 InvalidBackend", "backend 1 InvalidBackend", "backend 2 InvalidWeight",
		"route 0 InvalidPath", "route 1 InvalidRegex", "route 2 InvalidCanary",
	}
	var got []string
	for _, d := range diagnostics {
		got = append(got, fmt.Sprintf("%s %d %s", d.Kind, d.Index, d.Reason))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q\n%s", got, want, listDiagnostics(diagnostics))
	}
}

// TestCompileOneBrokenObjectAmongGood checks that what is around a refused object is
// as if it were not there.
func TestCompileOneBrokenObjectAmongGood(t *testing.T) {
	spec := cluster(20, 3)
	clean, _ := Compile(spec)
	spec.Routes = append(spec.Routes, RouteSpec{Host: "host-1.example.com", Path: "/(", PathType: ImplementationSpecific, Regex: true, Backend: "fallback"})
	spec.Certs = append(spec.Certs, CertSpec{Host: "a..b", ID: 1})
	spec.Backends = append(spec.Backends, BackendSpec{})
	broken, diagnostics := Compile(spec, clean)
	if len(diagnostics) != 3 || broken.Digest() != clean.Digest() {
		t.Errorf("%d diagnostics, digest changed: %v\n%s", len(diagnostics), broken.Digest() != clean.Digest(), listDiagnostics(diagnostics))
	}
}
