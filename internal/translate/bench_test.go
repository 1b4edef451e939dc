package translate

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

// cluster is 1,000 hosts with 10 paths each in 2,000 Ingresses of 100 namespaces, a
// Service with two endpoints for every path, and 500 certificates.
func cluster(tb testing.TB) (Snapshot, Options) {
	const hosts, paths, perIngress, certificates = 1000, 10, 5, 500
	issuer := newIssuer(tb)
	s := Snapshot{Classes: []*networkingv1.IngressClass{{
		ObjectMeta: metav1.ObjectMeta{Name: "ramjet"}, Spec: networkingv1.IngressClassSpec{Controller: ControllerName},
	}}}
	for h := range hosts {
		namespace, host := fmt.Sprintf("team-%d", h%100), fmt.Sprintf("host-%d.example.com", h)
		for first := 0; first < paths; first += perIngress {
			ing := benchIngress(namespace, host, h, first)
			for p := first; p < first+perIngress; p++ {
				addBenchPath(&s, ing, h, p)
			}
			s.Ingresses = append(s.Ingresses, ing)
		}
		if h >= certificates {
			continue
		}
		pair := issuer.pair(tb, host)
		s.Secrets = append(s.Secrets, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("tls-%d", h)}, Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{corev1.TLSCertKey: pair[0], corev1.TLSPrivateKeyKey: pair[1]},
		})
		ing := s.Ingresses[len(s.Ingresses)-1]
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: fmt.Sprintf("tls-%d", h)}}
	}
	return s, Options{Class: "ramjet"}
}

func benchIngress(namespace, host string, h, first int) *networkingv1.Ingress {
	class := "ramjet"
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("ingress-%d-%d", h, first), UID: types.UID(fmt.Sprintf("uid-%d-%d", h, first)),
			CreationTimestamp: metav1.NewTime(time.Unix(int64(1_700_000_000+h), 0)),
			Annotations: map[string]string{
				"cert-manager.io/cluster-issuer": "letsencrypt", nginxPrefix + "use-regex": "false",
			},
		},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			Rules: []networkingv1.IngressRule{{
				Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{}},
			}},
		},
	}
}

func addBenchPath(s *Snapshot, ing *networkingv1.Ingress, h, p int) {
	prefix, name, port := networkingv1.PathTypePrefix, fmt.Sprintf("service-%d-%d", h, p), int32(8080)
	portName := "http"
	path := "/"
	if p > 0 {
		path = fmt.Sprintf("/api/v%d/things", p)
	}
	http := ing.Spec.Rules[0].HTTP
	http.Paths = append(http.Paths, networkingv1.HTTPIngressPath{
		Path: path, PathType: &prefix,
		Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}}},
	})
	s.Services = append(s.Services, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: ing.Namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: portName, Port: 80}}},
	})
	s.Slices = append(s.Slices, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: ing.Namespace, Name: name + "-abcde", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{fmt.Sprintf("10.%d.%d.%d", h/250, h%250, 2*p)}},
			{Addresses: []string{fmt.Sprintf("10.%d.%d.%d", h/250, h%250, 2*p+1)}},
		},
	})
}

// BenchmarkFirst is everything from nothing: translate, compile, parse certificates.
func BenchmarkFirst(b *testing.B) {
	s, o := cluster(b)
	t := Translate(s, o)
	b.Run("translate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Translate(s, o)
		}
	})
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			route.Compile(t.Spec)
		}
	})
	b.Run("certificates", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			certs.Build(t.Certs)
		}
	})
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t := Translate(s, o)
			route.Compile(t.Spec)
			certs.Build(t.Certs)
		}
	})
}

// benchmarkChange is what follows from a change: what changes the snapshot returns the
// new one.
func benchmarkChange(b *testing.B, s Snapshot, o Options, change func(Snapshot, int) Snapshot) {
	var translator Translator
	t := translator.Translate(s, o)
	table, _ := route.Compile(t.Spec)
	set, _, _ := certs.Build(t.Certs)
	b.Run("translate", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s = change(s, i)
			translator.Translate(s, o)
		}
	})
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			s = change(s, i)
			t := translator.Translate(s, o)
			table, _ = route.Compile(t.Spec, table)
			set, _, _ = certs.Build(t.Certs, set)
		}
	})
}

// BenchmarkEndpointChange is a slice that gains or loses an endpoint.
func BenchmarkEndpointChange(b *testing.B) {
	s, o := cluster(b)
	benchmarkChange(b, s, o, func(s Snapshot, i int) Snapshot {
		s.Slices = append([]*discoveryv1.EndpointSlice(nil), s.Slices...)
		at := i * 7 % len(s.Slices)
		s.Slices[at] = s.Slices[at].DeepCopy()
		s.Slices[at].Endpoints[0].Addresses[0] = fmt.Sprintf("10.200.%d.%d", i/250%250, i%250)
		return s
	})
}

// BenchmarkIngressChange is an Ingress that leads one of its paths elsewhere.
func BenchmarkIngressChange(b *testing.B) {
	s, o := cluster(b)
	benchmarkChange(b, s, o, func(s Snapshot, i int) Snapshot {
		s.Ingresses = append([]*networkingv1.Ingress(nil), s.Ingresses...)
		at := i * 7 % len(s.Ingresses)
		s.Ingresses[at] = s.Ingresses[at].DeepCopy()
		s.Ingresses[at].Spec.Rules[0].HTTP.Paths[0].Path = fmt.Sprintf("/moved/%d", i)
		return s
	})
}

// BenchmarkHostile is one Ingress that is as large as it can be and as wrong: thousands
// of hosts, of ports that a Service does not have, and of warnings.
func BenchmarkHostile(b *testing.B) {
	const size = 10000
	s, o := Snapshot{}, Options{Class: "ramjet"}
	ing := benchIngress("prod", "x.test", 0, 0)
	ing.Spec.IngressClassName = nil
	ing.Annotations = map[string]string{classAnnotation: "ramjet"}
	prefix := networkingv1.PathTypePrefix
	backend := &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "gone"}}
	ing.Spec.Rules, ing.Spec.DefaultBackend = nil, backend
	for i := range size {
		ing.Annotations[fmt.Sprintf("%sunknown-%d", nginxPrefix, i)] = "x"
		port := networkingv1.ServiceBackendPort{Number: int32(i + 1000)}
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{
			Host: fmt.Sprintf("host-%d.test", i),
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{
				Path: "/x", PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: port}},
			}}}},
		})
	}
	s.Ingresses = []*networkingv1.Ingress{ing}
	s.Services = []*corev1.Service{{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}}
	b.ReportAllocs()
	for b.Loop() {
		Translate(s, o)
	}
}
