package rebuild_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/rebuild"
	"ramjet.dev/ingress/internal/translate"
)

// crowd is a cluster of 2,000 Ingresses of five paths, 500 Services and 500 certificates.
func crowd(b *testing.B) translate.Snapshot {
	class, prefix, port := "ramjet", networkingv1.PathTypePrefix, int32(8080)
	s := translate.Snapshot{Classes: []*networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{Controller: translate.ControllerName}}}}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID(name)}
	}
	authority := certtest.NewAuthority(b)
	for n := range 500 {
		service, secret := fmt.Sprint("web-", n), fmt.Sprint("tls-", n)
		s.Services = append(s.Services, &corev1.Service{ObjectMeta: meta(service), Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
		s.Slices = append(s.Slices, slice(service, port, n, 0))
		cert, key := authority.Pair(b, fmt.Sprintf("h%d.test", n))
		s.Secrets = append(s.Secrets, &corev1.Secret{ObjectMeta: meta(secret), Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": cert, "tls.key": key}})
	}
	for n := range 2000 {
		host := fmt.Sprintf("h%d.test", n)
		ing := &networkingv1.Ingress{ObjectMeta: meta(fmt.Sprint("shop-", n)), Spec: networkingv1.IngressSpec{IngressClassName: &class}}
		ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{host}, SecretName: fmt.Sprint("tls-", n%500)}}
		rule := networkingv1.IngressRule{Host: host}
		rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
		for p := range 5 {
			rule.HTTP.Paths = append(rule.HTTP.Paths, networkingv1.HTTPIngressPath{
				Path: fmt.Sprint("/path-", p), PathType: &prefix,
				Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: fmt.Sprint("web-", n%500), Port: networkingv1.ServiceBackendPort{Number: 80}}},
			})
		}
		ing.Spec.Rules = []networkingv1.IngressRule{rule}
		s.Ingresses = append(s.Ingresses, ing)
	}
	return s
}

func slice(service string, port int32, n, turn int) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "prod", Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{fmt.Sprintf("10.%d.%d.1", n/250, n%250)}}, {Addresses: []string{fmt.Sprintf("10.9.%d.%d", turn/250%250, turn%250)}}},
	}
}

// BenchmarkEndpointChange is what a change of one endpoint costs in a table of 10,000
// routes, from the signal until it is published and told; and what it costs to find out
// that one changed to which no route leads.
func BenchmarkEndpointChange(b *testing.B) {
	b.Run("served", func(b *testing.B) { endpointChanges(b, "web-0", true) })
	b.Run("unserved", func(b *testing.B) { endpointChanges(b, "stranger", false) })
}

func endpointChanges(b *testing.B, service string, served bool) {
	snapshot := crowd(b)
	snapshot.Services = append(snapshot.Services, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "stranger"}})
	changes, done := make(chan struct{}, 1), make(chan rebuild.Result, 1)
	var live generation.Live
	ctl := control.New(control.Options{History: generation.NewHistory(10), Live: &live})
	var translator translate.Translator
	build := rebuild.New(rebuild.Options{
		Changes: changes, Control: ctl, Gap: time.Nanosecond, Done: func(r rebuild.Result) { done <- r },
		Translate: func() translate.Translation {
			return translator.Translate(snapshot, translate.Options{Class: "ramjet"})
		},
	})
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = ctl.Run(ctx) })
	running.Go(func() { build.Run(ctx) })
	defer running.Wait()
	defer cancel()
	change := func(turn int, published bool) {
		slices := append([]*discoveryv1.EndpointSlice(nil), snapshot.Slices...)
		slices[0] = slice(service, 8080, 0, turn)
		snapshot.Slices = slices
		changes <- struct{}{}
		if r := <-done; r.New != published {
			b.Fatalf("published: %v", r.New)
		}
	}
	change(1, true)
	if n := len(live.Table().Routes()); n != 10_000 {
		b.Fatalf("%d routes", n)
	}
	b.ResetTimer()
	for i := range b.N {
		change(i+2, served)
	}
}

// BenchmarkFirst is what the first compile of all that costs, from the signal until it is
// told, with nothing known of it before. took is the time of the compile in it.
func BenchmarkFirst(b *testing.B) {
	snapshot := crowd(b)
	var took time.Duration
	for b.Loop() {
		changes, done := make(chan struct{}, 1), make(chan rebuild.Result, 1)
		ctl := control.New(control.Options{History: generation.NewHistory(10), Live: &generation.Live{}})
		var translator translate.Translator
		build := rebuild.New(rebuild.Options{
			Changes: changes, Control: ctl, Done: func(r rebuild.Result) { done <- r },
			Translate: func() translate.Translation {
				return translator.Translate(snapshot, translate.Options{Class: "ramjet"})
			},
		})
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = ctl.Run(ctx) })
		running.Go(func() { build.Run(ctx) })
		changes <- struct{}{}
		r := <-done
		took += r.Took
		if r.Parsed != 500 {
			b.Fatalf("%d certificates parsed", r.Parsed)
		}
		cancel()
		running.Wait()
	}
	b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "took-ms/op")
}
