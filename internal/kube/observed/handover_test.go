package observed

import (
	"fmt"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube/status"
)

// deployment is one of two, which tell their Ingresses apart by the annotation of the class.
type deployment struct {
	class  string
	record Record
}

// handover is an Ingress that two deployments look at.
type handover struct {
	class, value string
	version      int
}

func (h *handover) live() *networkingv1.Ingress {
	i := ingress(h.version, "a", h.value)
	if i.Annotations == nil {
		i.Annotations = map[string]string{}
	}
	i.Annotations["kubernetes.io/ingress.class"] = h.class
	return i
}

// look lets a deployment do what it has to, and reports whether that was a write.
func (h *handover) look(d *deployment) bool {
	live := h.live()
	var ours []*networkingv1.Ingress
	if h.class == d.class {
		ours = []*networkingv1.Ingress{live}
	}
	d.record.Compiled(ours, uint64(len(d.class))) // any number that differs from one to the other
	changes, _ := d.record.Changes([]*networkingv1.Ingress{live}, 100, func(i *networkingv1.Ingress, ours bool) bool {
		return status.Left(i, nil, d.class, ours)
	})
	for _, c := range changes {
		h.version++
		if h.value = c.Value; c.Value == "" {
			h.value = "-"
		}
		d.record.Wrote(c)
	}
	return len(changes) > 0
}

// TestHandedOver: whichever of two deployments is faster after a hand-over, they come to rest,
// with the number of that which serves the Ingress now.
func TestHandedOver(t *testing.T) {
	for _, c := range []struct {
		intent   string
		to       string
		oldFirst bool
		writes   int
	}{
		{"the old one is faster", "edge", true, 2},
		{"the new one is faster", "edge", false, 1},
		{"the new one has the same number, and is slower", "blue12", true, 2},
		{"the new one has the same number, and is faster", "blue12", false, 2},
		{"to nobody", "", true, 1},
	} {
		t.Run(c.intent, func(t *testing.T) {
			before, after := &deployment{class: "ramjet"}, &deployment{class: c.to}
			h := &handover{class: before.class, value: "-"}
			for range 3 {
				h.look(before)
				h.look(after)
			}
			if h.value != "6" {
				t.Fatalf("%q", h.value)
			}
			order := []*deployment{after, before}
			if c.oldFirst {
				order = []*deployment{before, after}
			}
			h.class = c.to
			want := fmt.Sprint(len(c.to))
			if c.to == "" {
				h.class, want = "nobody", "-"
			}
			h.version++
			writes := 0
			for range 20 {
				for _, d := range order {
					if h.look(d) {
						writes++
					}
				}
			}
			if writes != c.writes || h.value != want {
				t.Errorf("%d writes, want %d; it says %q in the end, want %q", writes, c.writes, h.value, want)
			}
		})
	}
}

// TestTakenAwayTooLate: the number is taken away from the version that it was decided for. When
// that was not the last, what is there is ours still.
func TestTakenAwayTooLate(t *testing.T) {
	var r Record
	left := func(i *networkingv1.Ingress, ours bool) bool { return status.Left(i, nil, "ramjet", ours) }
	h := handover{class: "ramjet", value: "6"}
	r.Compiled([]*networkingv1.Ingress{h.live()}, 6)
	r.Changes([]*networkingv1.Ingress{h.live()}, 6, left)
	r.Compiled(nil, 7)
	h.class = "edge"
	for range 3 {
		h.version++
		if c, _ := r.Changes([]*networkingv1.Ingress{h.live()}, 7, left); len(c) != 1 || c[0].Value != "" || c[0].Version != h.live().ResourceVersion {
			t.Errorf("version %d: %+v", h.version, c)
		}
	}
}

// TestFollower: who does not write, as a follower does not, remembers no Ingress that is gone.
func TestFollower(t *testing.T) {
	var r Record
	for n := range 10000 {
		i := ingress(1, "a", "3")
		i.UID = types.UID(fmt.Sprint(n))
		r.Compiled([]*networkingv1.Ingress{i}, uint64(n+1))
	}
	r.Compiled(nil, 10002)
	if n := len(r.first) + len(r.stood) + len(r.asked); n > 0 {
		t.Errorf("%d Ingresses that are gone are remembered", n)
	}
}
