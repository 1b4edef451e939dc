package translate

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

// ControllerName is the spec.controller of the IngressClasses that are ours.
const ControllerName = "ramjet.dev/ingress"

// Snapshot is all that a translation looks at. The order of the lists has no meaning,
// nil elements are passed over, and nothing in them is modified. What is returned refers
// to them, so they must not change afterwards either: objects of an informer's cache are
// right.
type Snapshot struct {
	Ingresses []*networkingv1.Ingress
	Classes   []*networkingv1.IngressClass
	Services  []*corev1.Service
	Slices    []*discoveryv1.EndpointSlice
	// Secrets are those of type kubernetes.io/tls. Others are passed over.
	Secrets []*corev1.Secret
}

// Options are what the flags of the daemon say about a translation.
type Options struct {
	// Class is the value of the annotation kubernetes.io/ingress.class that makes an
	// Ingress ours (--ingress-class).
	Class string
	// DefaultBackend takes the requests that no route takes (--default-backend). The
	// zero value is none: they are answered 404.
	DefaultBackend BackendRef
	// DefaultTLSSecret holds the certificate for server names that no Ingress claims
	// (--default-tls-secret). The zero value is none: their handshakes fail.
	DefaultTLSSecret types.NamespacedName
}

// Translation is the result of [Translate]. It is immutable and shares memory with the
// Snapshot.
type Translation struct {
	// Spec is what to compile.
	Spec route.Spec
	// Certs is the material that Spec names, each identity once.
	Certs []certs.Material
	// Ours are the Ingresses that are served by us, canaries and faulty ones included,
	// sorted by namespace and name.
	Ours []*networkingv1.Ingress
	// Warnings are sorted by object, reason and message, and each is there once. What
	// only compiling can find is not among them: see [Translation.Explain].
	Warnings []Warning
}

// Translate translates a snapshot. It always returns a result, however broken the
// objects are.
func Translate(s Snapshot, o Options) Translation {
	t := newTranslator(s, o)
	t.selectOurs(s.Ingresses)
	for _, ing := range t.byAge {
		t.addRules(ing)
	}
	t.addBackends()
	return Translation{
		Spec:     t.spec,
		Ours:     t.ours,
		Warnings: t.warnings.sorted(),
	}
}

// Explain returns the warnings of the translation together with those that follow from
// what compiling found: d are the diagnostics of route.Compile for t.Spec, p the problems
// of certs.Build for t.Certs. The result is sorted like t.Warnings.
func (t Translation) Explain(d []route.Diagnostic, p []certs.Problem) []Warning {
	return t.Warnings
}
