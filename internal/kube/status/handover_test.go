package status

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube/watch"
	"ramjet.dev/ingress/internal/translate"
)

// Two deployments write under one name. None takes from the other what it wrote, or they
// would do so for ever.
func TestTwoDeployments(t *testing.T) {
	w := newWorld()
	w.served = false
	w.becomes(true, toAnnotation("edge"), "192.0.2.77")
	expect(t, w, "the other's", "")
	w = handedOver(t)
	w.becomes(true, toAnnotation("edge"), "192.0.2.77")
	expect(t, w, "written by the other now", "")
}

// handedOver is one whose Ingress this process served, and edge has from now on. It was
// asked to be cleared.
func handedOver(t *testing.T) *world {
	t.Helper()
	w := newWorld()
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "ours", "")
	w.served = false
	w.becomes(true, toAnnotation("edge"), "192.0.2.1")
	expect(t, w, "handed over: what is there is ours", "clear")
	if version := w.last[0].Version; version != w.ing.ResourceVersion {
		t.Errorf("to be cleared at version %q, decided at %q", version, w.ing.ResourceVersion)
	}
	return w
}

// The clear is for the version that it was decided for. When that was not the last, what is
// there is ours still.
func TestClearTooLate(t *testing.T) {
	w := handedOver(t)
	expect(t, w, "asked for", "")
	w.becomes(true, func(i *networkingv1.Ingress) { i.Spec.Rules = make([]networkingv1.IngressRule, 1) }, "192.0.2.1")
	expect(t, w, "somebody was faster with an edit", "clear")
	w.done()
	w.becomes(true, nil)
	expect(t, w, "cleared", "")
}

// Both publish the same address: it is cleared once.
func TestOneAddressOfTwo(t *testing.T) {
	w := handedOver(t)
	w.done()
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "written by the other now", "")
}

// The other is faster than the compile that leaves the Ingress out.
func TestHandedOverBeforeTheCompile(t *testing.T) {
	w := newWorld()
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "ours", "")
	w.becomes(true, toAnnotation("edge"), "192.0.2.77")
	expect(t, w, "served still", "")
	w.served = false
	expect(t, w, "and not any more", "")
}

// What was under way when it was handed over is ours like what was there before.
func TestHandedOverUnderWay(t *testing.T) {
	w := newWorld()
	expect(t, w, "no address yet", "192.0.2.1")
	w.done()
	w.served = false
	w.becomes(true, toAnnotation("edge"), "192.0.2.1")
	expect(t, w, "never seen there while it was served", "clear")
}

// This replica served it, lost the Lease, and leads again after another one has cleared the
// status and edge has written its own.
func TestHandedOverWhileFollowing(t *testing.T) {
	w := newWorld()
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "served", "")
	w.served = false
	w.becomes(true, toAnnotation("edge"), "192.0.2.77")
	w.plan.Forget()
	expect(t, w, "the other's", "")
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "the other has our address now", "")
}

// It led, follows while nobody looks, and leads again: what it left is there still.
func TestHandedOverInBetween(t *testing.T) {
	w := newWorld()
	w.becomes(true, nil, "192.0.2.1")
	expect(t, w, "served", "")
	w.served = false
	w.becomes(true, toAnnotation("edge"), "192.0.2.1")
	w.plan.Forget()
	expect(t, w, "ours", "clear")
}

// TestTakenBack: what is not needed any more is not written, however long it has waited.
func TestTakenBack(t *testing.T) {
	const many = 1000
	name := "ramjet"
	v := View{
		Classes: []*networkingv1.IngressClass{class(name, translate.ControllerName, false)}, Class: name,
		Ours: map[types.UID]bool{}, Want: FromAddress("192.0.2.1"),
	}
	for n := range many {
		ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: fmt.Sprint("i", n), UID: types.UID(fmt.Sprint(n)), ResourceVersion: "1",
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: watch.FieldManager, Subresource: "status"}},
		}}
		ing.Spec.IngressClassName = &name
		ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		v.Live, v.Ours[ing.UID] = append(v.Live, ing), true
	}
	var plan Plan
	waits := map[types.NamespacedName]bool{}
	look := func(intent string, want int) {
		t.Helper()
		changes, over := plan.Changes(v)
		for _, name := range over {
			delete(waits, name)
		}
		for _, c := range changes {
			waits[c.Name] = true
		}
		if len(waits) != want {
			t.Errorf("%s: %d wait, want %d", intent, len(waits), want)
		}
	}
	look("all is as it should be", 0)
	v.Want = Addresses{Known: true}
	look("the Service lost its address", many)
	v.Want = FromAddress("192.0.2.1")
	look("and has it back", 0)
	v.Want = FromAddress("192.0.2.2")
	look("another", many)
	v.Want = Addresses{}
	look("the Service is not known any more", 0)
	v.Want = FromAddress("192.0.2.2")
	look("again", many)
	v.Live = v.Live[:many/2]
	look("half of the Ingresses are gone", many/2)
	successor := v.Live[0].DeepCopy()
	successor.UID = "successor"
	v.Live[0], v.Ours[successor.UID] = successor, true
	look("one is another by now, which needs the same", many/2)
	v.Ours = nil
	look("none is served, but all are about to be", 0)
}
