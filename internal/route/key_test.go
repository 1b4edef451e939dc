package route

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestKeySaysWhatIsTwice: two routes have one key exactly when the compiler leaves one of
// them out as the duplicate of the other, and no key exactly when it refuses them.
func TestKeySaysWhatIsTwice(t *testing.T) {
	hosts := []string{"", "a.test", "A.test", "[::1]", "[0:0::1]", "*.w.test", "*.W.test", "a:80", "a..test"}
	paths := []string{"", "/", "//", "/A", "/%41", "/a/", "/a", "/x/../a", "/.", "/%", "a", "/a?b"}
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() RouteSpec {
		r := RouteSpec{
			Host: hosts[rng.IntN(len(hosts))], Path: paths[rng.IntN(len(paths))], PathType: PathType(rng.IntN(4)), Backend: "web",
		}
		r.Regex = r.PathType == ImplementationSpecific && rng.IntN(2) == 0
		return r
	}
	for range 20_000 {
		a, b := draw(), draw()
		_, diagnostics := Compile(Spec{Backends: []BackendSpec{{Name: "web"}}, Routes: []RouteSpec{a, b}})
		reported := func(index int, reasons ...string) bool {
			return slices.ContainsFunc(diagnostics, func(d Diagnostic) bool {
				return (index < 0 || d.Index == index) && slices.Contains(reasons, d.Reason)
			})
		}
		aKey, aErr := a.Key()
		bKey, bErr := b.Key()
		if refused := reported(0, ReasonInvalidHost, ReasonInvalidPath); refused != (aErr != nil) {
			t.Fatalf("%+v: the key's error is %v, the compiler says %v", a, aErr, diagnostics)
		}
		if twice := reported(-1, ReasonDuplicateRoute); twice != (aErr == nil && bErr == nil && aKey == bKey) {
			t.Fatalf("%+v has %v, %+v has %v, the compiler says %v", a, aKey, b, bKey, diagnostics)
		}
	}
}

// TestCertKey is the same for certificates.
func TestCertKey(t *testing.T) {
	hosts := []string{"", "*", "a.test", "A.test", "[::1]", "[0:0::1]", "*.w.test", "*.W.test", "a:80"}
	for _, a := range hosts {
		for _, b := range hosts {
			claims := []CertSpec{{Host: a, ID: 1}, {Host: b, ID: 2}}
			_, diagnostics := Compile(Spec{Certs: claims})
			twice := slices.ContainsFunc(diagnostics, func(d Diagnostic) bool { return d.Reason == ReasonDuplicateCert })
			aKey, aErr := claims[0].Key()
			bKey, bErr := claims[1].Key()
			if twice != (aErr == nil && bErr == nil && aKey == bKey) {
				t.Errorf("%q has %q, %q has %q, the compiler says %v", a, aKey, b, bKey, diagnostics)
			}
		}
	}
}
