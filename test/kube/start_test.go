//go:build cluster

package kube

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ramjet.dev/ingress/test/cluster"
)

// far starts a daemon that reaches the API server through a proxy.
func (w *world) far(flags ...string) (*controller, *cluster.Proxy) {
	w.t.Helper()
	p, a := w.proxied()
	return w.launch(a, flags...), p
}

func (w *world) proxied() (*cluster.Proxy, *cluster.Access) {
	w.t.Helper()
	p, err := cluster.NewProxy(w.Address())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(p.Close)
	a, err := w.Via(p, w.Admin)
	if err != nil {
		w.t.Fatal(err)
	}
	return p, a
}

// TestAPIServerDownAtStart (K05): a daemon that finds no API server stays, is not
// ready and says so once a minute; when the server comes, it gets ready by itself.
func TestAPIServerDownAtStart(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	for _, down := range []struct {
		intent string
		down   func(*cluster.Proxy)
	}{
		{"refused", func(p *cluster.Proxy) { p.Cut() }},
		{"no answer", func(p *cluster.Proxy) { p.Freeze() }},
	} {
		t.Run(down.intent, func(t *testing.T) {
			w := &world{Cluster: w.Cluster, t: t, ctx: w.ctx, net: w.net}
			p, a := w.proxied()
			down.down(p)
			c := w.launch(a)
			line := c.Log.Wait(t, "not ready")
			if !has(line, "API server", `"WARN"`) {
				t.Errorf("%s", line)
			}
			if err := c.isReady(); err == nil {
				t.Error("it is ready")
			}
			// Many attempts later nothing was said twice.
			pause(3 * time.Second)
			for _, text := range []string{"has not sent everything yet", "does not answer"} {
				if n := strings.Count(c.Log.String(), text); n > 1 {
					t.Errorf("%q is said %d times within seconds, want once a minute:\n%s", text, n, c.Log)
				}
			}
			p.Thaw()
			if err := p.Open(); err != nil {
				t.Fatal(err)
			}
			up := time.Now()
			c.ready()
			c.is("shop.test", "/", "shop")
			t.Logf("ready %s after the API server was back", ms(time.Since(up)))
		})
	}
}

// TestTokenOfNobody (K05): an API server that does not know us is told apart from one that is
// away. The daemon is not ready, says what to check, and ends when it is asked to.
func TestTokenOfNobody(t *testing.T) {
	w := shared(t)
	account := w.account("leaves", acrossRights)
	if err := w.Admin.Client.CoreV1().ServiceAccounts("default").Delete(w.ctx, "leaves", meta.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c := w.launch(account)
	if line := c.Log.Wait(t, "not ready"); !has(line, "does not know who we are", "check the token") {
		t.Errorf("%s", line)
	}
	if err := c.isReady(); err == nil {
		t.Error("it is ready")
	}
	c.Signal(syscall.SIGTERM)
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// TestResetsAndDelays: the connection to the API server is reset again and again,
// and slow. The table converges and no request fails.
func TestResetsAndDelays(t *testing.T) {
	w := shared(t)
	c, p := w.far()
	c.ready()
	blue, green := w.backend("blue"), w.backend("green")
	w.app("shop", blue)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "blue")
	traffic := c.load(4, "shop.test", "/", from("blue", "green"))
	for n := range 10 {
		next := []*backend{green, blue}[n%2]
		switch n % 3 {
		case 0:
			p.Reset()
		case 1:
			p.Delay(200 * time.Millisecond)
		case 2:
			p.Delay(0)
			p.Cut()
		}
		w.put(slice("shop", next.at))
		if n%3 == 2 {
			pause(300 * time.Millisecond)
			if err := p.Open(); err != nil {
				t.Fatal(err)
			}
		}
		c.comes("shop.test", "/", next.name)
	}
	traffic.clean("resets and delays")
}

// TestSilentConnection: a connection on which nothing comes any more, and no error
// either, is noticed, and the table converges.
func TestSilentConnection(t *testing.T) {
	w := shared(t)
	c, p := w.far()
	c.ready()
	blue, green := w.backend("blue"), w.backend("green")
	w.app("shop", blue)
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c.comes("shop.test", "/", "blue")
	traffic := c.load(2, "shop.test", "/", from("blue", "green"))
	p.Freeze()
	w.put(slice("shop", green.at))
	pause(3 * time.Second)
	c.is("shop.test", "/", "blue")
	p.Thaw()
	c.comes("shop.test", "/", "green")
	traffic.clean("a silent connection")
}

// TestWatchExpired: the history of the API server is compacted while the daemon
// cannot reach it, so that its watches cannot go on where they were (410 Gone). It
// reads everything anew, without a gap in the table, and gets what it missed:
// something new, something changed, something deleted.
func TestWatchExpired(t *testing.T) {
	w := own(t)
	p, a := w.proxied()
	c := w.launch(a)
	c.ready()
	blue, green := w.backend("blue"), w.backend("green")
	w.app("shop", blue)
	w.put(
		ingress("stays", rule{host: "stays.test", path: "/", service: "shop"}),
		ingress("goes", rule{host: "goes.test", path: "/", service: "shop"}))
	c.comes("stays.test", "/", "blue")
	c.comes("goes.test", "/", "blue")
	traffic := c.load(4, "stays.test", "/", from("blue", "green"))

	p.Cut()
	w.put(slice("shop", green.at), ingress("comes", rule{host: "comes.test", path: "/", service: "shop"}))
	w.remove(ingress("goes"))
	if err := w.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A new API server remembers nothing from before its start.
	w.KillAPIServer()
	if err := w.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.Open(); err != nil {
		t.Fatal(err)
	}
	c.comes("comes.test", "/", "green")
	c.comes("stays.test", "/", "green")
	c.comes("goes.test", "/", 404)
	traffic.clean("expired watches")
}

// TestEmptyCluster (K05): what the API server itself says is believed, even that
// everything is gone. It is published with a warning that says how to go back, and
// going back works.
func TestEmptyCluster(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	for n := range 10 {
		w.put(ingress(fmt.Sprint("shop-", n), rule{host: fmt.Sprintf("shop-%d.test", n), path: "/", service: "shop"}))
	}
	for n := range 10 {
		c.comes(fmt.Sprintf("shop-%d.test", n), "/", "shop")
	}
	full := c.generations().Serving
	if err := w.Admin.Client.NetworkingV1().Ingresses("default").DeleteCollection(w.ctx, meta.DeleteOptions{}, meta.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	c.comes("shop-0.test", "/", 404)
	c.comes("shop-9.test", "/", 404)
	c.Log.Wait(t, `"warning":`)
	c.rollback(full)
	for n := range 10 {
		c.is(fmt.Sprintf("shop-%d.test", n), "/", "shop")
	}
}
