//go:build cluster

package kube

import (
	"fmt"
	"testing"

	"ramjet.dev/ingress/internal/certs/certtest"
)

// TestRollbackWithoutAPIServer: the emergency brake works while kube-apiserver is
// dead. The generation of before serves with its certificate. When the API server
// is back and objects change, that is recorded and held back; released, the newest
// serves. No request fails at any time.
func TestRollbackWithoutAPIServer(t *testing.T) { onEach(t, rollbackWithoutAPIServer) }

func rollbackWithoutAPIServer(t *testing.T, engine string) {
	w := own(t)
	c := w.controller("--engine", engine)
	authority := certtest.NewAuthority(t)
	shop := withTLS(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}), "shop-tls", "shop.test")
	state := func(name string) (apply, check func()) {
		b := w.backend(name)
		cert, key := authority.Pair(t, "shop.test")
		return func() { w.put(service("shop"), slice("shop", b.at), tlsSecret("shop-tls", cert, key), shop) },
			func() { c.comes("shop.test", "/", name); c.shows("shop.test", parse(t, cert)) }
	}
	applyGood, isGood := state("good")
	applyBad, isBad := state("bad")
	applyNewer, isNewer := state("newer")

	applyGood()
	isGood()
	good := c.generations().Serving
	traffic := c.load(4, "shop.test", "/", from("good", "bad", "newer"))
	applyBad()
	isBad()
	bad := c.generations().Serving

	t.Log("kube-apiserver is killed; roll back")
	w.KillAPIServer()
	c.Log.Wait(t, "API server")
	c.rollback(good)
	c.is("shop.test", "/", "good")
	isGood()
	if g := c.generations(); g.Serving != good || g.Pinned == nil || *g.Pinned != good {
		t.Errorf("serving %d, pinned %v; want %d for both", g.Serving, g.Pinned, good)
	}

	t.Log("it is back, with changed objects")
	if err := w.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	applyNewer()
	w.eventually("the change is recorded", func() error {
		newest := c.generations().Generations[0]
		if newest.Generation <= bad || newest.Certs != 1 {
			return fmt.Errorf("the newest generation is %d", newest.Generation)
		}
		return nil
	})
	// The change is three writes; how many generations they make is of no matter.
	for _, g := range c.generations().Generations {
		if g.Generation > bad && g.Published {
			t.Errorf("generation %d was published although %d is pinned", g.Generation, good)
		}
	}
	isGood()

	t.Log("released")
	c.release()
	isNewer()
	traffic.clean("the outage, the pin and the release")
	isReady(t, c)
}

func isReady(t *testing.T, c *controller) {
	t.Helper()
	if err := c.isReady(); err != nil {
		t.Error(err)
	}
}

// TestServesWhileEverythingIsAway: etcd and API server are killed under load and
// come back; what is served does not change, readiness neither.
func TestServesWhileEverythingIsAway(t *testing.T) {
	w := own(t)
	c := w.controller()
	w.simple("shop")
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "shop")
	before := c.generations().Serving
	traffic := c.load(4, "shop.test", "/", from("shop"))
	w.KillEtcd()
	w.KillAPIServer()
	c.Log.Wait(t, "API server")
	isReady(t, c)
	if err := w.StartEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Log.Wait(t, "the API server answers again")
	if now := c.generations().Serving; now != before {
		t.Errorf("generation %d after an outage without changes, was %d", now, before)
	}
	traffic.clean("the outage")
	t.Log("and it still follows")
	w.remove(ingress("shop"))
	c.comes("shop.test", "/", 404)
}
