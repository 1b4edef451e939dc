//go:build cluster

package kube

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	networking "k8s.io/api/networking/v1"

	"ramjet.dev/ingress/internal/certs/certtest"
)

// TestConverges: whatever was changed in whatever order, over a connection that was
// reset, slow and cut meanwhile, the daemon that lived through it has the table
// that one has which reads everything anew. The two are compared by the digest of
// their newest generation.
func TestConverges(t *testing.T) {
	const changes = 300
	w := shared(t)
	c, p := w.far("--no-status-update")
	c.ready()
	pods := []*backend{w.backend("a"), w.backend("b"), w.backend("c")}
	authority := certtest.NewAuthority(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	pick := func(kind string, of int) string { return fmt.Sprint(kind, "-", random.IntN(of)) }

	steps := []func(){
		func() {
			name := pick("shop", 12)
			i := ingress(name, rule{host: pick("host", 8) + ".test", path: "/" + pick("path", 3), service: pick("app", 5)})
			if random.IntN(3) > 0 {
				withTLS(i, pick("cert", 4), i.Spec.Rules[0].Host)
			}
			switch random.IntN(6) {
			case 0:
				annotated(i, nginx+"canary", "true", nginx+"canary-weight", fmt.Sprint(random.IntN(120)))
			case 1:
				annotated(i, "ramjet.dev/mirror-backend", pick("app", 5)+":80")
			case 2:
				name := pick("class", 3)
				i.Spec.IngressClassName = &name
			}
			w.put(i)
		},
		func() { w.remove(ingress(pick("shop", 12))) },
		func() { w.put(service(pick("app", 5))) },
		func() { w.remove(service(pick("app", 5))) },
		func() { w.put(slice(pick("app", 5), addresses(pods[:random.IntN(4)])...)) },
		func() { w.remove(slice(pick("app", 5))) },
		func() {
			cert, key := authority.Pair(t, pick("host", 8)+".test")
			if random.IntN(4) == 0 {
				key = []byte("no key")
			}
			w.put(tlsSecret(pick("cert", 4), cert, key))
		},
		func() { w.remove(tlsSecret(pick("cert", 4), nil, nil)) },
		func() {
			one := class(pick("class", 3))
			one.Annotations = map[string]string{networking.AnnotationIsDefaultIngressClass: fmt.Sprint(random.IntN(4) == 0)}
			w.remove(one) // its controller cannot be changed
			if random.IntN(3) == 0 {
				one.Spec.Controller = "example.com/other"
			}
			w.put(one)
		},
		func() { w.remove(class(pick("class", 3))) },
	}
	troubles := []func(){
		p.Reset,
		func() { p.Delay(time.Duration(random.IntN(20)) * time.Millisecond) },
		func() {
			p.Cut()
			pause(time.Duration(random.IntN(50)) * time.Millisecond)
			if err := p.Open(); err != nil {
				t.Fatal(err)
			}
		},
	}
	for range changes {
		steps[random.IntN(len(steps))]()
		if random.IntN(30) == 0 {
			troubles[random.IntN(len(troubles))]()
		}
		if random.IntN(10) == 0 {
			pause(120 * time.Millisecond) // longer than the hold-off
		}
	}
	p.Delay(0)
	// The last change of all, so that it is seen when everything was.
	w.put(ingress("last", rule{host: "last.test", path: "/", service: "last"}))
	w.simple("last")
	c.comes("last.test", "/", "last")

	fresh := w.controller("--no-status-update")
	fresh.is("last.test", "/", "last")
	w.eventually("equal tables", func() error {
		lived, anew := c.generations().Generations[0], fresh.generations().Generations[0]
		if lived.Digest != anew.Digest {
			return fmt.Errorf("lived through it: %s (%d routes, %d certificates); read anew: %s (%d, %d)",
				lived.Digest, lived.Routes, lived.Certs, anew.Digest, anew.Routes, anew.Certs)
		}
		return nil
	})
	t.Logf("%d changes made %d generations; %d routes and %d certificates in the end",
		changes, c.generations().Serving, c.generations().Generations[0].Routes, c.generations().Generations[0].Certs)
}

// TestSetBack (K05): etcd comes back with a backup of before, in which resource
// versions are smaller than those that the daemon has seen, then with nothing, then
// with the backup again. What the API server says is what is served, each time.
func TestSetBack(t *testing.T) {
	w := own(t)
	c := w.controller()
	blue, green := w.backend("blue"), w.backend("green")
	w.app("shop", blue)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "blue")
	restart := func(data string) {
		t.Helper()
		w.KillAPIServer()
		w.KillEtcd()
		if data == "save" {
			if err := w.SaveData("backup"); err != nil {
				t.Fatal(err)
			}
		} else if err := w.LoadData(data); err != nil {
			t.Fatal(err)
		}
		if err := w.StartEtcd(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	restart("save")
	for n := range 20 { // versions move on
		w.put(ingress(fmt.Sprint("later-", n), rule{host: fmt.Sprintf("later-%d.test", n), path: "/", service: "shop"}))
	}
	w.put(slice("shop", green.at))
	c.comes("later-19.test", "/", "green")
	full := c.generations().Serving

	t.Log("the backup of before")
	restart("backup")
	c.comes("later-19.test", "/", 404)
	c.is("shop.test", "/", "blue")
	t.Log("and it follows what changes now")
	w.put(slice("shop", green.at))
	c.comes("shop.test", "/", "green")

	t.Log("nothing at all")
	restart("")
	c.comes("shop.test", "/", 404)
	c.Log.Wait(t, `"warning":`)
	t.Log("the brake")
	c.rollback(full)
	c.is("shop.test", "/", "green")
	c.is("later-19.test", "/", "green")
	c.release()
	c.is("shop.test", "/", 404)

	t.Log("the backup again")
	restart("backup")
	c.comes("shop.test", "/", "blue")
	isReady(t, c)
}
