//go:build cluster

package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestDescribeIngressClass: kubectl describe ingressclass shows one ConfigApplied for
// each publish, each with its own note, and what a person did to the brake.
func TestDescribeIngressClass(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	c := w.launchNamed("pod-a")
	c.ready()
	c.Log.Wait(t, "leading")
	for _, host := range []string{"one.test", "two.test", "three.test"} {
		w.put(ingress(strings.TrimSuffix(host, ".test"), rule{host: host, path: "/", service: "shop"}))
		c.comes(host, "/", "shop")
	}
	first, last := c.generations().Serving-2, c.generations().Serving
	c.rollback(first)
	c.release()
	wanted := []string{"ConfigPinned", "ConfigResumed"}
	for _, g := range c.generations().Generations {
		if g.Generation >= first && g.Published {
			wanted = append(wanted, fmt.Sprintf("(gen %d→%d)", g.Generation-1, g.Generation))
		}
	}
	if len(wanted) != 5 {
		t.Errorf("three Ingresses made these generations: %v", wanted)
	}
	var text string
	w.eventually("the Events of the IngressClass", func() error {
		text = w.kubectl("", "describe", "ingressclass", "ramjet")
		for _, one := range wanted {
			if strings.Count(text, one) != 1 {
				return fmt.Errorf("%q is there %d times, want once:\n%s", one, strings.Count(text, one), text)
			}
		}
		return nil
	})
	for _, e := range w.about("IngressClass", "ramjet") {
		if e.Namespace != "default" || e.ReportingController != ours || e.ReportingInstance != "pod-a" || e.Type != "Normal" {
			t.Errorf("in %s, type %s, reported by %s on %s: %s", e.Namespace, e.Type, e.ReportingController, e.ReportingInstance, e.Note)
		}
	}
	if last != first+2 {
		t.Errorf("three changes led from generation %d to %d", first-1, last)
	}
}

// TestDescribeIngress: kubectl describe ingress shows each annotation that is refused
// and each that is not supported, and what is served all the same.
func TestDescribeIngress(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	c := w.controller()
	annotations := map[string]string{ // annotation: value
		"nginx.ingress.kubernetes.io/proxy-body-size":       "8m",
		"nginx.ingress.kubernetes.io/configuration-snippet": "deny all;",
		"nginx.ingress.kubernetes.io/backend-protocol":      "HTTPS",
		"nginx.ingress.kubernetes.io/use-regex":             "perhaps",
		"ramjet.dev/mirror-percent":                         "200",
		"ramjet.dev/mirror-bakend":                          "shop:80",
	}
	i := annotated(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}), "ramjet.dev/mirror-backend", "shop:80")
	for name, value := range annotations {
		annotated(i, name, value)
	}
	w.put(i)
	c.comes("shop.test", "/", "shop")
	var events string
	w.eventually("the Events of the Ingress", func() error {
		text := w.kubectl("", "describe", "ingress", "shop")
		_, events, _ = strings.Cut(text, "Events:")
		for name, value := range annotations {
			if !mentions(events, name, value) {
				return fmt.Errorf("nothing about %s: %q:\n%s", name, value, text)
			}
		}
		return nil
	})
	if !strings.Contains(events, "ramjet.dev/mirror-backend") {
		t.Errorf("no hint at the annotation that was meant:\n%s", events)
	}

	t.Log("what is corrected is not said again")
	before := len(w.about("Ingress", "shop"))
	w.put(ingress("shop", rule{host: "shop.test", path: "/new", service: "shop"}))
	c.comes("shop.test", "/", 404)
	w.put(ingress("other", rule{host: "other.test", path: "/", service: "missing"}))
	w.warned("other", "ServiceUnresolved", "missing") // the writer has come this far
	if after := len(w.about("Ingress", "shop")); after != before {
		t.Errorf("%d Events on an Ingress without faults, were %d", after, before)
	}
}

// mentions reports whether one line has both the name, without its prefix, and the
// value.
func mentions(text, name, value string) bool {
	_, short, _ := strings.Cut(name, "/")
	for line := range strings.Lines(text) {
		if has(line, short, value) {
			return true
		}
	}
	return false
}

// TestObservedGeneration: the annotation says since which generation an Ingress is
// live as it now is; other people's changes do not touch it.
func TestObservedGeneration(t *testing.T) {
	const key = "ramjet.dev/observed-generation"
	w := shared(t)
	w.simple("shop")
	c := w.controller()
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "shop")
	observed := func(want int) {
		t.Helper()
		w.eventually("the observed generation", func() error {
			if got := w.get("shop").Annotations[key]; got != fmt.Sprint(want) {
				return fmt.Errorf("%s is %q, want %d", key, got, want)
			}
			return nil
		})
	}
	observed(c.generations().Serving)

	t.Log("somebody else's change")
	mine := w.get("shop").ResourceVersion
	w.put(ingress("other", rule{host: "other.test", path: "/", service: "shop"}))
	c.comes("other.test", "/", "shop")
	w.eventually("the other's", func() error {
		if w.get("other").Annotations[key] == "" {
			return fmt.Errorf("no %s", key)
		}
		return nil
	})
	if now := w.get("shop").ResourceVersion; now != mine {
		t.Errorf("the Ingress was written: %v", w.get("shop").ManagedFields)
	}

	t.Log("a change of its own")
	edited := ingress("shop", rule{host: "shop.test", path: "/new", service: "shop"})
	w.put(edited)
	c.comes("shop.test", "/", 404)
	observed(c.generations().Serving)

	t.Log("nothing that is written here makes a generation")
	before := c.generations().Serving
	pause(500 * time.Millisecond)
	if after := c.generations().Serving; after != before {
		t.Errorf("generation %d without a change, was %d", after, before)
	}
}
