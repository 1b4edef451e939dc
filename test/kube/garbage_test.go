//go:build cluster

package kube

import (
	"fmt"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestGarbage (R19, K10): objects that make no sense degrade only themselves. Each gets
// its Warning, what is good in them is served, and everything else is served all
// the time.
func TestGarbage(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("good")
	w.put(ingress("good", rule{host: "good.test", path: "/", service: "good"}))
	c.comes("good.test", "/", "good")
	traffic := c.load(2, "good.test", "/", from("good"))

	regex := func(name, pattern string) *networking.Ingress {
		return annotated(ingress(name,
			rule{name + ".test", pattern, networking.PathTypeImplementationSpecific, "good"},
			rule{name + ".test", "/good", networking.PathTypePrefix, "good"}),
			"nginx.ingress.kubernetes.io/use-regex", "true")
	}
	portless := service("portless")
	portless.Spec.Ports, portless.Spec.ClusterIP = nil, core.ClusterIPNone
	external := service("external")
	external.Spec = core.ServiceSpec{Type: core.ServiceTypeExternalName, ExternalName: "example.com"}
	resource := ingress("resource", rule{host: "resource.test", path: "/good", service: "good"})
	resource.Spec.Rules[0].HTTP.Paths = append(resource.Spec.Rules[0].HTTP.Paths, networking.HTTPIngressPath{
		Path: "/bucket", PathType: ptr(networking.PathTypePrefix),
		Backend: networking.IngressBackend{Resource: &core.TypedLocalObjectReference{Kind: "Bucket", Name: "icons"}},
	})
	long := strings.Repeat("é<\"\\", 1000) + "\n\x1b[31m"
	for _, bad := range []struct {
		name    string
		objects []runtime.Object
		reason  string
		note    string
		path    string // of name.test
		want    any
	}{
		{"regex", []runtime.Object{regex("regex", "/files/[id")}, "IngressRejected", "/files/[id", "/good", "good"},
		{"lookahead", []runtime.Object{regex("lookahead", "/(?=a)b")}, "IngressRejected", "(?=a)", "/good", "good"},
		{"huge-regex", []runtime.Object{regex("huge-regex", "/((a{100}){100}){100}")}, "IngressRejected", "huge-regex.test", "/good", "good"},
		{"portless", []runtime.Object{portless, ingress("portless", rule{host: "portless.test", path: "/", service: "portless"})}, "ServiceUnresolved", "default/portless", "/", 503},
		{"external", []runtime.Object{external, ingress("external", rule{host: "external.test", path: "/", service: "external"})}, "ServiceUnresolved", "ExternalName", "/", 503},
		{"resource", []runtime.Object{resource}, "ServiceUnresolved", "Bucket", "/good", "good"},
		{"parts", []runtime.Object{ingress("parts",
			rule{host: "parts.test", path: "/good", service: "good"},
			rule{host: "parts.test", path: "/missing", service: "missing"},
			rule{host: "parts.test", path: "/port", service: "good:81"})}, "ServiceUnresolved", "default/missing", "/good", "good"},
		{"long", []runtime.Object{annotated(ingress("long", rule{host: "long.test", path: "/", service: "good"}),
			"nginx.ingress.kubernetes.io/server-snippet", long, "ramjet.dev/"+strings.Repeat("x", 60), long)}, "UnsupportedAnnotation", "server-snippet", "/", "good"},
		{"canary", []runtime.Object{annotated(ingress("canary", rule{host: "canary.test", path: "/", service: "good"}),
			"nginx.ingress.kubernetes.io/canary", "true", "nginx.ingress.kubernetes.io/canary-weight", "１０")}, "InvalidAnnotation", "canary-weight", "/", 404},
		{"a-name-that-is-as-long-as-the-api-allows." + strings.Repeat("a", 60) + "." + strings.Repeat("b", 60) + "." + strings.Repeat("c", 60),
			nil, "ServiceUnresolved", "default/missing", "/", 503},
	} {
		if bad.objects == nil {
			bad.objects = []runtime.Object{ingress(bad.name, rule{host: "name.test", path: "/", service: "missing"})}
		}
		w.put(bad.objects...)
		host, _ := cut(bad.name, '.')
		if strings.HasPrefix(host, "a-name") {
			host = "name"
		}
		c.comes(host+".test", bad.path, bad.want)
		w.warned(bad.name, bad.reason, bad.note)
	}
	c.is("parts.test", "/missing", 503)
	c.is("parts.test", "/port", 503)
	c.is("resource.test", "/bucket", 503)
	w.warned("parts", "ServiceUnresolved", "no port 81")
	w.warned("canary", "CanaryOrphan", "canary.test")

	t.Log("what the log and the Events say of hostile text is escaped, and one line each")
	for line := range strings.Lines(c.Log.String()) {
		if strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\r\n") {
			t.Errorf("%q", line)
		}
	}
	for _, e := range w.about("Ingress", "long") {
		if strings.ContainsAny(e.Note, "\x1b\r\n") || len(e.Note) > 1024 {
			t.Errorf("a note of %d bytes: %q", len(e.Note), e.Note)
		}
	}
	traffic.clean("garbage")
	c.is("good.test", "/", "good")
}

func ptr[T any](v T) *T { return &v }

// TestManyPaths (K10): one Ingress with 100 rules of 100 paths.
func TestManyPaths(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	var rules []rule
	for n := range 100 {
		rules = append(rules, rule{host: fmt.Sprintf("host-%d.test", n), path: "/0", service: "shop"})
	}
	i := ingress("many", rules...)
	for _, r := range i.Spec.Rules {
		for n := 1; n < 100; n++ {
			p := r.HTTP.Paths[0]
			p.Path = fmt.Sprint("/", n)
			r.HTTP.Paths = append(r.HTTP.Paths, p)
		}
	}
	w.put(i)
	c.comes("host-99.test", "/99", "shop")
	c.is("host-0.test", "/50/x", "shop")
	c.is("host-0.test", "/100", 404)
	if g := c.generations().Generations[0]; g.Routes != 10000 {
		t.Errorf("%d routes, want 10000", g.Routes)
	}
}

// TestOneRouteThreeIngresses (R05): Exact and Prefix of one path are two routes; of two
// equal ones the older Ingress keeps it, the newer is warned, and a fourth Ingress
// is served as if nothing were.
func TestOneRouteThreeIngresses(t *testing.T) {
	w := shared(t)
	c := w.controller()
	for _, name := range []string{"exact", "older", "newer", "fourth"} {
		w.simple(name)
	}
	w.put(ingress("exact", rule{"shop.test", "/a", networking.PathTypeExact, "exact"}))
	w.put(ingress("older", rule{host: "shop.test", path: "/a", service: "older"}))
	c.comes("shop.test", "/a/b", "older")
	pause(1100 * time.Millisecond) // a creationTimestamp has seconds
	w.put(ingress("newer", rule{host: "shop.test", path: "/a", service: "newer"}))
	w.put(ingress("fourth", rule{host: "fourth.test", path: "/", service: "fourth"}))
	c.comes("fourth.test", "/", "fourth")
	c.is("shop.test", "/a", "exact")
	c.is("shop.test", "/a/b", "older")
	w.warned("newer", "PathConflict", "default/older")
	t.Log("the older goes, and the newer takes over")
	w.remove(ingress("older"))
	c.comes("shop.test", "/a/b", "newer")
}
