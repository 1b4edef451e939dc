package enginetest

import (
	"fmt"
	"math"
	"strings"

	"ramjet.dev/ingress/internal/route"
)

// canary are the rules by which a canary takes its share, seen from outside; the
// kernel's own tests have every combination.
var canary = features{
	"by header, cookie and weight":   canaryRules,
	"on every kind of route":         canaryRoutes,
	"the share of a weight":          canaryShare,
	"a canary that does not serve":   canaryDead,
	"the same for HTTP/2 and gRPC":   canaryH2,
	"one decision for the whole way": canaryOnce,
}

// split is a route to main with this canary to next, and both origins, each of
// which answers with its name.
func split(t *T, c route.CanarySpec) route.Spec {
	t.Helper()
	spec := NewOrigin(t, Text("main")).Spec()
	spec.Backends = append(spec.Backends, backendAt("next", NewOrigin(t, Text("next")).Address))
	c.Backend = "next"
	spec.Routes[0].Canary = &c
	return spec
}

// backendAt is a backend of one endpoint.
func backendAt(name, address string) route.BackendSpec {
	return route.BackendSpec{Name: name, Endpoints: []route.EndpointSpec{{Address: address, Weight: 1}}}
}

// canaryRules: what decides and what falls through (C01).
func canaryRules(t *T) {
	for say, try := range map[string]struct {
		canary route.CanarySpec
		main   []string // requests, as fields, that stay
		next   []string // that go to the canary
	}{
		"header": {
			route.CanarySpec{Header: "x-canary"},
			[]string{"", "X-Canary: never", "X-Canary: maybe", "X-Canary: Always", "X-Canary: 1", "X-Canary:",
				"X-Canary: never\r\nX-Canary: always", "X-Other: always"},
			[]string{"X-Canary: always", "x-CANARY:  always "},
		},
		"header before weight": {
			route.CanarySpec{Header: "x-canary", Weight: 100},
			[]string{"X-Canary: never"},
			[]string{"", "X-Canary: always", "X-Canary: maybe", "X-Canary: Never"},
		},
		"header value": {
			route.CanarySpec{Header: "x-canary", HeaderValue: "blue"},
			[]string{"X-Canary: Blue", "X-Canary: always", "X-Canary: never", "X-Canary: blues"},
			[]string{"X-Canary: blue"},
		},
		"header value, falling through": {
			route.CanarySpec{Header: "x-canary", HeaderValue: "blue", Weight: 100},
			nil,
			[]string{"X-Canary: never", "X-Canary: blue", ""},
		},
		"header pattern": {
			route.CanarySpec{Header: "x-canary", HeaderPattern: "AAAA|B+"},
			[]string{"X-Canary: always", "X-Canary: aaaa", "X-Canary: AAA"},
			[]string{"X-Canary: xAAAAx", "X-Canary: B"},
		},
		"a value beats a pattern": {
			route.CanarySpec{Header: "x-canary", HeaderValue: "blue", HeaderPattern: "gr.*"},
			[]string{"X-Canary: green"},
			[]string{"X-Canary: blue"},
		},
		"cookie": {
			route.CanarySpec{Cookie: "beta"},
			[]string{"", "Cookie: beta=never", "Cookie: beta=1", "Cookie: Beta=always", "Cookie: abeta=always", "Cookie: a=beta; b=always"},
			[]string{"Cookie: beta=always", "Cookie: a=1; beta=always; b=2"},
		},
		"header before cookie before weight": {
			route.CanarySpec{Header: "x-canary", Cookie: "beta", Weight: 100},
			[]string{"X-Canary: never\r\nCookie: beta=always", "X-Canary: maybe\r\nCookie: beta=never"},
			[]string{"X-Canary: always\r\nCookie: beta=never", "X-Canary: maybe\r\nCookie: beta=maybe"},
		},
		"an invalid pattern makes it inert": {
			route.CanarySpec{Header: "x-canary", HeaderPattern: "(?=x)", Weight: 100},
			[]string{"", "X-Canary: always", "X-Canary: x"},
			nil,
		},
	} {
		p := t.Start(Setup{Spec: split(t, try.canary)})
		for want, list := range map[string][]string{"main": try.main, "next": try.next} {
			for _, fields := range list {
				if fields != "" {
					fields += "\r\n"
				}
				if a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n"+fields+"\r\n"); a.Body != want {
					t.Errorf("%s: %q was answered by %q, want %s", say, fields, a.Body, want)
				}
			}
		}
	}
}

func canaryRoutes(t *T) {
	spec := split(t, route.CanarySpec{Header: "x-canary"})
	with := spec.Routes[0].Canary
	spec.Routes = nil
	for _, r := range []route.RouteSpec{
		{Path: "/exact", PathType: route.Exact},
		{Path: "/prefix", PathType: route.Prefix},
		{Path: "/string", PathType: route.ImplementationSpecific},
		{Path: "/v[0-9]+/", PathType: route.ImplementationSpecific, Regex: true},
	} {
		for _, host := range []string{"a.test", "*.w.test", ""} {
			r.Host, r.Backend, r.Canary = host, "origin", with
			spec.Routes = append(spec.Routes, r)
		}
	}
	p := t.Start(Setup{Spec: spec})
	for _, target := range []string{"/exact", "/prefix/x", "/stringy", "/v12/users"} {
		for _, host := range []string{"a.test", "b.w.test", "any.test"} {
			if a := p.ask(host, target); a.Body != "main" {
				t.Errorf("%s%s without the header: got %+v", host, target, a)
			}
			if a := p.ask(host, target, "X-Canary: always"); a.Body != "next" {
				t.Errorf("%s%s with the header: got %+v", host, target, a)
			}
		}
	}
}

// canaryShare: the share of a weight, within three standard deviations. One fair
// sample in 370 is outside; two in a row are not.
func canaryShare(t *T) {
	for _, try := range []struct{ weight, total, want int }{
		{20, 100, 20}, {500, 1000, 50}, {5, 10, 5}, {0, 100, 0}, {100, 100, 100}, {150, 100, 100}, {-5, 100, 0},
	} {
		p := t.Start(Setup{Spec: split(t, route.CanarySpec{Weight: try.weight, WeightTotal: try.total})})
		var far float64
		for range 2 {
			if far = deviation(p, 5*often, try.want); far <= 3 {
				break
			}
		}
		if far > 3 {
			t.Errorf("weight %d of %d: %.1f standard deviations from %d %%", try.weight, try.total, far, try.want)
		}
	}
}

// deviation sends n requests and says how many standard deviations lie between the
// canary's share and percent.
func deviation(p *Proxy, n, percent int) float64 {
	const batch = 50
	c := p.Dial()
	defer c.Close()
	took := 0
	for range n / batch {
		c.Send(strings.Repeat("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", batch))
		for range batch {
			if a, _ := c.Final("GET"); a.Body == "next" {
				took++
			}
		}
	}
	share := float64(percent) / 100
	mean, sd := float64(n)*share, math.Sqrt(float64(n)*share*(1-share))
	if sd == 0 {
		return math.Abs(float64(took)-mean) * 1e9
	}
	return math.Abs(float64(took)-mean) / sd
}

// canaryDead: the canary's share fails as the canary does, and is booked to it; the
// main backend does not step in.
func canaryDead(t *T) {
	for say, try := range map[string]struct {
		backend route.BackendSpec
		status  int
		latency uint64
	}{
		"no endpoints":    {route.BackendSpec{Name: "next"}, 503, 0},
		"draining":        {route.BackendSpec{Name: "next", Endpoints: []route.EndpointSpec{{Address: refusing(t), Weight: 0}}}, 503, 0},
		"connect refused": {backendAt("next", refusing(t)), 502, 0},
		"hangs up":        {backendAt("next", NewOrigin(t, func(*Exchange) error { return ErrClose }).Address), 502, 0},
		"answers 500":     {backendAt("next", NewOrigin(t, answers).Address), 500, 1},
	} {
		spec := NewOrigin(t, Text("main")).Spec()
		spec.Backends = append(spec.Backends, try.backend)
		spec.Routes[0].Canary = &route.CanarySpec{Backend: "next", Header: "x-canary"}
		p := t.Start(Setup{Spec: spec})
		if a := p.ask("a.test", "/500", "X-Canary: always"); a.Status != try.status {
			t.Errorf("%s: got %+v", say, a)
		}
		if a := p.ask("a.test", "/500", "X-Canary: never"); a.Body != "main" {
			t.Errorf("%s: the main backend's share got %+v", say, a)
		}
		p.settled(2)
		counters := p.Live.Table().Match("a.test", "/").Counters
		wantNumbers(t, say+", canary", counters.Canary(), route.Numbers{Requests: 1, Errors5xx: 1, LatencyCount: try.latency})
		wantNumbers(t, say+", total", counters.Total(), route.Numbers{Requests: 2, Errors5xx: 1, LatencyCount: 1 + try.latency})
	}
}

func canaryH2(t *T) {
	main, next := newGRPC(t, &grpcService{}), NewOrigin(t, Text("next"))
	spec := grpcSpec(main.address)
	spec.Backends = append(spec.Backends, backendAt("next", next.Address))
	spec.Routes[0].Canary = &route.CanarySpec{Backend: "next", Header: "x-canary", Cookie: "beta"}
	p := t.Start(Setup{Spec: spec})
	h := p.DialH2(0)
	for _, fields := range [][]string{{"x-canary: always"}, {"cookie: a=1", "cookie: beta=always"}} {
		if a := h.get("a.test", "/", fields...); a.body != "next" {
			t.Errorf("%q: got %+v", fields, a)
		}
	}
	c := p.grpcClient(false)
	if got, err := c.unary(c.within(), "main"); err != nil || got != "main" {
		t.Errorf("without the header: got %q, %v", got, err)
	}
	// The protocol that counts is that of the side that takes the call.
	a := h.get("a.test", "/", "x-canary: always", "content-type: application/grpc")
	if a.status() != "502" || first(a.head["x-ramjet-unsupported"]) == "" {
		t.Errorf("a call for a canary that speaks HTTP/1.1: got %+v", a)
	}
}

// canaryOnce: a request is not decided about again when it is tried again.
func canaryOnce(t *T) {
	spec := split(t, route.CanarySpec{Weight: 50})
	spec.Backends[1].Endpoints = append(spec.Backends[1].Endpoints,
		route.EndpointSpec{Address: refusing(t), Weight: 5}, route.EndpointSpec{Address: refusing(t), Weight: 5})
	p := t.Start(Setup{Spec: spec})
	by := map[string]uint64{}
	for n := range often {
		by[p.ask("a.test", fmt.Sprint("/", n)).Body]++
	}
	p.settled(often)
	counters := p.Live.Table().Match("a.test", "/").Counters
	got := [2]uint64{counters.Total().Requests - counters.Canary().Requests, counters.Canary().Requests}
	if want := [2]uint64{by["main"], by["next"]}; got != want {
		t.Errorf("main and canary counted %v, and answered %v", got, want)
	}
}
