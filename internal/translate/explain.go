package translate

import (
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

// Explain returns the warnings of the translation together with those that follow from
// what compiling found, which only certificates make likely: d are the diagnostics of route.Compile for t.Spec, p the problems
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
			notes = append(notes, secretNote(user, name, problem.Message, hostsHeld))
		}
	}
	return render(notes)
}

// reasons are those of a diagnostic in the words of a warning.
var reasons = map[string]string{
	route.ReasonInvalidHost:       ReasonIngressRejected,
	route.ReasonInvalidPath:       ReasonIngressRejected,
	route.ReasonInvalidRegex:      ReasonIngressRejected,
	route.ReasonDuplicateRoute:    ReasonPathConflict,
	route.ReasonDuplicateCert:     ReasonHostConflict,
	route.ReasonUnknownBackend:    ReasonServiceUnresolved,
	route.ReasonInvalidBackend:    ReasonServiceUnresolved,
	route.ReasonDuplicateBackend:  ReasonServiceUnresolved,
	route.ReasonInvalidEndpoint:   ReasonServiceUnresolved,
	route.ReasonDuplicateEndpoint: ReasonServiceUnresolved,
	route.ReasonInvalidWeight:     ReasonServiceUnresolved,
	route.ReasonInvalidCanary:     ReasonInvalidAnnotation,
	route.ReasonInvalidMirror:     ReasonMirrorRejected,
}

// explain passes a diagnostic on to whom it concerns. Translating looks up references,
// settles conflicts and checks what it reads, so there is nothing left for compiling to
// find. Should there be something, its owner hears of it all the same.
func (t Translation) explain(d route.Diagnostic) (notes []note) {
	for _, ref := range t.concerned(d) {
		notes = append(notes, note{object: ref, reason: reasons[d.Reason], text: d.Message})
	}
	return notes
}

// concerned finds the Ingresses that an element of the Spec came from.
func (t Translation) concerned(d route.Diagnostic) (refs []Ref) {
	switch {
	case d.Kind == route.KindRoute && d.Reason == route.ReasonInvalidCanary && t.origin.routes[d.Index].canary != nil:
		return []Ref{t.origin.routes[d.Index].canary.ref}
	case d.Kind == route.KindRoute:
		return []Ref{t.origin.routes[d.Index].plan.ref}
	case d.Kind == route.KindCert:
		return t.origin.secrets[t.Spec.Certs[d.Index].ID]
	case d.Kind == route.KindBackend:
		name := t.Spec.Backends[d.Index].Name
		for _, c := range t.origin.routes {
			if c.Backend == name {
				refs = append(refs, c.plan.ref)
			}
		}
	}
	return refs
}
