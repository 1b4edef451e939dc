//go:build cluster

package kube

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestRollingUpdate (E01): three pods are replaced one by one under load. A new
// one is ready, the old one is marked as terminating; it goes on serving until
// nothing comes any more, closes its listener and is removed.
func TestRollingUpdate(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) { roll(t, engine, 300*time.Millisecond) })
}

// TestRollingUpdateWithoutGrace (E01): pods that stop listening at the instant at
// which they are marked as terminating. What can be repeated is repeated.
func TestRollingUpdateWithoutGrace(t *testing.T) {
	onEach(t, func(t *testing.T, engine string) { roll(t, engine, 0) })
}

func roll(t *testing.T, engine string, grace time.Duration) {
	w := shared(t)
	c := w.controller("--engine", engine)
	var old []*backend
	for n := range 3 {
		old = append(old, w.backend(fmt.Sprint("old-", n)))
	}
	w.app("shop", old...)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.endpoints("shop.test", 3)
	traffic := c.load(6, "shop.test", "/", from("old-0", "old-1", "old-2", "new-0", "new-1", "new-2"))

	pods := slice("shop", addresses(old)...)
	for n, leaving := range old {
		arriving := w.backend(fmt.Sprint("new-", n))
		pods.Endpoints = append(pods.Endpoints, endpoint(arriving.at, ready))
		w.put(pods)
		c.comes("shop.test", "/", arriving.name)

		mark(pods, leaving.at, terminating)
		written := time.Now()
		if grace == 0 {
			leaving.refuse()
		}
		w.put(pods)
		pause(grace)
		if late := leaving.lastAfter(written); grace > 0 {
			t.Logf("the last request to %s came %s after its removal was acknowledged", leaving.name, ms(late))
		}
		leaving.refuse()
		pods.Endpoints = slices.DeleteFunc(pods.Endpoints, func(e discovery.Endpoint) bool { return e.Addresses[0] == leaving.at.String() })
		w.put(pods)
	}
	c.endpoints("shop.test", 3)
	traffic.clean("three pods replaced")
}

// mark sets the state of one endpoint.
func mark(s *discovery.EndpointSlice, a netip.Addr, to state) {
	for n := range s.Endpoints {
		if s.Endpoints[n].Addresses[0] == a.String() {
			s.Endpoints[n] = endpoint(a, to)
		}
	}
}

// TestTerminatingButServing (E02): pods that are on their way out serve when there
// are no others, and only then.
func TestTerminatingButServing(t *testing.T) {
	w := shared(t)
	c := w.controller()
	a, b := w.backend("a"), w.backend("b")
	w.app("shop")
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", 503)
	pods := slice("shop")
	for _, step := range []struct {
		intent    string
		endpoints []discovery.Endpoint
		want      any
	}{
		{"one is terminating and serves: it is used", []discovery.Endpoint{endpoint(a.at, terminating)}, "a"},
		{"another is ready: only that one is used", []discovery.Endpoint{endpoint(a.at, terminating), endpoint(b.at, ready)}, "b"},
		{"neither ready nor serving", []discovery.Endpoint{endpoint(a.at, gone), endpoint(b.at, starting)}, 503},
		{"without conditions an endpoint is ready", []discovery.Endpoint{{Addresses: []string{a.at.String()}}}, "a"},
	} {
		pods.Endpoints = step.endpoints
		w.put(pods)
		t.Log(step.intent)
		c.comes("shop.test", "/", step.want)
		for range 20 {
			c.is("shop.test", "/", step.want)
		}
	}
}

// TestNamedPorts (E03): a Service port is joined with the slices by its name; its
// target has another number in each of them.
func TestNamedPorts(t *testing.T) {
	w := shared(t)
	c := w.controller()
	first := w.backend("first")
	second := w.backendAt("second", netip.AddrPortFrom(w.net.Address(), 9090))
	s := service("shop")
	s.Spec.Ports = []core.ServicePort{{Name: "web", Port: 80, TargetPort: intstr.FromString("http")}}
	one, two := slice("shop", first.at), slice("shop", second.at)
	two.Name = "shop-2"
	name, nine := "web", int32(9090)
	one.Ports[0].Name = &name
	two.Ports = []discovery.EndpointPort{{Name: &name, Port: &nine}}
	w.put(s, one, two, ingress("shop",
		rule{host: "name.test", path: "/", service: "shop:web"},
		rule{host: "number.test", path: "/", service: "shop:80"},
		rule{host: "target.test", path: "/", service: "shop:8080"},
		rule{host: "target-name.test", path: "/", service: "shop:http"},
	))
	for _, host := range []string{"name.test", "number.test"} {
		c.comes(host, "/", "first")
		c.comes(host, "/", "second")
	}
	c.is("target.test", "/", 503)
	c.is("target-name.test", "/", 503)
	w.warned("shop", "ServiceUnresolved", "8080")
	w.warned("shop", "ServiceUnresolved", "no port http")
}

// TestScaleToZeroAndBack (E07): without endpoints the answer is 503, not the
// default backend; after a burst of changes no address of before is used.
func TestScaleToZeroAndBack(t *testing.T) {
	w := shared(t)
	w.simple("fallback")
	c := w.controller("--default-backend", "default/fallback:80", "--history-size", "1000")
	var pods []*backend
	for n := range 3 {
		pods = append(pods, w.backend(fmt.Sprint("pod-", n)))
	}
	w.app("shop", pods...)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.endpoints("shop.test", 3)
	c.is("other.test", "/", "fallback")

	last := w.backend("last") // in the last state of the burst, and in no other
	fine := from("pod-0", "pod-1", "pod-2", "last")
	traffic := c.load(4, "shop.test", "/", func(a answer) error {
		if a.status == http.StatusServiceUnavailable && a.backend == "" {
			return nil
		}
		return fine(a)
	})
	before, begun := c.generations().Serving, time.Now()
	const rounds = 30
	for range rounds {
		for _, n := range []int{0, 1, 0, 3} {
			w.put(slice("shop", addresses(pods[:n])...))
		}
	}
	w.put(slice("shop", last.at))
	c.comes("shop.test", "/", "last")
	burst := time.Since(begun)
	for range 50 {
		c.is("shop.test", "/", "last")
	}
	w.put(slice("shop"))
	c.comes("shop.test", "/", 503)
	traffic.clean(fmt.Sprintf("%d times 0, 1, 0, 3 endpoints", rounds))
	used := c.generations().Serving - before
	t.Logf("%d writes in %s: %d generations", rounds*4+2, ms(burst), used)
	if most := int(time.Since(begun)/(100*time.Millisecond)) + 2; used > most {
		t.Errorf("%d generations, at most %d were due", used, most)
	}
}

// TestAddressFamilies: slices of both families are merged, and an address that is
// in two slices counts once.
func TestAddressFamilies(t *testing.T) {
	w := shared(t)
	c := w.controller()
	four := w.backend("four")
	address, err := w.net.Address6()
	if err != nil {
		t.Fatal(err)
	}
	six := w.backendAt("six", netip.AddrPortFrom(address, backendPort))
	one, again, other := slice("shop", four.at), slice("shop", four.at), slice("shop", six.at)
	again.Name, other.Name = "shop-2", "shop-3"
	w.put(service("shop"), one, again, other, ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.endpoints("shop.test", 2)
	c.comes("shop.test", "/", "four")
	c.comes("shop.test", "/", "six")
}
