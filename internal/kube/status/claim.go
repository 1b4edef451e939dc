package status

import (
	networkingv1 "k8s.io/api/networking/v1"

	"ramjet.dev/ingress/internal/translate"
)

// classAnnotation is how the class of an Ingress was named before spec.ingressClassName.
const classAnnotation = "kubernetes.io/ingress.class"

// claim is whose an Ingress is, as far as its class says.
type claim uint8

const (
	// mine: this deployment serves it, or is about to.
	mine claim = iota
	// unclear: another deployment of this program may serve it. Both write under the same
	// name, so that neither may clear what the other wrote.
	unclear
	// foreign: no deployment of this program serves it.
	foreign
)

// claimOf reads the class of an Ingress. class is the value of the annotation that makes
// an Ingress ours.
func claimOf(ing *networkingv1.Ingress, classes []*networkingv1.IngressClass, class string) claim {
	if named, ok := ing.Annotations[classAnnotation]; ok {
		if named == class {
			return mine
		}
		if c := find(classes, named); c != nil && !ours(c) {
			return foreign
		}
		return unclear
	}
	if named := ing.Spec.IngressClassName; named != nil {
		if c := find(classes, *named); c != nil && ours(c) {
			return mine
		}
		return foreign
	}
	for _, c := range classes {
		if ours(c) && c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			return mine
		}
	}
	return foreign
}

func find(classes []*networkingv1.IngressClass, name string) *networkingv1.IngressClass {
	for _, c := range classes {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func ours(c *networkingv1.IngressClass) bool { return c.Spec.Controller == translate.ControllerName }
