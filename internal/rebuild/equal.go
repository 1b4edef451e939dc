package rebuild

import (
	"slices"

	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/translate"
)

// equal reports whether two translations must compile to the same, as far as that can be
// told without compiling: what a Translator took over is one in memory, and endpoints are
// compared. In a large cluster most changes are of endpoints that no route leads to, and
// this is where they end. False says nothing.
func equal(a, b translate.Translation) bool {
	return shared(a.Spec.Routes, b.Spec.Routes) && shared(a.Spec.Certs, b.Spec.Certs) && shared(a.Certs, b.Certs) &&
		slices.Equal(a.Spec.Hosts, b.Spec.Hosts) && a.Spec.DefaultBackend == b.Spec.DefaultBackend &&
		slices.EqualFunc(a.Spec.Backends, b.Spec.Backends, equalBackends)
}

func equalBackends(a, b route.BackendSpec) bool {
	return a.Name == b.Name && a.Policy == b.Policy && a.Protocol == b.Protocol && slices.Equal(a.Endpoints, b.Endpoints)
}

// shared reports whether two lists are one in memory.
func shared[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
