//go:build cluster

package kube

import (
	"testing"

	networking "k8s.io/api/networking/v1"
)

// TestClassAndAnnotation (K01): the annotation decides; a class is ours by its
// controller, not by its name; a class that does not exist is a Warning, one of
// somebody else silence. An annotation against ingressClassName is not here: the API
// server takes none.
func TestClassAndAnnotation(t *testing.T) {
	const annotation = "kubernetes.io/ingress.class"
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	nginx := class("nginx")
	nginx.Spec.Controller = "k8s.io/ingress-nginx"
	w.put(nginx, class("second"))
	for _, i := range []struct {
		name, class string
		annotation  []string
		want        any
	}{
		{"ours", "ramjet", nil, "shop"},
		{"ours-by-controller", "second", nil, "shop"},
		{"theirs", "nginx", nil, 404},
		{"unknown", "nowhere", nil, 404},
		{"annotated", "", []string{annotation, "ramjet"}, "shop"},
		{"annotated-with-class", "ramjet", []string{annotation, "ramjet"}, "shop"},
		{"annotated-for-another", "", []string{annotation, "nginx"}, 404},
		{"annotated-empty", "", []string{annotation, ""}, 404},
		{"annotated-by-controller-only", "", []string{annotation, "second"}, 404},
	} {
		t.Run(i.name, func(t *testing.T) {
			object := annotated(ingress(i.name, rule{host: i.name + ".test", path: "/", service: "shop"}), i.annotation...)
			object.Spec.IngressClassName = &i.class
			if i.class == "" {
				object.Spec.IngressClassName = nil
			}
			w.put(object)
			// The next Ingress is served after this one was looked at.
			marker := ingress("marker", rule{host: "marker.test", path: "/" + i.name, service: "shop"})
			w.put(marker)
			c.comes("marker.test", "/"+i.name, "shop")
			c.is(i.name+".test", "/", i.want)
		})
	}
	w.warned("unknown", "IngressRejected", "nowhere")
	if all := w.about("Ingress", "theirs"); len(all) > 0 {
		t.Errorf("somebody else's Ingress has Events of ours:%s", lines(all))
	}

	t.Log("two classes are the default one; that of another controller is of no matter")
	standard := class("second")
	standard.Annotations = map[string]string{networking.AnnotationIsDefaultIngressClass: "true"}
	nginx.Annotations = standard.Annotations
	none := ingress("none", rule{host: "none.test", path: "/", service: "shop"})
	none.Spec.IngressClassName = nil
	w.put(none)
	c.is("none.test", "/", 404)
	w.put(nginx, standard)
	c.comes("none.test", "/", "shop")
}
