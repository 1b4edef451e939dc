//go:build cluster

package kube

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ramjet.dev/ingress/test/cluster"
	"ramjet.dev/ingress/test/daemon"
)

// ours is the value of spec.controller that makes an IngressClass ours.
const ours = "ramjet.dev/ingress"

// world is what one test sees of a cluster. Its objects are gone when the test has
// ended.
type world struct {
	*cluster.Cluster
	t   *testing.T
	ctx context.Context
	net *cluster.Network

	namespaces []string
}

// shared gives a test the cluster of the package, with nothing in it but the
// IngressClass ramjet.
func shared(t *testing.T) *world {
	t.Helper()
	c, n, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return enter(t, c, n)
}

// own gives a test a cluster of its own, which it may kill.
func own(t *testing.T) *world {
	t.Helper()
	_, n, err := start()
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Start(t.Context(), cluster.Options{Binaries: plane.binaries})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return enter(t, c, n)
}

func enter(t *testing.T, c *cluster.Cluster, n *cluster.Network) *world {
	t.Helper()
	// The context of the test is done before its cleanups run.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &world{Cluster: c, t: t, ctx: ctx, net: n, namespaces: []string{"default"}}
	if c == plane.cluster {
		t.Cleanup(w.empty)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs())
		}
	})
	context.AfterFunc(t.Context(), func() {}) // the context of the test is not used for writes
	t.Cleanup(cancel)
	w.put(class("ramjet"))
	return w
}

// empty removes what tests make. Without its controller a namespace cannot be
// deleted, so it stays.
func (w *world) empty() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), daemon.Patience)
	defer cancel()
	now, all := meta.DeleteOptions{}, meta.ListOptions{}
	api := w.Admin.Client
	check := func(err error) {
		if err != nil {
			w.t.Error("empty the cluster:", err)
		}
	}
	check(api.NetworkingV1().IngressClasses().DeleteCollection(ctx, now, all))
	for _, ns := range w.namespaces {
		check(api.NetworkingV1().Ingresses(ns).DeleteCollection(ctx, now, all))
		check(api.DiscoveryV1().EndpointSlices(ns).DeleteCollection(ctx, now, all))
		check(api.CoreV1().Secrets(ns).DeleteCollection(ctx, now, all))
		check(api.CoordinationV1().Leases(ns).DeleteCollection(ctx, now, all))
		check(api.EventsV1().Events(ns).DeleteCollection(ctx, now, all))
		services, err := api.CoreV1().Services(ns).List(ctx, all)
		check(err)
		for _, s := range services.Items {
			if s.Name != "kubernetes" {
				check(api.CoreV1().Services(ns).Delete(ctx, s.Name, now))
			}
		}
	}
}

// namespace makes one, and returns its name.
func (w *world) namespace(name string) string {
	w.t.Helper()
	if !slices.Contains(w.namespaces, name) {
		w.put(&core.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
		w.namespaces = append(w.namespaces, name)
	}
	return name
}

// put makes objects, or makes those of their names like them. An object without a
// namespace is in default.
func (w *world) put(objects ...runtime.Object) {
	w.t.Helper()
	for _, o := range objects {
		if err := w.tryPut(o); err != nil {
			w.t.Fatalf("put %T: %v", o, err)
		}
	}
}

func (w *world) tryPut(o runtime.Object) error {
	ctx, api := w.ctx, w.Admin.Client
	switch o := o.DeepCopyObject().(type) {
	case *core.Namespace:
		return cluster.Put(ctx, api.CoreV1().Namespaces(), o)
	case *networking.IngressClass:
		return cluster.Put(ctx, api.NetworkingV1().IngressClasses(), o)
	case *networking.Ingress:
		return cluster.Put(ctx, api.NetworkingV1().Ingresses(space(o)), o)
	case *core.Service:
		return cluster.Put(ctx, api.CoreV1().Services(space(o)), o)
	case *core.Secret:
		return cluster.Put(ctx, api.CoreV1().Secrets(space(o)), o)
	case *discovery.EndpointSlice:
		return cluster.Put(ctx, api.DiscoveryV1().EndpointSlices(space(o)), o)
	default:
		w.t.Fatalf("put does not know %T", o)
		return nil
	}
}

// putAll writes many objects, in order of their kinds, with several connections.
func (w *world) putAll(objects []runtime.Object) {
	w.t.Helper()
	work := make(chan runtime.Object)
	failed := make(chan error, 8)
	for range cap(failed) {
		go func() {
			var errs []error
			for o := range work {
				errs = append(errs, w.tryPut(o))
			}
			failed <- errors.Join(errs...)
		}()
	}
	for _, o := range objects {
		work <- o
	}
	close(work)
	for range cap(failed) {
		if err := <-failed; err != nil {
			w.t.Error(err)
		}
	}
}

// space is the namespace of an object.
func space(o meta.Object) string {
	if o.GetNamespace() == "" {
		o.SetNamespace("default")
	}
	return o.GetNamespace()
}

// remove deletes objects. One that is not there is no fault.
func (w *world) remove(objects ...runtime.Object) {
	w.t.Helper()
	ctx, api, now := w.ctx, w.Admin.Client, meta.DeleteOptions{}
	for _, o := range objects {
		var err error
		switch o := o.DeepCopyObject().(type) {
		case *networking.IngressClass:
			err = api.NetworkingV1().IngressClasses().Delete(ctx, o.Name, now)
		case *networking.Ingress:
			err = api.NetworkingV1().Ingresses(space(o)).Delete(ctx, o.Name, now)
		case *core.Service:
			err = api.CoreV1().Services(space(o)).Delete(ctx, o.Name, now)
		case *core.Secret:
			err = api.CoreV1().Secrets(space(o)).Delete(ctx, o.Name, now)
		case *discovery.EndpointSlice:
			err = api.DiscoveryV1().EndpointSlices(space(o)).Delete(ctx, o.Name, now)
		default:
			w.t.Fatalf("remove does not know %T", o)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			w.t.Fatalf("remove %T: %v", o, err)
		}
	}
}

// kubectl runs kubectl as the administrator and returns what it wrote.
func (w *world) kubectl(stdin string, args ...string) string {
	w.t.Helper()
	out, err := w.Admin.Kubectl(w.ctx, stdin, args...)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// eventually asks until the answer is nil, and fails the test with the last
// answer when that takes too long.
func (w *world) eventually(what string, ask func() error) {
	w.t.Helper()
	if err := within(w.ctx, daemon.Patience, ask); err != nil {
		w.t.Fatalf("%s: %v", what, err)
	}
}

// within asks every few milliseconds until the answer is nil.
func within(ctx context.Context, most time.Duration, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// pause waits for a quiet moment: what happens after it is no part of what was
// before.
func pause(d time.Duration) { <-time.After(d) }

// has reports whether one text has all of the others.
func has(text string, all ...string) bool {
	for _, s := range all {
		if !strings.Contains(text, s) {
			return false
		}
	}
	return true
}
