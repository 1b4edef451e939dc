//go:build cluster

package kube_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube"
	"ramjet.dev/ingress/internal/kube/watch"
	"ramjet.dev/ingress/internal/translate"
)

// addresses of the status, joined.
func addresses(i *networkingv1.Ingress) string {
	var all []string
	for _, a := range i.Status.LoadBalancer.Ingress {
		all = append(all, a.IP+a.Hostname)
	}
	return strings.Join(all, "+")
}

func (p *place) shows(name, address, generation string) {
	p.t.Helper()
	what := fmt.Sprintf("%s has the address %q and the generation %q", name, address, generation)
	eventually(p.t, what, func() bool {
		i := p.get(name)
		return addresses(i) == address && i.Annotations[watch.ObservedGeneration] == generation
	})
}

// TestStatus follows an Ingress of a deployment that has exactly the rights of
// deploy/rbac.yaml: its address and its generation, an edit, and its end.
func TestStatus(t *testing.T) {
	p := newPlace(t)
	p.class("foreign", "example.com/other")
	p.create("a", "a.test")
	p.create("b", "b.test")
	r := p.run("pod-1", p.account(), nil)
	p.shows("a", "192.0.2.1", "1")
	p.shows("b", "192.0.2.1", "1")
	compiles := r.build.Compiles()

	p.patch("a", `{"spec":{"rules":[{"host":"a2.test"}]}}`)
	p.shows("a", "192.0.2.1", "2")
	before := p.get("b").ResourceVersion

	// What somebody writes over ours is put right; what belongs to nobody else stays away.
	_, err := p.NetworkingV1().Ingresses(p.name).Patch(t.Context(), "a", types.MergePatchType,
		[]byte(`{"status":{"loadBalancer":{"ingress":[{"ip":"198.51.100.1"}]}}}`), metav1.PatchOptions{}, "status")
	p.must(err)
	p.shows("a", "192.0.2.1", "2")

	p.patch("a", `{"spec":{"ingressClassName":"foreign"}}`)
	p.shows("a", "", "")
	p.patch("a", `{"spec":{"ingressClassName":%q}}`, p.name)
	p.shows("a", "192.0.2.1", "4")

	if i := p.get("b"); i.ResourceVersion != before {
		t.Errorf("b was written because of a: %s, then %s", before, i.ResourceVersion)
	}
	// Three edits: one compile each, and none for what was written.
	if got := r.build.Compiles() - compiles; got != 3 {
		t.Errorf("%d compiles for 3 edits", got)
	}
}

// TestPublishService: the addresses are those of the Service, also outside of the
// namespace that is read, and follow it.
func TestPublishService(t *testing.T) {
	p := newPlace(t)
	name := types.NamespacedName{Namespace: "default", Name: "lb-" + p.name}
	p.create("a", "a.test")
	r := p.run("pod-1", plane.Admin, func(o *kube.Options) { o.PublishService = name })
	r.leads()
	p.shows("a", "", "1") // it is not known what to publish: the Service beats the address
	eventually(t, "the missing Service is spoken of", func() bool { return r.log.count("whose addresses are to be published does not exist") == 1 })

	s, err := p.CoreV1().Services(name.Namespace).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name.Name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	p.must(err)
	for _, list := range [][]corev1.LoadBalancerIngress{{{IP: "192.0.2.5"}, {Hostname: "lb.example.com"}}, {{IP: "192.0.2.6"}}} {
		s.Status.LoadBalancer.Ingress = list
		s, err = p.CoreV1().Services(name.Namespace).UpdateStatus(t.Context(), s, metav1.UpdateOptions{})
		p.must(err)
		want := "192.0.2.5+lb.example.com"
		if len(list) == 1 {
			want = "192.0.2.6"
		}
		p.shows("a", want, "1")
	}
	if n := r.build.Compiles(); n != 1 {
		t.Errorf("%d compiles, and only the status of a Service changed", n)
	}
}

// TestPinHoldsTheAnnotation: an edit that a pin holds back is not said to be live.
func TestPinHoldsTheAnnotation(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	r := p.run("pod-1", plane.Admin, nil)
	p.shows("a", "192.0.2.1", "1")
	if _, err := r.control.Pin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	p.patch("a", `{"spec":{"rules":[{"host":"a2.test"}]}}`)
	if _, err := r.control.WaitHandled(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	p.create("b", "b.test") // a later one, whose status comes after what could be written for a
	p.shows("b", "192.0.2.1", "")
	if got := p.get("a").Annotations[watch.ObservedGeneration]; got != "1" {
		t.Errorf("%q while generation 1 serves", got)
	}
	if _, err := r.control.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.shows("a", "192.0.2.1", "2")
	p.shows("b", "192.0.2.1", "3")
	p.told("ConfigPinned", "pinned to generation 1 (was serving 1) on pod-1")
	p.told("ConfigResumed", "pin released, serving generation 3 on pod-1")
	if n := len(p.events("", "ConfigApplied")); n != 1 {
		t.Errorf("%d Events about what was applied, and only the first was", n)
	}
}

// TestNoStatusUpdate: nothing is written to an Ingress, and Events are.
func TestNoStatusUpdate(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	before := p.get("a").ResourceVersion
	r := p.run("pod-1", plane.Admin, func(o *kube.Options) { o.ReadOnlyIngresses = true })
	r.leads()
	p.told("ConfigApplied", "")
	eventually(t, "the warning is an Event", func() bool { return len(p.events(p.name, "ServiceUnresolved")) == 1 })
	if got := p.get("a").ResourceVersion; got != before {
		t.Errorf("it was written: %s, then %s", before, got)
	}
}

// events are those with a reason about the class of the place, or about Ingresses in a
// namespace.
func (p *place) events(namespace, reason string) []eventsv1.Event {
	p.t.Helper()
	where := namespace
	if where == "" {
		where = "default"
	}
	list, err := p.EventsV1().Events(where).List(p.t.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	p.must(err)
	var all []eventsv1.Event
	for _, e := range list.Items {
		if namespace != "" || e.Regarding.Name == p.name {
			all = append(all, e)
		}
	}
	return all
}

// told waits for an Event on the IngressClass with a note, "" for any.
func (p *place) told(reason, note string) {
	p.t.Helper()
	eventually(p.t, reason+" with "+note, func() bool {
		for _, e := range p.events("", reason) {
			if note == "" || e.Note == note {
				class, err := p.NetworkingV1().IngressClasses().Get(p.t.Context(), p.name, metav1.GetOptions{})
				p.must(err)
				if e.Regarding.UID != class.UID || e.ReportingController != "ramjet.dev/ingress" || !strings.HasPrefix(e.ReportingInstance, "pod-") {
					p.t.Errorf("%+v", e)
				}
				return true
			}
		}
		return false
	})
}

// TestAppliedAfterACrash: a process that was killed leaves a Lease behind that names it. The next
// one follows the dead until that runs out, and then tells of what it has applied meanwhile.
func TestAppliedAfterACrash(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	dead, duration, now := "pod-1_dead", int32(15), metav1.NowMicro()
	_, err := p.CoordinationV1().Leases(p.name).Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "ramjet-ingress-" + p.name + ".ns-" + p.name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &dead, LeaseDurationSeconds: &duration, AcquireTime: &now, RenewTime: &now},
	}, metav1.CreateOptions{})
	p.must(err)
	r := p.run("pod-1", p.account(), nil)
	eventually(t, "it follows", func() bool { return r.log.count("following: another replica") == 1 })
	r.serves(1)
	r.leads()
	eventually(t, "it is told", func() bool { return len(p.events("", "ConfigApplied")) == 1 })
	if e := p.events("", "ConfigApplied")[0]; !strings.HasSuffix(e.Note, "(gen 0→1)") {
		t.Errorf("%q", e.Note)
	}
}

// TestWarnings: a warning is an Event once, whatever else happens, and after a restart.
func TestWarnings(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	r := p.run("pod-1", p.account(), nil)
	one := func() bool { return len(p.events(p.name, "ServiceUnresolved")) == 1 }
	eventually(t, "the first warning", one)
	p.create("b", "b.test")
	two := func() bool { return len(p.events(p.name, "ServiceUnresolved")) == 2 }
	eventually(t, "another on another", two)
	r.stop()
	r = p.run("pod-2", p.account(), nil)
	r.leads()
	r.serves(2)             // or c would be part of its first generation
	p.create("c", "c.test") // told after what stood before was
	eventually(t, "a third", func() bool { return len(p.events(p.name, "ServiceUnresolved")) == 3 })
	p.shows("c", "192.0.2.1", "2")
	if e := p.events(p.name, "ServiceUnresolved")[0]; e.Type != corev1.EventTypeWarning || e.Regarding.Kind != "Ingress" || e.Regarding.UID != p.get(e.Regarding.Name).UID {
		t.Errorf("%+v", e)
	}
	if n := r.log.count("reason=ServiceUnresolved"); n != 3 {
		t.Errorf("the log has %d warnings of 3", n)
	}
}

// TestEventsForbidden: nothing changes but that there are none, and one line says so at
// level debug.
func TestEventsForbidden(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	r := p.run("pod-1", p.account("events"), nil)
	p.shows("a", "192.0.2.1", "1")
	p.create("b", "b.test")
	p.shows("b", "192.0.2.1", "2")
	eventually(t, "it is said", func() bool { return r.log.count(`level=DEBUG msg="not allowed to write Events`) >= 1 })
	if n := r.log.count("not allowed to write Events"); n != 1 {
		t.Errorf("said %d times", n)
	}
	if r.log.count("level=WARN msg=\"not allowed") > 0 {
		t.Error("said as a warning")
	}
}

// TestSteadyState: when nothing changes nothing is written.
func TestSteadyState(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	for _, pod := range []string{"pod-1", "pod-2", "pod-3"} {
		address := "192.0.2." + pod[4:]
		p.run(pod, p.account(), func(o *kube.Options) { o.PublishAddress = address })
	}
	eventually(t, "there is a status", func() bool {
		return addresses(p.get("a")) != "" && p.get("a").Annotations[watch.ObservedGeneration] == "1"
	})
	w, err := p.NetworkingV1().Ingresses(p.name).Watch(t.Context(), metav1.ListOptions{ResourceVersion: p.get("a").ResourceVersion})
	p.must(err)
	defer w.Stop()
	select {
	case e := <-w.ResultChan():
		t.Errorf("something was written: %v", e)
	case <-time.After(5 * time.Second): // three replicas of different addresses, and renewals of the Lease
	}
}

// TestTwoDeployments: two of different classes serve the same Ingress, since it names a class of
// ours, and publish different addresses. They cannot both be right; they say so, and do not write
// for ever.
func TestTwoDeployments(t *testing.T) {
	p := newPlace(t)
	p.class("other-"+p.name, translate.ControllerName)
	p.create("a", "a.test")
	first := p.run("pod-1", p.account(), nil)
	second := p.run("pod-2", p.account(), func(o *kube.Options) { o.Class, o.PublishAddress = "other-"+p.name, "192.0.2.2" })
	first.leads()
	second.leads()
	eventually(t, "it is said", func() bool {
		return first.log.count("somebody undoes")+second.log.count("somebody undoes") > 0
	})
	w, err := p.NetworkingV1().Ingresses(p.name).Watch(t.Context(), metav1.ListOptions{ResourceVersion: p.get("a").ResourceVersion})
	p.must(err)
	time.AfterFunc(10*time.Second, w.Stop)
	writes := 0
	for range w.ResultChan() {
		writes++
	}
	// Of two kinds and by two, what is left of their twenty each.
	if writes > 4*20 {
		t.Errorf("%d writes in ten seconds", writes)
	}
}
