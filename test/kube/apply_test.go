//go:build cluster

package kube

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/test/daemon"
)

// TestKubectlApply: what a person applies is served, each change of it too, and
// what is deleted is not.
func TestKubectlApply(t *testing.T) { onEach(t, kubectlApply) }

func kubectlApply(t *testing.T, engine string) {
	w := shared(t)
	c := w.controller("--engine", engine)
	blue, green := w.backend("blue"), w.backend("green")
	authority := certtest.NewAuthority(t)
	first, firstKey := authority.Pair(t, "shop.test")
	second, secondKey := authority.Pair(t, "shop.test")
	manifest := func(path, service string, endpoint *backend, cert, key []byte) string {
		return application("shop", path, service, endpoint, cert, key)
	}
	c.is("shop.test", "/", 404)

	w.kubectl(manifest("/", "shop", blue, first, firstKey), "apply", "-f", "-")
	c.comes("shop.test", "/cart", "blue")
	c.shows("shop.test", parse(t, first))

	t.Log("another endpoint")
	w.kubectl(manifest("/", "shop", green, first, firstKey), "apply", "-f", "-")
	c.comes("shop.test", "/cart", "green")

	t.Log("another certificate")
	w.kubectl(manifest("/", "shop", green, second, secondKey), "apply", "-f", "-")
	c.shows("shop.test", parse(t, second))

	t.Log("another path")
	w.kubectl(manifest("/shop", "shop", green, second, secondKey), "apply", "-f", "-")
	c.comes("shop.test", "/cart", 404)
	c.is("shop.test", "/shop/cart", "green")

	t.Log("another Service")
	w.kubectl(manifest("/shop", "store", blue, second, secondKey), "apply", "-f", "-")
	c.comes("shop.test", "/shop", "blue")

	t.Log("the Service without the port")
	w.kubectl(`{"spec":{"ports":[{"name":"other","port":81}]}}`, "patch", "service", "store", "--patch-file=/dev/stdin", "--type=merge")
	c.comes("shop.test", "/shop", 503)
	w.kubectl(manifest("/shop", "store", blue, second, secondKey), "apply", "-f", "-")
	c.comes("shop.test", "/shop", "blue")

	t.Log("nothing any more")
	w.kubectl("", "delete", "ingress", "shop")
	c.comes("shop.test", "/shop", 404)
	c.shows("shop.test", nil)
}

// application is the manifest of an Ingress for NAME.test with all that it needs.
func application(name, path, service string, endpoint *backend, cert, key []byte) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %[1]s}
spec:
  ingressClassName: ramjet
  tls: [{hosts: [%[1]s.test], secretName: %[1]s-tls}]
  rules:
  - host: %[1]s.test
    http: {paths: [{path: %[2]s, pathType: Prefix, backend: {service: {name: %[3]s, port: {name: http}}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: %[3]s}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[3]s-1, labels: {kubernetes.io/service-name: %[3]s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [%[4]s], conditions: {ready: true}}]
---
apiVersion: v1
kind: Secret
metadata: {name: %[1]s-tls}
type: kubernetes.io/tls
data: {tls.crt: %[5]s, tls.key: %[6]s}
`, name, path, service, endpoint.at, base64(cert), base64(key))
}

// TestServedAtOnce measures what a person waits for who applies everything in one go, the
// Ingress first, and asks: the objects come one by one, and what the first of them lacks is
// not held up by it.
func TestServedAtOnce(t *testing.T) {
	const times = 12
	w := shared(t)
	c := w.controller()
	b := w.backend("shop")
	authority := certtest.NewAuthority(t)
	var took []time.Duration
	for n := range times {
		name := fmt.Sprint("shop-", n)
		cert, key := authority.Pair(t, name+".test")
		w.kubectl(application(name, "/", name, b, cert, key), "apply", "-f", "-")
		acknowledged := time.Now()
		c.comes(name+".test", "/", "shop")
		c.shows(name+".test", parse(t, cert))
		took = append(took, time.Since(acknowledged))
	}
	slices.Sort(took)
	median, worst := took[times/2], took[times-1]
	t.Logf("%d applies, from the end of kubectl to an answer over HTTP and a handshake: median %s, worst %s", times, ms(median), ms(worst))
	// What is held up takes most of the gap of 100 ms; internal/rebuild has a test of the
	// rule, with a clock of its own. This bound is for a busy machine, and for a quarter of
	// the applies, as a machine may be very busy for a while.
	if quick := took[times/4]; quick > 250*time.Millisecond {
		t.Errorf("three quarters take longer than %s", ms(quick))
	}
}

// TestTimeToServe measures what a person who applies a change waits for: from the
// API server's acknowledgement to the first answer that obeys it.
func TestTimeToServe(t *testing.T) {
	const changes = 50
	w := shared(t)
	c := w.controller()
	blue, green := w.backend("blue"), w.backend("green")
	w.app("shop", blue)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "blue")
	var took []time.Duration
	for n := range changes {
		next := green
		if n%2 == 1 {
			next = blue
		}
		pause(150 * time.Millisecond) // longer than the hold-off: a person changes one thing
		w.put(slice("shop", next.at))
		acknowledged := time.Now()
		for c.gives("shop.test", "/", next.name) != nil {
			if time.Since(acknowledged) > daemon.Patience {
				t.Fatalf("change %d is not served", n)
			}
		}
		took = append(took, time.Since(acknowledged))
	}
	slices.Sort(took)
	median, worst := took[len(took)/2], took[len(took)-1]
	t.Logf("%d changes, from acknowledged to served: median %s, worst %s", changes, ms(median), ms(worst))
	// The aim is 30 ms on an idle machine. A machine that is busy with other tests
	// is given more, and three quarters of the changes may find it busier still; a poll or
	// a hold-off in the wrong place takes longer than that, nearly always.
	if quick := took[len(took)/4]; quick > 100*time.Millisecond {
		t.Errorf("three quarters take longer than %s", ms(quick))
	}
}

// TestBurstConverges: of many changes at once, the last is served, in few
// generations: at most ten a second.
func TestBurstConverges(t *testing.T) {
	const changes = 200
	w := shared(t)
	c := w.controller("--history-size", "1000")
	blue, green := w.backend("blue"), w.backend("green")
	w.app("shop", blue)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "blue")
	before := c.generations().Serving
	begun := time.Now()
	for n := range changes {
		w.put(slice("shop", []*backend{blue, green}[n%2].at))
	}
	c.comes("shop.test", "/", "green")
	spent := time.Since(begun)
	used := c.generations().Serving - before
	if most := int(spent/(100*time.Millisecond)) + 2; used > most {
		t.Errorf("%d changes in %s made %d generations, at most %d were due", changes, ms(spent), used, most)
	}
	t.Logf("%d changes in %s: %d generations", changes, ms(spent), used)
}
