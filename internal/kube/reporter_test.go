package kube

import (
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/translate"
)

// reading is a cluster as it was read, in which nothing is ever written.
type reading struct {
	ingresses []*networkingv1.Ingress
	service   *corev1.Service
}

func (r *reading) Ingresses() []*networkingv1.Ingress { return r.ingresses }
func (r *reading) Published() (*corev1.Service, bool) { return r.service, true }
func (r *reading) Touched() <-chan struct{}           { return nil }
func (r *reading) Classes() []*networkingv1.IngressClass {
	return []*networkingv1.IngressClass{{ObjectMeta: metav1.ObjectMeta{Name: "ramjet"}, Spec: networkingv1.IngressClassSpec{Controller: translate.ControllerName}}}
}

// publishes gives the published Service an address, "" for none.
func (r *reading) publishes(ip string) {
	r.service = &corev1.Service{}
	if ip != "" {
		r.service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
	}
}

func ingressAt(name, version, host, ip string) *networkingv1.Ingress {
	class := "ramjet"
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: name, UID: types.UID(name), ResourceVersion: version}}
	i.Spec.IngressClassName = &class
	i.Spec.Rules = []networkingv1.IngressRule{{Host: host}}
	if ip != "" {
		i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: ip}}
	}
	return i
}

// waiting is a reporter whose queues nobody empties. serving is the generation on the wire.
func waiting(r *reading, serving *uint64) *reporter {
	return newReporter(Options{
		Class: "ramjet", PublishService: types.NamespacedName{Namespace: "prod", Name: "front"}, Log: slog.New(slog.DiscardHandler),
		Serving: func() (uint64, bool) { return *serving, true },
	}, r, nil)
}

// TestStatusTakenBack: the Service loses its address for a moment. What waits to be cleared when
// it is back is not cleared.
func TestStatusTakenBack(t *testing.T) {
	var read reading
	serving := uint64(1)
	r := waiting(&read, &serving)
	for n := range 1000 {
		read.ingresses = append(read.ingresses, ingressAt(fmt.Sprint("i", n), "1", "a.test", "192.0.2.1"))
	}
	r.handle(Outcome{Ours: read.ingresses, Generation: 1})
	for _, step := range []struct {
		address string
		want    int
	}{{"192.0.2.1", 0}, {"", 1000}, {"192.0.2.1", 0}, {"192.0.2.2", 1000}, {"192.0.2.1", 0}} {
		read.publishes(step.address)
		r.ask()
		if n := r.statuses.Len(); n != step.want {
			t.Errorf("the address is %q: %d statuses are about to be written, want %d", step.address, n, step.want)
		}
	}
}

// TestAnnotationTakenBack: an Ingress is edited while it waits to be written that it is live. A
// pin holds the edit back, so that it is not.
func TestAnnotationTakenBack(t *testing.T) {
	var read reading
	serving := uint64(7)
	r := waiting(&read, &serving)
	expect := func(when string, want int) {
		t.Helper()
		r.ask()
		if n := r.observed.Len(); n != want {
			t.Errorf("%s: %d annotations are about to be written, want %d", when, n, want)
		}
	}
	compiled := func(generation uint64) { r.handle(Outcome{Ours: read.ingresses, Generation: generation}) }
	read.ingresses = []*networkingv1.Ingress{ingressAt("shop", "1", "a.test", "")}
	compiled(7)
	expect("live", 1)
	read.ingresses = []*networkingv1.Ingress{ingressAt("shop", "2", "b.test", "")}
	expect("edited", 0)
	compiled(8)
	expect("compiled, and held back", 0)
	serving = 8
	expect("released", 1)
	read.ingresses = nil
	expect("deleted", 0)
}

// TestRecreatedWhileWaiting: what waits for an Ingress that is gone makes way for what its
// successor needs.
func TestRecreatedWhileWaiting(t *testing.T) {
	var read reading
	serving := uint64(1)
	r := waiting(&read, &serving)
	read.publishes("192.0.2.1")
	for generation, uid := range []types.UID{"first", "second"} {
		i := ingressAt("shop", fmt.Sprint(generation), "a.test", "")
		i.UID = uid
		read.ingresses = []*networkingv1.Ingress{i}
		r.handle(Outcome{Ours: read.ingresses, Generation: 1})
		r.ask()
		if r.statuses.Len() != 1 || r.observed.Len() != 1 {
			t.Errorf("%s: %d statuses and %d annotations are about to be written", uid, r.statuses.Len(), r.observed.Len())
		}
	}
}
