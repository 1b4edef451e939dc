//go:build cluster

package kube_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube"
	"ramjet.dev/ingress/internal/kube/observed"
	"ramjet.dev/ingress/internal/kube/pace"
	"ramjet.dev/ingress/internal/kube/status"
	"ramjet.dev/ingress/internal/kube/watch"
	"ramjet.dev/ingress/internal/kube/write"
)

// TestOutdated: what was decided for an Ingress as it is no more is not written, and is left: it is
// neither tried again nor taken for a missing right. Only an address is as right as it was after
// an edit.
func TestOutdated(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	before := p.get("a")
	c := p.NetworkingV1()
	name := types.NamespacedName{Namespace: p.name, Name: "a"}
	address := status.FromAddress("192.0.2.1").List
	type do = func(context.Context) error
	annotate := func(i *networkingv1.Ingress) do {
		return func(ctx context.Context) error {
			return observed.Write(ctx, c, observed.Change{Name: name, UID: i.UID, Version: i.ResourceVersion, Value: "7", First: 7})
		}
	}
	publish := func(i *networkingv1.Ingress) do {
		return func(ctx context.Context) error {
			return status.Write(ctx, c, status.Change{Name: name, UID: i.UID, Addresses: address})
		}
	}
	empty := func(i *networkingv1.Ingress) do {
		return func(ctx context.Context) error {
			return status.Write(ctx, c, status.Change{Name: name, UID: i.UID, Version: i.ResourceVersion})
		}
	}
	refused := func(intent string, this do) {
		t.Helper()
		var log written
		var got error
		ctx, cancel := context.WithCancel(t.Context())
		q := write.New(write.Options[do]{What: "things", Budget: pace.Bucket{Burst: 2}, Log: slog.New(slog.NewTextHandler(&log, nil)),
			Do: func(ctx context.Context, _ string, todo do) error {
				if todo == nil {
					cancel() // the other has been dealt with
					return nil
				}
				got = todo(ctx)
				return got
			}})
		q.Put("a", this, 1)
		q.Put("b", nil, 0)
		q.Run(ctx)
		t.Logf("%s: %s %v", intent, apierrors.ReasonForError(got), got)
		if got == nil || q.Len() > 0 || log.count("level=WARN") > 0 {
			t.Errorf("%s: %v, %d left, %s", intent, got, q.Len(), log.b.String())
		}
	}
	allowed := func(intent string, this do) {
		t.Helper()
		if err := this(t.Context()); err != nil {
			t.Errorf("%s: %v", intent, err)
		}
	}

	p.patch("a", `{"spec":{"rules":[{"host":"edited.test"}]}}`)
	refused("an annotation after an edit", annotate(before))
	refused("a clear after an edit", empty(before))
	allowed("an address after an edit", publish(before))
	allowed("an annotation", annotate(p.get("a")))
	p.shows("a", "192.0.2.1", "7")
	allowed("a clear", empty(p.get("a")))
	p.shows("a", "", "7")

	p.must(c.Ingresses(p.name).Delete(t.Context(), "a", metav1.DeleteOptions{}))
	for _, recreate := range []bool{false, true} {
		intent := "deleted"
		if recreate {
			intent = "recreated"
			p.create("a", "a.test")
		}
		refused("an annotation, "+intent, annotate(before))
		refused("a clear, "+intent, empty(before))
		refused("an address, "+intent, publish(before))
		if recreate {
			unfit := *before
			unfit.ResourceVersion = p.get("a").ResourceVersion
			refused("an annotation of this version, "+intent, annotate(&unfit))
			if i := p.get("a"); len(i.Annotations) > 0 || addresses(i) != "" {
				t.Errorf("%s has %v and %q", watch.ObservedGeneration, i.Annotations, addresses(i))
			}
		}
	}
}

// TestHandedOver: an Ingress goes from one deployment to another and back. Each time it comes to
// rest with what the one writes that serves it.
func TestHandedOver(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	edge := "edge-" + p.name
	all := []struct {
		class, address string
		replica        *replica
	}{{class: p.name, address: "192.0.2.1"}, {class: edge, address: "192.0.2.2"}}
	for i, d := range all {
		all[i].replica = p.run(fmt.Sprint("pod-", i), p.account(), func(o *kube.Options) { o.Class, o.PublishAddress = d.class, d.address })
		all[i].replica.leads()
	}
	for range 3 {
		for _, d := range all {
			p.patch("a", `{"metadata":{"annotations":{"kubernetes.io/ingress.class":%q}}}`, d.class)
			d.replica.serves(1)
			var version string
			var since time.Time
			eventually(t, "it comes to rest with "+d.address, func() bool {
				i := p.get("a")
				if i.ResourceVersion != version {
					version, since = i.ResourceVersion, time.Now()
				}
				return addresses(i) == d.address && i.Annotations[watch.ObservedGeneration] != "" && time.Since(since) > time.Second
			})
		}
	}
	for _, d := range all {
		if d.replica.log.count("somebody undoes") > 0 {
			t.Errorf("the deployment of class %s fights", d.class)
		}
	}
}
