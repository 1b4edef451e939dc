package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// classAnnotation is how the class of an Ingress was named before spec.ingressClassName.
const classAnnotation = "kubernetes.io/ingress.class"

// selectOurs decides which Ingresses are ours, and in which order they are looked at.
func (t *translator) selectOurs(ingresses []*networkingv1.Ingress) {
	for _, ing := range ingresses {
		if ing != nil && t.isOurs(ing) {
			t.ours = append(t.ours, ing)
		}
	}
	t.byAge = slices.Clone(t.ours)
	slices.SortFunc(t.ours, compareNames)
	slices.SortFunc(t.byAge, func(a, b *networkingv1.Ingress) int {
		return cmp.Or(cmp.Compare(created(a), created(b)), compareNames(a, b))
	})
}

func compareNames(a, b *networkingv1.Ingress) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// created is the age of an Ingress as route.RouteSpec wants it.
func created(ing *networkingv1.Ingress) int64 {
	if ing.CreationTimestamp.IsZero() {
		return 0
	}
	return ing.CreationTimestamp.UnixNano()
}

// isOurs applies the rules of class, in their order: the annotation is decisive, then the
// named class by its controller, then a default class of ours.
func (t *translator) isOurs(ing *networkingv1.Ingress) bool {
	if class, ok := ing.Annotations[classAnnotation]; ok {
		return class == t.options.Class
	}
	if ing.Spec.IngressClassName == nil {
		return t.defaultClass
	}
	class, exists := t.classes[*ing.Spec.IngressClassName]
	if !exists {
		t.warnings.add(refOf(ing), ReasonIngressRejected, fmt.Sprintf(
			"ingressClassName %q names no IngressClass; the Ingress is not served: create the class or correct the name", *ing.Spec.IngressClassName))
		return false
	}
	return class.Spec.Controller == ControllerName
}

func refOf(ing *networkingv1.Ingress) Ref {
	return Ref{Kind: "Ingress", Namespace: ing.Namespace, Name: ing.Name, UID: ing.UID}
}

// addClasses notes the classes, and whether one of ours is the default.
func (t *translator) addClasses(classes []*networkingv1.IngressClass) {
	for _, class := range classes {
		if class == nil {
			continue
		}
		t.classes[class.Name] = class
		if class.Spec.Controller == ControllerName && class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
			t.defaultClass = true
		}
	}
}
