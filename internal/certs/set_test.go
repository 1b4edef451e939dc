package certs_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/route"
)

func material(t testing.TB, ca *certtest.Authority, name string) certs.Material {
	t.Helper()
	cert, key := ca.Pair(t, name+".test")
	return certs.Material{Namespace: "prod", Name: name, Cert: cert, Key: key}
}

// Exactly the identities that no kept set holds are parsed: none for an edit that
// touches no certificate, one for a rotation, none for going back.
func TestParsedOnce(t *testing.T) {
	ca := certtest.NewAuthority(t)
	a, b, b2 := material(t, ca, "a"), material(t, ca, "b"), material(t, ca, "b")
	build := func(wantParsed int, want []certs.Material, kept ...*certs.Set) *certs.Set {
		t.Helper()
		set, parsed, problems := certs.Build(want, kept...)
		if parsed != wantParsed || len(problems) > 0 {
			t.Fatalf("parsed %d, want %d; problems %v", parsed, wantParsed, problems)
		}
		return set
	}
	first := build(2, []certs.Material{a, b, a})
	same := build(0, []certs.Material{b, a}, nil, first)
	rotated := build(1, []certs.Material{a, b2}, same)
	without := build(0, []certs.Material{a}, rotated)
	back := build(0, []certs.Material{a, b}, without, rotated, first)
	if back.Get(b.ID()) != first.Get(b.ID()) || back.Get(b.ID()) == nil {
		t.Error("a kept certificate was not taken over")
	}
	if rotated.Get(b.ID()) != nil || rotated.Get(b2.ID()) == nil {
		t.Error("the rotated set holds the wrong certificate")
	}
	build(1, []certs.Material{a, b}, without)
}

// A broken pair that nobody repairs is reported by every build, and parsed by the
// first only; one that is corrected works, and so does every other pair meanwhile.
func TestBrokenPairIsAlone(t *testing.T) {
	ca := certtest.NewAuthority(t)
	good, broken := material(t, ca, "good"), material(t, ca, "broken")
	repaired := broken
	broken.Key = good.Key
	set, parsed, problems := certs.Build([]certs.Material{broken, good})
	if parsed != 2 || len(problems) != 1 || set.Get(good.ID()) == nil || set.Get(broken.ID()) != nil {
		t.Fatalf("parsed %d, problems %v", parsed, problems)
	}
	again, parsed, second := certs.Build([]certs.Material{broken, good}, set)
	if parsed != 0 || !slices.Equal(problems, second) {
		t.Errorf("again: parsed %d, problems %v", parsed, second)
	}
	fixed, parsed, problems := certs.Build([]certs.Material{repaired, good}, again)
	if parsed != 1 || len(problems) != 0 || fixed.Len() != 2 {
		t.Errorf("repaired: parsed %d, problems %v", parsed, problems)
	}
}

// Problems come in one order, however the material was listed.
func TestProblemOrder(t *testing.T) {
	var want []certs.Material
	for _, name := range []string{"b/z", "a/y", "a/x", "b/a"} {
		namespace, name, _ := strings.Cut(name, "/")
		want = append(want, certs.Material{Namespace: namespace, Name: name})
	}
	_, _, problems := certs.Build(want)
	var got []string
	for _, p := range problems {
		got = append(got, p.Namespace+"/"+p.Name)
	}
	if !slices.Equal(got, []string{"a/x", "a/y", "b/a", "b/z"}) {
		t.Error(got)
	}
}

// The identity follows every part, and no part can be shifted into its neighbour.
func TestIdentity(t *testing.T) {
	base := certs.Material{Namespace: "ab", Name: "c", Cert: []byte("de"), Key: []byte("f")}
	seen := map[route.CertID]certs.Material{base.ID(): base}
	for _, m := range []certs.Material{
		{Namespace: "a", Name: "bc", Cert: []byte("de"), Key: []byte("f")},
		{Namespace: "ab", Name: "cd", Cert: []byte("e"), Key: []byte("f")},
		{Namespace: "ab", Name: "c", Cert: []byte("d"), Key: []byte("ef")},
		{Namespace: "ab", Name: "c", Cert: []byte("def")},
		{Namespace: "xx", Name: "c", Cert: []byte("de"), Key: []byte("f")},
		{Namespace: "ab", Name: "x", Cert: []byte("de"), Key: []byte("f")},
		{Namespace: "ab", Name: "c", Cert: []byte("xx"), Key: []byte("f")},
		{Namespace: "ab", Name: "c", Cert: []byte("de"), Key: []byte("x")},
	} {
		if other, ok := seen[m.ID()]; ok {
			t.Errorf("%v has the identity of %v", m, other)
		}
		seen[m.ID()] = m
	}
	// A fixed value: the identity must not change from one release to the next.
	if got := base.ID().String(); got != "2602266c2c7d1188" {
		t.Errorf("ID() = %s", got)
	}
}

func TestExpiry(t *testing.T) {
	ca := certtest.NewAuthority(t)
	now := time.Now().Truncate(time.Second)
	day := 24 * time.Hour
	var want []certs.Material
	for name, end := range map[string]time.Duration{"past": -day, "soon": 13 * day, "edge": 14 * day, "late": 14*day + time.Second} {
		key := certtest.Key(t)
		leaf := ca.Leaf(t, key.Public(), now.Add(end), name+".test")
		want = append(want, certs.Material{Namespace: "prod", Name: name, Cert: certtest.Chain(leaf), Key: certtest.PKCS8(t, key)})
	}
	set, _, problems := certs.Build(want)
	if len(problems) > 0 || set.Len() != 4 {
		t.Fatalf("an expired certificate must be served: %v", problems)
	}
	var got []string
	for _, e := range set.Expiring(now, 14*day) {
		got = append(got, fmt.Sprint(e.Name, " ", e.NotAfter.Sub(now), " ", e.Expired(now)))
	}
	if want := []string{"past -24h0m0s true", "soon 312h0m0s false", "edge 336h0m0s false"}; !slices.Equal(got, want) {
		t.Errorf("expiring: %v, want %v", got, want)
	}
	if earliest, ok := set.EarliestExpiry(); !ok || !earliest.Equal(now.Add(-day)) {
		t.Errorf("earliest %v %v", earliest, ok)
	}
}

func TestEmptySets(t *testing.T) {
	var none *certs.Set
	empty, _, _ := certs.Build(nil)
	for _, s := range []*certs.Set{none, empty} {
		_, any := s.EarliestExpiry()
		if s.Get(1) != nil || s.Len() != 0 || len(s.IDs()) != 0 || any || s.Expiring(time.Now(), time.Hour) != nil {
			t.Errorf("%v is not empty", s)
		}
	}
}

// Whatever prints a value of this package, no part of a key comes out.
func TestNothingPrintsAKey(t *testing.T) {
	m := material(t, certtest.NewAuthority(t), "shop")
	set, _, _ := certs.Build([]certs.Material{m})
	type holder struct {
		M certs.Material
		P *certs.Material
		L []certs.Material
		S *certs.Set
	}
	h := holder{m, &m, []certs.Material{m}, set}
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%t"} {
		for _, v := range []any{m, &m, []certs.Material{m}, map[string]certs.Material{"k": m}, h, &h, set} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	for _, encode := range []func(any) ([]byte, error){json.Marshal, xml.Marshal} {
		text, err := encode(h)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("x", "m", m, "p", &m, "l", []certs.Material{m}, "h", h, "set", set)
	}
	body := string(m.Key[40:60]) // inside the base64 of the key
	for _, form := range []string{body, "PRIVATE", fmt.Sprintf("%x", body), fmt.Sprintf("%X", body), strings.Trim(fmt.Sprint([]byte(body)), "[]")} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%q was printed", form)
		}
	}
	if got := fmt.Sprintf("%v %s", m, set); got != "prod/shop certs.Set(1)" {
		t.Error(got)
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	m := material(t, certtest.NewAuthority(t), "shop")
	set, _, _ := certs.Build([]certs.Material{m})
	id := m.ID()
	if n := testing.AllocsPerRun(100, func() {
		if set.Get(id) == nil {
			t.Fatal("not held")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// However the parsing is spread, the set and the problems are the same.
func TestEach(t *testing.T) {
	ca := certtest.NewAuthority(t)
	kept, good, broken := material(t, ca, "kept"), material(t, ca, "good"), material(t, ca, "broken")
	broken.Key = good.Key
	garbled := material(t, ca, "garbled")
	garbled.Cert = join(garbled.Cert, certtest.Block("CERTIFICATE", []byte("none")))
	before, _, _ := certs.Build([]certs.Material{kept})
	want := []certs.Material{broken, kept, good, broken, {Name: "empty"}, garbled}
	set, parsed, problems := certs.Build(want, before)
	pieces := 0
	backwards, parsedBackwards, again := certs.Each(func(n int, do func(int)) {
		pieces += n
		for i := range n {
			do(n - 1 - i)
		}
	}).Build(want, before)
	if pieces != 4+1 || parsed != 4 || parsedBackwards != 4 { // and one link of a chain
		t.Errorf("%d pieces of work, %d and %d parsed; want 5 and 4", pieces, parsed, parsedBackwards)
	}
	if !slices.Equal(set.IDs(), backwards.IDs()) || set.Len() != 2 || backwards.Get(kept.ID()) != before.Get(kept.ID()) {
		t.Errorf("%v and %v", set.IDs(), backwards.IDs())
	}
	if !slices.Equal(problems, again) || len(problems) != 3 {
		t.Errorf("%v\n%v", problems, again)
	}
}
