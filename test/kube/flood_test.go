//go:build cluster

package kube

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	events "k8s.io/api/events/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ramjet.dev/ingress/internal/certs/certtest"
)

// written returns all Events of ours.
func (w *world) written() (all []events.Event) {
	w.t.Helper()
	list, err := w.Admin.Client.EventsV1().Events(meta.NamespaceAll).List(w.ctx, meta.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.ReportingController == ours {
			all = append(all, e)
		}
	}
	return all
}

// TestEventsDoNotFlood (O01): a warning that stands is one Event, whatever else is
// compiled and whoever restarts; what a thousand changes bring is bounded.
func TestEventsDoNotFlood(t *testing.T) {
	w := shared(t)
	c := w.launchNamed("pod-a")
	c.ready()
	blue, green := w.backend("blue"), w.backend("green")
	w.app("shop", blue)
	w.put(
		ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}),
		ingress("broken", rule{host: "broken.test", path: "/", service: "missing"}))
	w.warned("broken", "ServiceUnresolved", "missing")

	begun := time.Now()
	for n := range 300 {
		w.put(slice("shop", []*backend{blue, green}[n%2].at))
	}
	c.comes("shop.test", "/", "green")
	spent := time.Since(begun)
	if n := len(w.about("Ingress", "broken")); n != 1 {
		t.Errorf("%d Events about a warning that stood, want 1", n)
	}
	applied := len(w.about("IngressClass", "ramjet"))
	if most := 30 + int(spent/(2*time.Second)) + 3; applied > most {
		t.Errorf("%d Events about the configuration within %s, want at most %d", applied, spent, most)
	}
	t.Logf("300 changes in %s: %d Events on the IngressClass", ms(spent), applied)

	t.Log("a restart repeats nothing that stands")
	c.Signal(syscall.SIGTERM)
	c.Exit()
	again := w.launchNamed("pod-b")
	again.ready()
	again.Log.Wait(t, "leading")
	w.put(ingress("marker", rule{host: "marker.test", path: "/", service: "nowhere"}))
	w.warned("marker", "ServiceUnresolved", "nowhere")
	if n := len(w.about("Ingress", "broken")); n != 1 {
		t.Errorf("%d Events about a warning that stands, after a restart; want 1", n)
	}
}

// TestOtherPeoplesSecrets (K08): Secrets that nobody here uses cost neither a
// generation nor, if they are not for TLS, memory.
func TestOtherPeoplesSecrets(t *testing.T) {
	const count, size = 200, 500 << 10
	w := shared(t)
	c := w.controller()
	w.secured("shop.test")
	c.comes("shop.test", "/", "shop")
	before, generation := c.PeakMemory(), c.generations().Serving
	blob := []byte(strings.Repeat("x", size))
	for n := range count {
		w.put(opaque(fmt.Sprint("blob-", n), "blob", blob))
	}
	authority := certtest.NewAuthority(t)
	for n := range 20 {
		cert, key := authority.Pair(t, "unused.test")
		w.put(tlsSecret(fmt.Sprint("unused-", n), cert, key))
	}
	w.put(ingress("shop", rule{host: "shop.test", path: "/new", service: "shop"}))
	c.comes("shop.test", "/", 404)
	if now := c.generations().Serving; now != generation+1 {
		t.Errorf("generation %d after one change, was %d", now, generation)
	}
	grown := c.PeakMemory() - before
	t.Logf("%d MiB of other Secrets: the daemon grew by %.1f MiB", count*size>>20, float64(grown)/(1<<20))
	if grown > 32<<20 {
		t.Errorf("the daemon grew by %d MiB", grown>>20)
	}
	for n := range count { // etcd is not asked to keep them for the next test
		w.remove(&core.Secret{ObjectMeta: named(fmt.Sprint("blob-", n))})
	}
}
