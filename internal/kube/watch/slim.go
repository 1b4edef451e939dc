package watch

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// FieldManager is the name under which this program writes to Ingresses.
	FieldManager = "ramjet-ingress"
	// ObservedGeneration is the annotation that says which generation first had an
	// Ingress as it is. It is written by this program and read by people: to compiling
	// it means nothing.
	ObservedGeneration = "ramjet.dev/observed-generation"
)

// slimMeta keeps of the metadata what names and orders an object.
func slimMeta(m metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID,
		ResourceVersion: m.ResourceVersion, CreationTimestamp: m.CreationTimestamp,
	}
}

// slimIngress keeps the annotations, since which of them are known is not known here,
// but for the copy of the whole object that kubectl leaves; and the status. Of the
// managed fields it keeps the one bit that matters: whether the status is ours.
func slimIngress(i *networkingv1.Ingress) *networkingv1.Ingress {
	meta := slimMeta(i.ObjectMeta)
	meta.Annotations = i.Annotations
	delete(meta.Annotations, corev1.LastAppliedConfigAnnotation)
	for _, f := range i.ManagedFields {
		if f.Manager == FieldManager && f.Subresource == "status" {
			meta.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: FieldManager, Subresource: "status"}}
			break
		}
	}
	return &networkingv1.Ingress{ObjectMeta: meta, Spec: i.Spec, Status: i.Status}
}

// OwnsStatus reports whether the status of an Ingress was written by this program, and
// by nobody else since.
func OwnsStatus(i *networkingv1.Ingress) bool { return len(i.ManagedFields) > 0 }

// compareIngresses lets two versions that say the same share the memory of it, by which
// SameIngress recognises them.
func compareIngresses(was, is *networkingv1.Ingress) effect {
	if !SameIngress(was, is) {
		return forCompiling
	}
	is.Spec = was.Spec
	return forWriters
}

// SameIngress reports whether two versions of an Ingress say the same to compiling: all
// but the status and what this program wrote into the annotations itself. For versions out
// of a Watch that differ in these only it costs next to nothing.
func SameIngress(a, b *networkingv1.Ingress) bool {
	return a == b || a.UID == b.UID && sameAnnotations(a.Annotations, b.Annotations) &&
		a.CreationTimestamp.Equal(&b.CreationTimestamp) &&
		(sharedSpec(&a.Spec, &b.Spec) || equality.Semantic.DeepEqual(a.Spec, b.Spec))
}

// sharedSpec reports whether two specs are one in memory.
func sharedSpec(a, b *networkingv1.IngressSpec) bool {
	return a.IngressClassName == b.IngressClassName && a.DefaultBackend == b.DefaultBackend &&
		sharedList(a.TLS, b.TLS) && sharedList(a.Rules, b.Rules)
}

// sharedList reports whether two lists are one in memory.
func sharedList[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func sameAnnotations(a, b map[string]string) bool {
	count := func(m map[string]string) int {
		if _, ok := m[ObservedGeneration]; ok {
			return len(m) - 1
		}
		return len(m)
	}
	if count(a) != count(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; k != ObservedGeneration && (!ok || v != w) {
			return false
		}
	}
	return true
}

func slimClass(c *networkingv1.IngressClass) *networkingv1.IngressClass {
	meta := slimMeta(c.ObjectMeta)
	if v, ok := c.Annotations[networkingv1.AnnotationIsDefaultIngressClass]; ok {
		meta.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: v}
	}
	return &networkingv1.IngressClass{ObjectMeta: meta, Spec: networkingv1.IngressClassSpec{Controller: c.Spec.Controller}}
}

func compareClasses(was, is *networkingv1.IngressClass) effect {
	if was.Spec.Controller == is.Spec.Controller && maps.Equal(was.Annotations, is.Annotations) {
		return forNobody
	}
	return forCompiling
}

// slimService keeps the status of the one Service whose addresses are published.
func slimService(published types.NamespacedName) func(*corev1.Service) *corev1.Service {
	return func(s *corev1.Service) *corev1.Service {
		slim := &corev1.Service{ObjectMeta: slimMeta(s.ObjectMeta), Spec: corev1.ServiceSpec{
			Type: s.Spec.Type, Ports: s.Spec.Ports, ClusterIP: s.Spec.ClusterIP,
			ExternalName: s.Spec.ExternalName, PublishNotReadyAddresses: s.Spec.PublishNotReadyAddresses,
		}}
		if nameOf(s) == published {
			slim.Status.LoadBalancer = s.Status.LoadBalancer
		}
		return slim
	}
}

func compareServices(was, is *corev1.Service) effect {
	switch {
	case !equality.Semantic.DeepEqual(was.Spec, is.Spec):
		return forCompiling
	case !equality.Semantic.DeepEqual(was.Status, is.Status):
		return forWriters
	}
	return forNobody
}

// slimSlice drops what says on which node and for which pod an endpoint is.
func slimSlice(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	meta := slimMeta(s.ObjectMeta)
	if v, ok := s.Labels[discoveryv1.LabelServiceName]; ok {
		meta.Labels = map[string]string{discoveryv1.LabelServiceName: v}
	}
	endpoints := make([]discoveryv1.Endpoint, len(s.Endpoints))
	for i, e := range s.Endpoints {
		endpoints[i] = discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions}
	}
	return &discoveryv1.EndpointSlice{ObjectMeta: meta, AddressType: s.AddressType, Endpoints: endpoints, Ports: s.Ports}
}

func compareSlices(was, is *discoveryv1.EndpointSlice) effect {
	if maps.Equal(was.Labels, is.Labels) && was.AddressType == is.AddressType &&
		equality.Semantic.DeepEqual(was.Endpoints, is.Endpoints) && equality.Semantic.DeepEqual(was.Ports, is.Ports) {
		return forNobody
	}
	return forCompiling
}

// slimSecret keeps certificate and key.
func slimSecret(s *corev1.Secret) *corev1.Secret {
	slim := &corev1.Secret{ObjectMeta: slimMeta(s.ObjectMeta), Type: s.Type, Data: make(map[string][]byte, 2)}
	for _, k := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if v, ok := s.Data[k]; ok {
			slim.Data[k] = v
		}
	}
	return slim
}

func compareSecrets(was, is *corev1.Secret) effect {
	if was.Type == is.Type && equality.Semantic.DeepEqual(was.Data, is.Data) {
		return forNobody
	}
	return forCompiling
}
