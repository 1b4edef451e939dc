package watch

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func ingress(change ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
	class, prefix := "ramjet", networkingv1.PathTypePrefix
	i := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "shop", UID: "1", ResourceVersion: "10",
			Annotations: map[string]string{"nginx.ingress.kubernetes.io/use-regex": "true"},
		},
		Spec: networkingv1.IngressSpec{IngressClassName: &class, Rules: []networkingv1.IngressRule{{
			Host: "shop.test", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix}},
			}},
		}}},
	}
	for _, c := range change {
		c(i)
	}
	return i
}

// Who hears of which change of an Ingress. What this program writes itself must never
// make it compile.
func TestCompareIngresses(t *testing.T) {
	for _, c := range []struct {
		intent string
		change func(*networkingv1.Ingress)
		want   effect
	}{
		{"status", func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		}, forWriters},
		{"our own annotation", func(i *networkingv1.Ingress) { i.Annotations[ObservedGeneration] = "7" }, forWriters},
		{"managed fields", func(i *networkingv1.Ingress) {
			i.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: FieldManager, Subresource: "status"}}
		}, forWriters},
		{"kubectl's copy of the object", func(i *networkingv1.Ingress) { i.Annotations[corev1.LastAppliedConfigAnnotation] = "{}" }, forWriters},
		{"labels", func(i *networkingv1.Ingress) { i.Labels = map[string]string{"a": "b"} }, forWriters},
		{"another annotation", func(i *networkingv1.Ingress) { i.Annotations["ramjet.dev/mirror-percent"] = "5" }, forCompiling},
		{"an annotation less", func(i *networkingv1.Ingress) { clear(i.Annotations) }, forCompiling},
		{"one annotation for another", func(i *networkingv1.Ingress) {
			clear(i.Annotations)
			i.Annotations["ramjet.dev/mirror-percent"] = "5"
		}, forCompiling},
		{"a value", func(i *networkingv1.Ingress) { i.Annotations["nginx.ingress.kubernetes.io/use-regex"] = "false" }, forCompiling},
		{"the spec", func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "other.test" }, forCompiling},
	} {
		was, is := slimIngress(ingress()), slimIngress(ingress(c.change))
		if got := compareIngresses(was, is); got != c.want {
			t.Errorf("%s: %d, want %d", c.intent, got, c.want)
		}
	}
}

// Of the managed fields the one bit is kept that says whose the status is, also when an
// object is slimmed again.
func TestOwnsStatus(t *testing.T) {
	for _, c := range []struct {
		intent string
		fields []metav1.ManagedFieldsEntry
		want   bool
	}{
		{"nobody", nil, false},
		{"ours", []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: FieldManager, Subresource: "status", FieldsV1: &metav1.FieldsV1{}}}, true},
		{"another's status", []metav1.ManagedFieldsEntry{{Manager: "nginx", Subresource: "status"}}, false},
		{"our annotation only", []metav1.ManagedFieldsEntry{{Manager: FieldManager}}, false},
	} {
		i := slimIngress(slimIngress(ingress(func(i *networkingv1.Ingress) { i.ManagedFields = c.fields })))
		if OwnsStatus(i) != c.want {
			t.Errorf("%s: %v", c.intent, !c.want)
		}
		for _, f := range i.ManagedFields {
			if f.FieldsV1 != nil {
				t.Errorf("%s: the fields are kept", c.intent)
			}
		}
	}
}

// TestSlim: what nobody reads is gone, and a change of it is none.
func TestSlim(t *testing.T) {
	published := types.NamespacedName{Namespace: "ops", Name: "lb"}
	service := func(namespace, name string) *corev1.Service {
		s := &corev1.Service{}
		s.Namespace, s.Name = namespace, name
		s.Labels = map[string]string{"a": "b"}
		s.Spec.Selector = map[string]string{"app": "web"}
		s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 80}}
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		return s
	}
	lb, web := slimService(published)(service("ops", "lb")), slimService(published)(service("prod", "web"))
	if len(lb.Status.LoadBalancer.Ingress) != 1 || len(web.Status.LoadBalancer.Ingress) != 0 || web.Spec.Selector != nil || web.Labels != nil || len(web.Spec.Ports) != 1 {
		t.Errorf("%v %v", lb, web)
	}
	moved := service("ops", "lb")
	moved.Status.LoadBalancer.Ingress[0].IP = "192.0.2.2"
	if got := compareServices(lb, slimService(published)(moved)); got != forWriters {
		t.Errorf("an address of the published Service: %d", got)
	}

	node, ready := "node-1", true
	slice := &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}, NodeName: &node}}}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: "web", "other": "x"}
	slim := slimSlice(slice)
	if e := slim.Endpoints[0]; e.NodeName != nil || e.Conditions.Ready == nil || len(e.Addresses) != 1 || len(slim.Labels) != 1 {
		t.Errorf("%v", slim)
	}
	slice.Labels["other"] = "y"
	if got := compareSlices(slim, slimSlice(slice)); got != forNobody {
		t.Errorf("a label that nobody reads: %d", got)
	}

	secret := &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": []byte("c"), "tls.key": []byte("k"), "ca.crt": []byte(strings.Repeat("x", 1<<20))}}
	if s := slimSecret(secret); len(s.Data) != 2 {
		t.Errorf("%d keys are kept", len(s.Data))
	}
	class := &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: "ramjet.dev/ingress"}}
	class.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true", "x": "y"}
	if c := slimClass(class); len(c.Annotations) != 1 || c.Spec.Controller == "" {
		t.Errorf("%v", c)
	}
}
