//go:build cluster

package kube

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ramjet.dev/ingress/internal/certs/certtest"
)

// The cluster of TestCrowd.
const (
	crowdIngresses = 5000
	crowdFaults    = 1000 // of them have the same fault
	crowdSecured   = 300  // have a Secret each
	crowdSecrets   = 3000 // are there, for TLS
)

func crowdHost(n int) string { return fmt.Sprintf("crowd-%d.test", n) }

// TestCrowd: a cluster of 5,000 Ingresses, a thousand with one and the same fault, and 3,000
// TLS Secrets, 300 of which are used; and three replicas, all of which start twice.
//
// Ready means complete (K06): from the moment at which a replica is ready every host has
// its route and its certificate, all in one generation. Secrets that nobody uses are not
// parsed and change nothing (K08). Events do not flood (O01): those about the thousand are
// paced, only the leader writes them, and starting again repeats none.
func TestCrowd(t *testing.T) {
	w := own(t)
	w.simple("shop")
	cert, key := certtest.NewAuthority(t).Pair(t, "crowd.test")
	var objects []runtime.Object
	for n := range crowdSecrets {
		objects = append(objects, tlsSecret(fmt.Sprint("tls-", n), cert, key))
	}
	for n := range crowdIngresses {
		objects = append(objects, crowdIngress(n))
	}
	begun := time.Now()
	w.putAll(objects)
	written := time.Now()
	t.Logf("%d objects written in %s", len(objects), written.Sub(begun).Round(100*time.Millisecond))

	replicas := w.crowd("a")
	unused := objects[crowdSecrets-1].DeepCopyObject()
	otherCert, otherKey := certtest.NewAuthority(t).Pair(t, "crowd.test")
	w.put(tlsSecret(fmt.Sprint("tls-", crowdSecrets-1), otherCert, otherKey), unused)
	w.put(ingress("marker", rule{host: "marker.test", path: "/", service: "shop"}))
	for _, c := range replicas {
		c.comes("marker.test", "/", "shop")
		if g := c.generations(); g.Serving != 2 {
			t.Errorf("generation %d after one change that is served, and two of a Secret that is not", g.Serving)
		}
	}
	w.eventually("Events about the fault", func() error {
		if w.flood() == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	for _, c := range replicas {
		c.Signal(syscall.SIGTERM)
		c.Exit()
	}

	t.Log("all start again")
	w.crowd("b")
	pause(2 * time.Second)
	const burst = 25 // of each leader; then one each second
	if n, most := w.flood(), 2*burst+int(time.Since(written)/time.Second)+5; n > most {
		t.Errorf("%d Events within %s, want at most %d", n, time.Since(written), most)
	} else {
		t.Logf("%d Ingresses with a fault: %d Events within %s", crowdFaults, n, time.Since(written).Round(time.Second))
	}
}

func crowdIngress(n int) *networking.Ingress {
	i := ingress(fmt.Sprint("crowd-", n), rule{host: crowdHost(n), path: "/", service: "shop"})
	if n < crowdFaults {
		annotated(i, "nginx.ingress.kubernetes.io/proxy-body-size", "8m")
	}
	if n < crowdSecured {
		withTLS(i, fmt.Sprint("tls-", n), crowdHost(n))
	}
	return i
}

// crowd starts three replicas, one after the other, and asks each for every host as soon as
// it is ready.
func (w *world) crowd(generation string) (replicas []*controller) {
	w.t.Helper()
	for n := range 3 {
		c := w.launchNamed(fmt.Sprint("pod-", generation, n), "--no-status-update", "--log-level", "debug")
		c.ready()
		took := time.Since(c.Started)
		c.asksAll()
		g := c.generations()
		if first := g.Generations[len(g.Generations)-1]; g.Serving != 1 || first.Routes < crowdIngresses {
			w.t.Errorf("generation %d serves; the first had %d routes, want %d", g.Serving, first.Routes, crowdIngresses)
		}
		var compiled struct{ Parsed int }
		if err := json.Unmarshal([]byte(c.Log.Wait(w.t, `"compiled"`)), &compiled); err != nil || compiled.Parsed != crowdSecured {
			w.t.Errorf("%d certificates were parsed, want the %d that are used (%v)", compiled.Parsed, crowdSecured, err)
		}
		if lines := strings.Count(c.Log.String(), "proxy-body-size"); lines == 0 || lines > 10 {
			w.t.Errorf("%d lines in the log about a fault of %d", lines, crowdFaults)
		}
		w.t.Logf("a replica was ready after %s, with %.0f MiB at most", ms(took), float64(c.PeakMemory())/(1<<20))
		replicas = append(replicas, c)
	}
	return replicas
}

// asksAll wants every host to be served, and to have its certificate.
func (c *controller) asksAll() {
	c.t.Helper()
	var failed atomic.Int64
	var next atomic.Int64
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for n := next.Add(1) - 1; n < crowdIngresses; n = next.Add(1) - 1 {
				err := c.gives(crowdHost(int(n)), "/", "shop")
				if err == nil && n < crowdSecured {
					_, err = c.leaf(crowdHost(int(n)))
				}
				if err != nil && failed.Add(1) <= 5 {
					c.t.Errorf("a replica that is ready: %v", err)
				}
			}
		})
	}
	asking.Wait()
	if n := failed.Load(); n > 0 {
		c.t.Errorf("%d of %d hosts are not served by a replica that is ready", n, crowdIngresses)
	}
}

// flood is how many Events there are about Ingresses, each of which has one at most.
func (w *world) flood() int {
	w.t.Helper()
	seen := map[string]int{}
	for _, e := range w.written() {
		if e.Type == "Warning" {
			seen[e.Regarding.Name]++
		}
	}
	for name, n := range seen {
		if n > 1 {
			w.t.Errorf("%d Events about the one fault of %s", n, name)
		}
	}
	return len(seen)
}
