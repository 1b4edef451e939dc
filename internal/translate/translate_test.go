package translate

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ramjet.dev/ingress/internal/route"
)

func TestSmallest(t *testing.T) {
	prefix, port, class := networkingv1.PathTypePrefix, int32(8080), "ramjet"
	s := Snapshot{
		Classes: []*networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{Controller: ControllerName}}},
		Ingresses: []*networkingv1.Ingress{{
			ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"},
			Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
				Host: "shop.test",
				IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
					Path: "/", PathType: &prefix,
					Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}},
				}}}},
			}}},
		}},
		Services: []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}},
		Slices: []*discoveryv1.EndpointSlice{{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "prod", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Port: &port}},
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
		}},
	}
	got := Translate(s, Options{Class: "ramjet"})
	table, diagnostics := route.Compile(got.Spec)
	if len(got.Warnings) > 0 || len(diagnostics) > 0 || len(got.Ours) != 1 {
		t.Fatalf("warnings %v, diagnostics %v, ours %d", got.Warnings, diagnostics, len(got.Ours))
	}
	if want := "route shop.test / Prefix -> prod/web:80\n"; !strings.Contains(table.Text(), want) {
		t.Errorf("got\n%swant a line %s", table.Text(), want)
	}
}
