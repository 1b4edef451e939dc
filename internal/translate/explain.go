package translate

import (
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

// Explain returns the warnings of the translation together with those that follow from
// what compiling found: d are the diagnostics of route.Compile for t.Spec, p the problems
// of certs.Build for t.Certs. Each comes out on the Ingresses that are concerned. The
// result is sorted like t.Warnings.
func (t Translation) Explain(d []route.Diagnostic, p []certs.Problem) []Warning {
	if len(d) == 0 && len(p) == 0 {
		return t.Warnings
	}
	notes := t.notes[:len(t.notes):len(t.notes)]
	for _, diagnostic := range d {
		notes = append(notes, t.explain(diagnostic)...)
	}
	for _, problem := range p {
		name := types.NamespacedName{Namespace: problem.Namespace, Name: problem.Name}
		for _, user := range t.origin.secrets[problem.ID] {
			notes = append(notes, secretNote(user, name, problem.Message))
		}
	}
	return render(notes)
}

// explain finds whom a diagnostic concerns. Translating settles conflicts and looks up
// references, so what is left is about expressions; the rest is passed on in the words of
// the compiler, in case that it finds what was overlooked here.
func (t Translation) explain(d route.Diagnostic) []note {
	switch {
	case d.Kind == route.KindRoute && 0 <= d.Index && d.Index < len(t.origin.routes):
		return []note{t.origin.routes[d.Index].explain(d)}
	case d.Kind == route.KindBackend && 0 <= d.Index && d.Index < len(t.Spec.Backends):
		return t.explainBackend(t.Spec.Backends[d.Index].Name, d)
	case d.Kind == route.KindCert && 0 <= d.Index && d.Index < len(t.Spec.Certs):
		return t.explainCert(t.Spec.Certs[d.Index].ID, d)
	}
	return nil
}

// explain says what is wrong with a route, its canary or its mirror. The message names the
// route.
func (c *claim) explain(d route.Diagnostic) note {
	switch d.Reason {
	case route.ReasonInvalidCanary:
		if c.canary != nil {
			return note{object: c.canary.ref, reason: ReasonInvalidAnnotation, text: d.Message}
		}
	case route.ReasonInvalidMirror:
		return note{object: c.plan.ref, reason: ReasonMirrorRejected, text: d.Message}
	case route.ReasonUnknownBackend:
		return note{object: c.plan.ref, reason: ReasonServiceUnresolved, text: d.Message}
	case route.ReasonDuplicateRoute:
		return note{object: c.plan.ref, reason: ReasonPathConflict, text: d.Message}
	}
	return note{object: c.plan.ref, reason: ReasonIngressRejected, text: d.Message}
}

// explainBackend tells everybody who leads to a backend.
func (t Translation) explainBackend(name string, d route.Diagnostic) (notes []note) {
	for _, c := range t.origin.routes {
		if c.Backend == name {
			notes = append(notes, note{object: c.plan.ref, reason: ReasonServiceUnresolved, text: d.Message})
		}
		if c.Canary != nil && c.Canary.Backend == name {
			notes = append(notes, note{object: c.canary.ref, reason: ReasonServiceUnresolved, text: d.Message})
		}
	}
	return notes
}

// explainCert tells everybody who claims a host with the material.
func (t Translation) explainCert(id route.CertID, d route.Diagnostic) (notes []note) {
	reason := ReasonIngressRejected
	if d.Reason == route.ReasonDuplicateCert {
		reason = ReasonHostConflict
	}
	for _, user := range t.origin.secrets[id] {
		notes = append(notes, note{object: user, reason: reason, text: d.Message})
	}
	return notes
}
