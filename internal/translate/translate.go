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
	// SecretsUnread says that Secrets could not be read, so that none of them is missing.
	SecretsUnread bool
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
	// Promotions are the canary Ingresses that ask for auto-promotion, sorted like Ours.
	Promotions []Promotion
	// Warnings are sorted by object, reason and message, and each is there once. What
	// only compiling can find is not among them: see [Translation.Explain].
	Warnings []Warning

	notes  []note
	origin origin
}

// Translate translates a snapshot. It always returns a result, however broken the
// objects are.
func Translate(s Snapshot, o Options) Translation {
	return newTranslation(s, o, &Translator{services: newServices(s.Services, s.Slices)}).run(s)
}

func newTranslation(s Snapshot, o Options, before *Translator) *translation {
	return &translation{
		options:  o,
		before:   before,
		services: before.services,
		secrets:  newSecrets(s, before.pairs),
	}
}

// run takes the steps of a translation.
func (t *translation) run(s Snapshot) Translation {
	t.selectOurs(s)
	t.claimRoutes()
	t.claimDefaults()
	t.joinCanaries()
	t.addMirrors()
	t.settleProtocols()
	t.addCertificates()
	t.claimHosts()
	return t.result()
}

// translation is the state of one translation. The steps of run fill it in their order.
type translation struct {
	options  Options
	before   *Translator // what was read before
	services *services
	secrets  *secrets

	ours  []*networkingv1.Ingress // by namespace and name
	plans []*plan                 // of ours, the older first: the order in which claims are settled

	pool     []claim              // not in use yet
	routes   []*claim             // in the order of the plans; those of defaultBackend last
	claims   map[route.Key]*claim // the same by what they claim
	fallback string               // the backend of --default-backend
	certs    certificates
	bare     []bareHosts
	hosts    []string
	notes    []note
}

// claim is a route that won its key.
type claim struct {
	route.RouteSpec
	plan *plan
	// backend is what the route leads to.
	backend *backend
	// canary is the plan of the canary Ingress that has joined the route, mirror the
	// backend of its copies; nil is none.
	canary        *plan
	canaryBackend *backend
	mirror        *backend
	// implied marks the route of a spec.defaultBackend.
	implied bool
}

// note adds a warning on the Ingress of a plan.
func (t *translation) note(p *plan, n note) {
	n.object = p.ref
	t.notes = append(t.notes, n)
}

// origin says where the elements of a Spec come from, by index, and who uses which
// material.
type origin struct {
	routes  []*claim
	secrets map[route.CertID][]Ref
}

// result puts everything together.
func (t *translation) result() Translation {
	r := Translation{
		Ours:       t.ours,
		Promotions: t.promotions(),
		Certs:      t.certs.material,
		origin:     origin{routes: t.routes, secrets: t.certs.users},
	}
	r.Spec = route.Spec{
		Backends:       t.services.specs(),
		Routes:         make([]route.RouteSpec, len(t.routes)),
		Certs:          t.certs.specs,
		Hosts:          t.hosts,
		DefaultBackend: t.fallback,
	}
	for i, c := range t.routes {
		r.Spec.Routes[i] = c.RouteSpec
	}
	for _, p := range t.plans {
		t.notes = append(t.notes, p.notes...)
	}
	r.notes = t.notes
	r.Warnings = render(t.notes)
	return r
}
