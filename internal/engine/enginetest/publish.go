package enginetest

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// publishing is what a new configuration does to requests: those that have begun
// finish against the table they began with, no others fail.
var publishing = features{
	"a request finishes against its table":        finishesAgainstTable,
	"fifty publishes under load":                  publishUnderLoad,
	"everything is taken away and comes back":     publishNothing,
	"connections to endpoints that stay are kept": publishKeepsPools,
}

func finishesAgainstTable(t *T) {
	o := newHeld(t)
	old := o.Spec()
	old.Routes[0].Host = "a.test"
	p := t.Start(Setup{Spec: old})
	table := p.Live.Table()
	c := p.Dial()
	c.Send("GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n")
	o.holds(t, 1)
	next := NewOrigin(t, Text("next")).Spec()
	next.Backends[0].Name = "next"
	next.Routes[0] = route.RouteSpec{Host: "a.test", Path: "/x", PathType: route.Exact, Backend: "next"}
	p.Publish(next)
	if a := p.Dial().Do("GET", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Body != "next" {
		t.Errorf("a request after the publish got %+v", a)
	}
	p.Record(1) // an answer may be there before its record
	close(o.let)
	if a, _ := c.Final("GET"); a.Body != "served " {
		t.Errorf("the request before the publish got %+v", a)
	}
	if r := p.Record(2); r.Plan.Route != table.Match("a.test", "/x") || r.Plan.Backend.Name != "origin" {
		t.Errorf("it is booked on %v", r.Plan.Route)
	}
	if n := table.Match("a.test", "/x").Counters.Total(); n.Requests != 1 {
		t.Errorf("its route has %d requests", n.Requests)
	}
	if n := p.Live.Table().Match("a.test", "/x").Counters.Total(); n.Requests != 1 {
		t.Errorf("the new route has %d requests", n.Requests)
	}
}

// retriesAgainstTable: the endpoint that is tried when the first is silent is
// one of the old table, although a new one is published by then.
func retriesAgainstTable(t *T) {
	o := NewOrigin(t, Text("old"))
	p := t.Start(Setup{
		Spec:  specFor(deaf(t), o.Address),
		Pools: func(o *upstream.Options) { o.ConnectTimeout = long },
	})
	both := []*Raw{p.Dial(), p.Dial()} // one of them begins with the deaf one
	for _, c := range both {
		c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	}
	o.wait(t, "the lucky one", func() bool { return len(o.heads) == 1 })
	eventually(t, "the other one is routed", func() bool {
		for _, e := range p.Live.Table().Backends()[0].Endpoints {
			if e.Address != o.Address {
				return e.InFlight() == 1
			}
		}
		return false
	})
	p.Publish(route.Spec{})
	for _, c := range both {
		if a, _ := c.Final("GET"); a.Status != 200 || a.Body != "old" {
			t.Errorf("got %+v", a)
		}
	}
	if p.Record(1).Attempts+p.Record(2).Attempts != 3 {
		t.Error("nobody tried twice: the test shows nothing")
	}
}

// publishUnderLoad changes routes, endpoints and certificates while requests of
// all kinds go on.
func publishUnderLoad(t *T) {
	origins := []*Origin{NewOrigin(t, Text("ok")), NewOrigin(t, Text("ok"))}
	p := t.Start(Setup{Spec: origins[0].Spec(), Hosts: []string{"a.test"}})
	stop := make(chan struct{})
	var clients sync.WaitGroup
	load := func(ask func() error) {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := ask(); err != nil {
					t.Errorf("request %d: %v", n+1, err)
					return
				}
			}
		})
	}
	plain, h2 := p.Dial(), p.DialH2(0)
	fresh := p.Client(false)
	fresh.Transport.(*http.Transport).DisableKeepAlives = true
	load(func() error {
		return wanted(plain.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello").Status)
	})
	load(func() error { h2.get("a.test", "/"); return nil })
	load(func() error {
		resp, err := fresh.Get("https://a.test/")
		if err != nil {
			return err
		}
		resp.Body.Close()
		return wanted(resp.StatusCode)
	})
	for n := range 50 {
		if n%10 == 9 {
			p.Rotate("a.test")
		}
		spec := specFor(origins[n%2].Address, origins[0].Address)
		for i := range n {
			spec.Routes = append(spec.Routes, route.RouteSpec{Host: fmt.Sprintf("h%d.test", i), Path: "/", PathType: route.Prefix, Backend: "origin"})
		}
		began := len(origins[0].Heads())
		p.Publish(spec)
		origins[0].wait(t, "traffic after the publish", func() bool { return len(origins[0].heads) > began })
	}
	close(stop)
	clients.Wait()
	for class, want := range []bool{false, false, true, false, false, false} {
		if got := p.Metrics.Requests[class].Load(); (got > 0) != want {
			t.Errorf("%d answers of class %d", got, class)
		}
	}
}

func wanted(status int) error {
	if status != 200 {
		return fmt.Errorf("got %d", status)
	}
	return nil
}

func publishNothing(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	for range 3 {
		for _, try := range []struct {
			spec route.Spec
			want int
		}{{o.Spec(), 200}, {route.Spec{}, 404}} {
			p.Publish(try.spec)
			if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != try.want {
				t.Errorf("got %+v, want %d", a, try.want)
			}
		}
	}
}

func publishKeepsPools(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	began := time.Now()
	for n := range 50 {
		spec := o.Spec()
		spec.Routes = append(spec.Routes, route.RouteSpec{Host: fmt.Sprintf("h%d.test", n), Path: "/", PathType: route.Prefix, Backend: "origin"})
		p.Publish(spec)
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
	}
	if got := o.Conns(); got != 1 {
		t.Errorf("%d connections to the origin in %v, want 1", got, time.Since(began))
	}
}
