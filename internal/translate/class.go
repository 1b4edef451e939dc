package translate

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// classAnnotation is how the class of an Ingress was named before spec.ingressClassName.
const classAnnotation = "kubernetes.io/ingress.class"

// selectOurs decides which Ingresses are ours, and reads them.
func (t *translation) selectOurs(s Snapshot) {
	classes := newClasses(s.Classes)
	for _, ing := range byName(s.Ingresses) {
		ours, n := classes.decide(ing, t.options.Class)
		if n.reason != "" {
			n.object = refOf(ing)
			t.notes = append(t.notes, n)
		}
		if ours {
			t.ours = append(t.ours, ing)
			t.plans = append(t.plans, t.read(ing))
		}
	}
	slices.SortFunc(t.ours, func(a, b *networkingv1.Ingress) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	slices.SortFunc(t.plans, comparePlans)
}

// read returns what an Ingress says.
func (t *translation) read(ing *networkingv1.Ingress) *plan {
	if p := t.before.plans[ing]; p != nil {
		return p
	}
	return readIngress(ing)
}

// comparePlans puts the older Ingress first, then the smaller "namespace/name".
func comparePlans(a, b *plan) int {
	return cmp.Or(cmp.Compare(a.created, b.created), strings.Compare(a.owner, b.owner))
}

// classes are the IngressClasses by name.
type classes struct {
	byName map[types.NamespacedName]*networkingv1.IngressClass
	// isDefault is set when one of ours takes the Ingresses without a class.
	isDefault bool
}

func newClasses(list []*networkingv1.IngressClass) classes {
	c := classes{byName: byName(list)}
	for _, class := range c.byName {
		if class.Spec.Controller == ControllerName && class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			c.isDefault = true
		}
	}
	return c
}

// decide applies the rules of class in their order: the annotation is decisive, then the
// controller of the class that is named, then whether a class of ours is the default. The
// note is about a class that does not exist.
func (c classes) decide(ing *networkingv1.Ingress, own string) (ours bool, n note) {
	if class, ok := ing.Annotations[classAnnotation]; ok {
		return class == own, note{}
	}
	if ing.Spec.IngressClassName == nil {
		return c.isDefault, note{}
	}
	class, exists := c.byName[types.NamespacedName{Name: *ing.Spec.IngressClassName}]
	if !exists {
		return false, note{reason: ReasonIngressRejected, text: "ingressClassName " + quoted(*ing.Spec.IngressClassName) +
			" names no IngressClass; the Ingress is not served: create the class or correct the name"}
	}
	return class.Spec.Controller == ControllerName, note{}
}

func refOf(ing *networkingv1.Ingress) Ref {
	return Ref{Kind: kindIngress, Namespace: ing.Namespace, Name: ing.Name, UID: ing.UID}
}
