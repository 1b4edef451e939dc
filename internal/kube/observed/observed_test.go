package observed

import (
	"fmt"
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube/watch"
)

// ingress is one at a version, with a host, and an annotation if that is not "-".
func ingress(version int, host, annotation string) *networkingv1.Ingress {
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "1", ResourceVersion: fmt.Sprint(version)}}
	i.Spec.Rules = []networkingv1.IngressRule{{Host: host}}
	if annotation != "-" {
		i.Annotations = map[string]string{watch.ObservedGeneration: annotation}
	}
	return i
}

// TestObserved follows one Ingress. Each step is what was compiled into which generation,
// if anything, what the cluster shows, and what serves; below is what has to be written,
// "over" when what was asked for is not right any more, or done.
func TestObserved(t *testing.T) {
	var r Record
	gone := true
	shop := types.NamespacedName{Namespace: "prod", Name: "shop"}
	for _, step := range []struct {
		intent     string
		compiled   *networkingv1.Ingress // nil = nothing is compiled
		none       bool                  // a compile without it
		generation uint64
		live       *networkingv1.Ingress
		serving    uint64
		want       string
	}{
		{"before a compile", nil, false, 0, ingress(1, "a", "-"), 0, ""},
		{"first", ingress(1, "a", "-"), false, 3, ingress(1, "a", "-"), 3, "3"},
		{"asked for, and not shown yet", nil, false, 0, ingress(1, "a", "-"), 3, ""},
		{"shown", ingress(2, "a", "3"), false, 3, ingress(2, "a", "3"), 3, "over"},
		{"other people's edits", ingress(2, "a", "3"), false, 9, ingress(2, "a", "3"), 9, ""},
		{"an edit that is not compiled yet", nil, false, 0, ingress(4, "b", "3"), 9, ""},
		{"an edit", ingress(4, "b", "3"), false, 10, ingress(4, "b", "3"), 10, "10"},
		{"an edit that changed nothing served", ingress(5, "b2", "10"), false, 10, ingress(5, "b2", "10"), 10, "over"},
		{"an edit while a pin is held", ingress(6, "c", "10"), false, 12, ingress(6, "c", "10"), 4, ""},
		{"another, so that only the last counts", ingress(7, "d", "10"), false, 13, ingress(7, "d", "10"), 4, ""},
		{"the pin is released, into a later generation", nil, false, 0, ingress(7, "d", "10"), 15, "13"},
		{"somebody took the annotation away", nil, false, 0, ingress(9, "d", "-"), 15, "13"},
		{"not served any more, but left alone", nil, true, 16, ingress(10, "d", "13"), 16, "none"},
		{"done, and not shown yet", nil, false, 0, ingress(10, "d", "13"), 16, "over"},
		{"gone from it", nil, false, 0, ingress(11, "d", "-"), 16, ""},
		{"served again", ingress(12, "d", "-"), false, 17, ingress(12, "d", "-"), 17, "17"},
		{"another version of it, with the same", nil, false, 0, ingress(13, "d", "-"), 17, "17"},
		{"an edit while it waits to be written", nil, false, 0, ingress(14, "e", "-"), 17, "over"},
		{"compiled", ingress(14, "e", "-"), false, 18, ingress(14, "e", "-"), 18, "18"},
		{"a pin goes back behind it before that is written", nil, false, 0, ingress(14, "e", "-"), 17, "over"},
		{"released", nil, false, 0, ingress(14, "e", "-"), 18, "18"},
	} {
		switch {
		case step.none:
			r.Compiled(nil, step.generation)
		case step.compiled != nil:
			r.Compiled([]*networkingv1.Ingress{step.compiled}, step.generation)
		}
		got := ""
		changes, over := r.Changes([]*networkingv1.Ingress{step.live}, step.serving, func(_ *networkingv1.Ingress, ours bool) bool { return gone && ours })
		for _, c := range changes {
			if got = c.Value; got == "" {
				got = "none"
			}
			if c.Name != shop || c.UID != "1" || c.Version != step.live.ResourceVersion {
				t.Errorf("%s: %v", step.intent, c)
			}
			r.Wrote(c)
		}
		if len(over) > 0 {
			if got = "over"; len(changes) > 0 || !slices.Equal(over, []types.NamespacedName{shop}) {
				t.Errorf("%s: %v, %v", step.intent, changes, over)
			}
		}
		if got != step.want {
			t.Errorf("%s: got %q, want %q", step.intent, got, step.want)
		}
	}
}

// A new process numbers anew, and says so: what an earlier one wrote is not true of it.
func TestRestart(t *testing.T) {
	var r Record
	live := []*networkingv1.Ingress{ingress(1, "a", "37")}
	r.Compiled(live, 1)
	left := func(*networkingv1.Ingress, bool) bool { return false }
	if c, _ := r.Changes(live, 1, left); len(c) != 1 || c[0].Value != "1" {
		t.Errorf("%v", c)
	}
	r.Forget() // as after another replica led
	if c, _ := r.Changes(live, 1, left); len(c) != 1 {
		t.Errorf("%v: the cluster shows something else still", c)
	}
}
