package status

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube/watch"
	"ramjet.dev/ingress/internal/translate"
)

func class(name, controller string, isDefault bool) *networkingv1.IngressClass {
	c := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller}}
	if isDefault {
		c.Annotations = map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}
	}
	return c
}

// TestClaim: whose an Ingress is, by its class. Two deployments of this program have the
// classes ramjet (this one) and edge.
func TestClaim(t *testing.T) {
	classes := []*networkingv1.IngressClass{
		class("ramjet", translate.ControllerName, false), class("internal", translate.ControllerName, false), class("nginx", "k8s.io/ingress-nginx", false),
	}
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		intent     string
		annotation *string
		class      *string
		more       *networkingv1.IngressClass
		want       claim
	}{
		{"our annotation", text("ramjet"), nil, nil, mine},
		{"our annotation, whatever the class", text("ramjet"), text("nginx"), nil, mine},
		{"the annotation of a class of another controller", text("nginx"), text("ramjet"), nil, foreign},
		{"the annotation of another deployment", text("edge"), nil, nil, unclear},
		{"the annotation of another class of ours", text("internal"), nil, nil, unclear},
		{"an empty annotation", text(""), text("ramjet"), nil, unclear},
		{"our class", nil, text("ramjet"), nil, mine},
		{"ours by its controller", nil, text("internal"), nil, mine},
		{"of another controller", nil, text("nginx"), nil, foreign},
		{"of a class that is not there", nil, text("gone"), nil, foreign},
		{"of no class", nil, nil, nil, foreign},
		{"of no class, and one of ours is the default", nil, nil, class("standard", translate.ControllerName, true), mine},
		{"of no class, and one of another is the default", nil, nil, class("standard", "other", true), foreign},
	} {
		ing := &networkingv1.Ingress{Spec: networkingv1.IngressSpec{IngressClassName: c.class}}
		if c.annotation != nil {
			ing.Annotations = map[string]string{classAnnotation: *c.annotation}
		}
		all := classes
		if c.more != nil {
			all = append(all[:len(all):len(all)], c.more)
		}
		if got := claimOf(ing, all, "ramjet"); got != c.want {
			t.Errorf("%s: %d, want %d", c.intent, got, c.want)
		}
	}
}

// world is a cluster with one Ingress, on which a plan is tried.
type world struct {
	plan    Plan
	ing     *networkingv1.Ingress
	served  bool
	want    Addresses
	version int
	over    bool // what was asked for was taken back at the last look
	last    []Change
}

// done carries out what was asked for last, as the plan is told.
func (w *world) done() {
	for _, c := range w.last {
		w.plan.Wrote(c)
	}
}

// ask returns what the plan wants written: the addresses, "clear", or nothing.
func (w *world) ask() string {
	v := View{
		Live: []*networkingv1.Ingress{w.ing}, Class: "ramjet", Want: w.want, Ours: map[types.UID]bool{},
		Classes: []*networkingv1.IngressClass{class("ramjet", translate.ControllerName, false), class("nginx", "other", false)},
	}
	if w.served {
		v.Ours[w.ing.UID] = true
	}
	var all []string
	changes, over := w.plan.Changes(v)
	w.last, w.over = changes, len(over) > 0
	for _, c := range changes {
		text := "clear"
		if len(c.Addresses) > 0 {
			text = addresses(c.Addresses)
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

func addresses(list []networkingv1.IngressLoadBalancerIngress) string {
	var all []string
	for _, a := range list {
		all = append(all, a.IP+a.Hostname)
	}
	return strings.Join(all, "+")
}

// becomes is the Ingress as the cluster shows it next, with these addresses, written by
// us or by others.
func (w *world) becomes(ours bool, change func(*networkingv1.Ingress), list ...string) {
	ing := w.ing.DeepCopy()
	w.version++
	ing.ResourceVersion = fmt.Sprint(w.version)
	ing.Status.LoadBalancer.Ingress = nil
	for _, ip := range list {
		ing.Status.LoadBalancer.Ingress = append(ing.Status.LoadBalancer.Ingress, networkingv1.IngressLoadBalancerIngress{IP: ip})
	}
	ing.ManagedFields = nil
	if ours {
		ing.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: watch.FieldManager, Subresource: "status"}}
	}
	if change != nil {
		change(ing)
	}
	w.ing = ing
}

func newWorld() *world {
	name := "ramjet"
	return &world{
		ing:    &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "1"}, Spec: networkingv1.IngressSpec{IngressClassName: &name}},
		served: true, want: FromAddress("192.0.2.1"),
	}
}

func expect(t *testing.T, w *world, intent, want string) {
	t.Helper()
	if got := w.ask(); got != want {
		t.Errorf("%s: got %q, want %q", intent, got, want)
	}
}

func toClass(name string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) { i.Spec.IngressClassName = &name }
}

func toAnnotation(name string) func(*networkingv1.Ingress) {
	return func(i *networkingv1.Ingress) { i.Annotations = map[string]string{classAnnotation: name} }
}

func TestPublish(t *testing.T) {
	w := newWorld()
	expect(t, w, "no address yet", "192.0.2.1")
	expect(t, w, "asked for, and not shown yet", "")
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "there", "")
	expect(t, w, "and still", "")
	w.becomes(false, nil, "198.51.100.9")
	expect(t, w, "somebody wrote another", "192.0.2.1")
	w.want = FromAddress("192.0.2.2")
	expect(t, w, "the address changes before the first is shown", "192.0.2.2")
	w.becomes(true, nil, "192.0.2.2")
	w.want = Addresses{}
	expect(t, w, "not known what to publish", "")
	w.want = Addresses{Known: true}
	expect(t, w, "the Service has no address", "clear")
	w.plan.Forget()
	expect(t, w, "after another may have written, the cluster counts", "clear")
}

func TestStopsBeingOurs(t *testing.T) {
	w := newWorld()
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "served", "")
	w.served = false
	expect(t, w, "not compiled in, but of our class: about to be", "")
	w.becomes(true, toClass("nginx"), "192.0.2.1")
	expect(t, w, "of another controller", "clear")
	w.becomes(false, toClass("nginx"), "198.51.100.1")
	expect(t, w, "what the other wrote stays", "")
}

// A process that did not see it being served clears it all the same, by the mark that
// the status has.
func TestStoppedWhileAway(t *testing.T) {
	w := newWorld()
	w.served = false
	w.becomes(true, toClass("nginx"), "192.0.2.1")
	expect(t, w, "of another controller", "clear")
	w = newWorld()
	w.served = false
	w.becomes(false, toClass("nginx"), "198.51.100.1")
	expect(t, w, "never was ours", "")
}

func TestAddresses(t *testing.T) {
	if a := FromAddress(""); a.Known {
		t.Error("no address is known")
	}
	if a := FromAddress("lb.example.com"); a.List[0].Hostname != "lb.example.com" || a.List[0].IP != "" {
		t.Error(a)
	}
	if a := FromAddress("2001:db8::1"); a.List[0].IP != "2001:db8::1" || a.List[0].Hostname != "" {
		t.Error(a)
	}
	s := &corev1.Service{}
	if a := FromService(s); !a.Known || len(a.List) != 0 {
		t.Error(a)
	}
	s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.2", Ports: []corev1.PortStatus{{Port: 80, Protocol: "TCP"}}}, {Hostname: "b.example.com"}}
	a := FromService(s)
	if addresses(a.List) != "192.0.2.2+b.example.com" || a.List[0].Ports[0] != (networkingv1.IngressPortStatus{Port: 80, Protocol: "TCP"}) {
		t.Error(a)
	}
}
