//go:build cluster

package kube

import (
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

const nginx = "nginx.ingress.kubernetes.io/"

// TestCanary (C05): a canary without a production Ingress gets nothing and is
// warned; with one it takes its share; when that goes it is not promoted to
// everything.
func TestCanary(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	w.simple("next")
	canary := annotated(ingress("next", rule{host: "shop.test", path: "/", service: "next"}),
		nginx+"canary", "true", nginx+"canary-by-header", "x-next", nginx+"canary-weight", "0")
	w.put(canary)
	w.warned("next", "CanaryOrphan", "shop.test")
	c.is("shop.test", "/", 404)

	main := ingress("shop", rule{host: "shop.test", path: "/", service: "shop"})
	w.put(main)
	c.comes("shop.test", "/", "shop")
	asks := func(value, want string) {
		t.Helper()
		w.eventually("x-next: "+value, func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.HTTP+"/", http.NoBody)
			if err != nil {
				return err
			}
			request.Host = "shop.test"
			request.Header.Set("X-Next", value)
			a, err := send(c.client, request)
			if err == nil && a.backend != want {
				err = fmt.Errorf("%s, want %s", a, want)
			}
			return err
		})
	}
	asks("always", "next")
	asks("never", "shop")
	asks("perhaps", "shop")

	t.Log("weight 30 of 100")
	w.put(annotated(canary, nginx+"canary-weight", "30"))
	w.eventually("the share", func() error {
		share := 0
		for range 1000 {
			if a, err := c.get("shop.test", "/"); err != nil || a.status != http.StatusOK {
				return fmt.Errorf("%s, %w", a, err)
			} else if a.backend == "next" {
				share++
			}
		}
		if share < 230 || share > 370 {
			return fmt.Errorf("%d of 1000 requests went to the canary, want about 300", share)
		}
		return nil
	})

	t.Log("everything, and then the production Ingress goes")
	w.put(annotated(canary, nginx+"canary-weight", "100"))
	c.comes("shop.test", "/", "next")
	w.remove(main)
	c.comes("shop.test", "/", 404)
}

// TestMirror: a copy of each request goes to the other Service, and answers of it
// go nowhere.
func TestMirror(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	shadow := w.simple("shadow")
	w.put(annotated(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}), "ramjet.dev/mirror-backend", "shadow:80"))
	w.eventually("a copy", func() error {
		if err := c.gives("shop.test", "/", "shop"); err != nil {
			return err
		}
		if shadow.served.Load() == 0 {
			return fmt.Errorf("none came")
		}
		return nil
	})
	before := shadow.served.Load()
	for range 20 {
		c.is("shop.test", "/", "shop")
	}
	w.eventually("20 copies", func() error {
		if n := shadow.served.Load() - before; n < 20 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
}

// TestExternalName (E05): 503 with one Event now; as soon as it is a Service with
// endpoints, it serves.
func TestExternalName(t *testing.T) {
	w := shared(t)
	c := w.controller()
	away := service("shop")
	away.Spec = core.ServiceSpec{Type: core.ServiceTypeExternalName, ExternalName: "localhost"}
	w.put(away, ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", 503)
	w.warned("shop", "ServiceUnresolved", "ExternalName")
	w.simple("shop")
	c.comes("shop.test", "/", "shop")
}

// TestHeadless: a Service without an address of its own has endpoints all the same.
func TestHeadless(t *testing.T) {
	w := shared(t)
	c := w.controller()
	b := w.backend("shop")
	s := service("shop")
	s.Spec.ClusterIP = core.ClusterIPNone
	w.put(s, slice("shop", b.at), ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "shop")
}

// TestDrainWithCluster: SIGTERM ends a daemon in Kubernetes mode within its grace,
// with no request lost that had begun.
func TestDrainWithCluster(t *testing.T) {
	w := shared(t)
	c := w.controller()
	slow := w.simple("shop")
	slow.delay.Store(int64(time.Second))
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	answered := make(chan error, 1)
	w.eventually("the route", func() error {
		if len(c.generations().Generations) == 0 || c.generations().Generations[0].Routes != 1 {
			return fmt.Errorf("not there")
		}
		return nil
	})
	go func() { answered <- c.gives("shop.test", "/", "shop") }()
	w.eventually("the request at the backend", func() error {
		if slow.served.Load() == 0 {
			return fmt.Errorf("not there")
		}
		return nil
	})
	c.Signal(syscall.SIGTERM)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}
