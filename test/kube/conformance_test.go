//go:build cluster

package kube

import (
	"net/http"
	"testing"

	networking "k8s.io/api/networking/v1"
)

// The behaviour that the Kubernetes project's ingress-controller-conformance wants
// of every controller, by its five features. Each case says which rule of the
// Ingress API it is.

// TestConformanceDefaultBackend: "an Ingress with no rules sends all traffic to a
// single default backend".
func TestConformanceDefaultBackend(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("all")
	w.simple("some")
	everything := ingress("all")
	backend := to("all:http")
	everything.Spec.DefaultBackend = &backend
	w.put(everything, ingress("some", rule{host: "some.test", path: "/some", service: "some"}))
	c.comes("some.test", "/some", "some")
	c.comes("any.test", "/", "all")
	for _, r := range []struct{ intent, host, path, want string }{
		{"any host", "other.test", "/", "all"},
		{"any path", "other.test", "/a/b?c=d", "all"},
	} {
		t.Log(r.intent)
		c.is(r.host, r.path, r.want)
	}
}

// TestConformanceHostRules: exact names beat wildcards; a wildcard is one label.
func TestConformanceHostRules(t *testing.T) {
	w := shared(t)
	c := w.controller()
	for _, name := range []string{"exact", "wild", "any"} {
		w.simple(name)
	}
	w.put(ingress("hosts",
		rule{host: "foo.bar.test", path: "/", service: "exact"},
		rule{host: "*.bar.test", path: "/", service: "wild"},
		rule{path: "/", service: "any"}))
	c.comes("foo.bar.test", "/", "exact")
	for _, r := range []struct{ intent, host, want string }{
		{"an exact name matches itself", "foo.bar.test", "exact"},
		{"case is of no matter", "FOO.Bar.test", "exact"},
		{"the port is no part of the name", "foo.bar.test:8080", "exact"},
		{"a wildcard matches one label", "baz.bar.test", "wild"},
		{"and no two", "a.b.bar.test", "any"},
		{"and not none", "bar.test", "any"},
		{"a rule without a host is for all others", "other.test", "any"},
	} {
		t.Log(r.intent)
		c.is(r.host, "/", r.want)
	}
}

// TestConformancePathRules is the table of examples in the documentation of the
// Ingress API, and its rule for several matches.
func TestConformancePathRules(t *testing.T) {
	const exact, prefix = networking.PathTypeExact, networking.PathTypePrefix
	w := shared(t)
	c := w.controller()
	for _, name := range []string{"one", "two", "three"} {
		w.simple(name)
	}
	w.put(ingress("paths",
		rule{"exact.test", "/foo", exact, "one"},
		rule{"exact-slash.test", "/foo/", exact, "one"},
		rule{"all.test", "/", prefix, "one"},
		rule{"prefix.test", "/foo", prefix, "one"},
		rule{"prefix-slash.test", "/foo/", prefix, "one"},
		rule{"elements.test", "/aaa/bb", prefix, "one"},
		rule{"deep.test", "/aaa/bbb", prefix, "one"},
		rule{"deep-slash.test", "/aaa/bbb/", prefix, "one"},
		rule{"longest.test", "/", prefix, "one"}, rule{"longest.test", "/aaa", prefix, "two"}, rule{"longest.test", "/aaa/bbb", prefix, "three"},
		rule{"both.test", "/foo", prefix, "one"}, rule{"both.test", "/foo", exact, "two"},
		rule{"regular.test", "/foo", networking.PathTypeImplementationSpecific, "one"},
	))
	c.comes("exact.test", "/foo", "one")
	for _, r := range []struct {
		host, path string
		want       any
	}{
		{"all.test", "/any/path", "one"},
		{"exact.test", "/foo", "one"},
		{"exact.test", "/bar", 404},
		{"exact.test", "/foo/", 404},
		{"exact.test", "/FOO", 404},
		{"exact-slash.test", "/foo", 404},
		{"exact-slash.test", "/foo/", "one"},
		{"prefix.test", "/foo", "one"},
		{"prefix.test", "/foo/", "one"},
		{"prefix-slash.test", "/foo", "one"},
		{"prefix-slash.test", "/foo/", "one"},
		{"elements.test", "/aaa/bbb", 404},
		{"deep.test", "/aaa/bbb", "one"},
		{"deep-slash.test", "/aaa/bbb", "one"},
		{"deep.test", "/aaa/bbb/", "one"},
		{"deep.test", "/aaa/bbb/ccc", "one"},
		{"deep.test", "/aaa/bbbxyz", 404},
		{"longest.test", "/aaa/ccc", "two"},
		{"longest.test", "/aaa/bbb/ccc", "three"},
		{"longest.test", "/ccc", "one"},
		{"both.test", "/foo", "two"},
		{"both.test", "/foo/bar", "one"},
		{"regular.test", "/foobar", "one"},
	} {
		c.is(r.host, r.path, r.want)
	}
}

// TestConformanceIngressClass: an Ingress of another class, and one of none while
// no class is the default one, are somebody else's.
func TestConformanceIngressClass(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	theirs := class("theirs")
	theirs.Spec.Controller = "example.com/other"
	none := ingress("none", rule{host: "none.test", path: "/", service: "shop"})
	none.Spec.IngressClassName = nil
	other := ingress("other", rule{host: "other.test", path: "/", service: "shop"})
	other.Spec.IngressClassName = &theirs.Name
	w.put(theirs, none, other, ingress("mine", rule{host: "mine.test", path: "/", service: "shop"}))
	c.comes("mine.test", "/", "shop")
	c.is("none.test", "/", 404)
	c.is("other.test", "/", 404)

	t.Log("a default class takes those without one")
	standard := class("ramjet")
	standard.Annotations = map[string]string{networking.AnnotationIsDefaultIngressClass: "true"}
	w.put(standard)
	c.comes("none.test", "/", "shop")
	c.is("other.test", "/", 404)
}

// TestConformanceLoadBalancing: requests are spread over all endpoints of a Service,
// and over those of today.
func TestConformanceLoadBalancing(t *testing.T) {
	w := shared(t)
	c := w.controller()
	pods := []*backend{w.backend("a"), w.backend("b"), w.backend("c")}
	w.app("shop", pods...)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.endpoints("shop.test", 3)
	const each = 100
	for _, count := range []int{3, 2} {
		w.put(slice("shop", addresses(pods[:count])...))
		c.endpoints("shop.test", count)
		var before []int64
		for _, p := range pods {
			before = append(before, p.served.Load())
		}
		for range each * count {
			if a, err := c.get("shop.test", "/"); err != nil || a.status != http.StatusOK {
				t.Fatal(a, err)
			}
		}
		for n, p := range pods {
			got, want := p.served.Load()-before[n], int64(each)
			if n >= count {
				want = 0
			}
			if got != want {
				t.Errorf("of %d requests to %d endpoints, %d went to %s, want %d", each*count, count, got, p.name, want)
			}
		}
	}
}
