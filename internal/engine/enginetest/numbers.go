package enginetest

import (
	"fmt"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
)

// numbers are the counters and the records: what each kind of end moves, and
// that nothing else does.
var numbers = features{
	"by route":                   numbersByRoute,
	"of a canary":                numbersOfCanary,
	"survive a publish":          numbersSurvive,
	"by class of status":         numbersByClass,
	"requests that never became": numbersOfRefusals,
	"connections":                numbersOfConnections,
	"of what went wrong":         numbersOfFailures,
	"grpc for the wrong backend": numbersOfGRPC,
	"the record of an exchange":  recordOfExchange,
}

// answers is an origin that answers with the status that the path ends in.
func answers(e *Exchange) error {
	if _, err := e.Body(); err != nil {
		return err
	}
	path, _, _ := strings.Cut(e.Target(), "?")
	return e.Reply(path[strings.LastIndexByte(path, '/')+1:]+" Status", "body")
}

func (p *Proxy) ask(host, target string, fields ...string) Answer {
	p.T.Helper()
	c := p.Dial()
	defer c.Close()
	return c.Do("GET", "GET "+target+" HTTP/1.1\r\nHost: "+host+"\r\n"+strings.Join(append(fields, "", ""), "\r\n"))
}

// settled waits until n exchanges are booked.
func (p *Proxy) settled(n int) {
	p.T.Helper()
	p.Record(n)
}

func numbersByRoute(t *T) {
	spec := NewOrigin(t, answers).Spec()
	spec.Routes = []route.RouteSpec{
		{Host: "a.test", Path: "/a", PathType: route.Prefix, Backend: "origin"},
		{Host: "a.test", Path: "/b", PathType: route.Prefix, Backend: "origin"},
		{Host: "a.test", Path: "/empty", PathType: route.Prefix, Backend: "empty"},
	}
	spec.Backends = append(spec.Backends, route.BackendSpec{Name: "empty"})
	spec.DefaultBackend = "origin"
	p := t.Start(Setup{Spec: spec})
	for _, target := range []string{"/a/200", "/a/404", "/a/500", "/b/503", "/empty/200", "/other/200"} {
		p.ask("a.test", target)
	}
	p.settled(6)
	for path, want := range map[string]route.Numbers{
		"/a/200":     {Requests: 3, Errors5xx: 1, LatencyCount: 3},
		"/b/503":     {Requests: 1, Errors5xx: 1, LatencyCount: 1},
		"/empty/200": {Requests: 1, Errors5xx: 1}, // nobody answered, so there is no latency
		"/other/200": {Requests: 1, LatencyCount: 1},
	} {
		wantNumbers(t, path, p.Live.Table().Match("a.test", path).Counters.Total(), want)
	}
	if got := p.Metrics.RouteMisses.Load(); got != 0 {
		t.Errorf("%d misses counted although there is a default backend", got)
	}
}

func wantNumbers(t *T, say string, got, want route.Numbers) {
	t.Helper()
	if (got.LatencySum > 0) != (want.LatencyCount > 0) {
		t.Errorf("%s: the sum of %d latencies is %v", say, got.LatencyCount, got.LatencySum)
	}
	got.LatencySum = 0
	if got != want {
		t.Errorf("%s: %+v, want %+v", say, got, want)
	}
}

func numbersOfCanary(t *T) {
	main, next := NewOrigin(t, answers), NewOrigin(t, answers)
	spec := main.Spec()
	spec.Backends = append(spec.Backends,
		route.BackendSpec{Name: "next", Endpoints: []route.EndpointSpec{{Address: next.Address, Weight: 1}}},
		route.BackendSpec{Name: "dead", Endpoints: []route.EndpointSpec{{Address: refusing(t), Weight: 1}}})
	spec.Routes[0].Canary = &route.CanarySpec{Backend: "next", Header: "X-Canary"}
	spec.Routes = append(spec.Routes, route.RouteSpec{Host: "dead.test", Path: "/", PathType: route.Prefix, Backend: "origin",
		Canary: &route.CanarySpec{Backend: "dead", Cookie: "canary"}})
	p := t.Start(Setup{Spec: spec})
	p.ask("a.test", "/200")
	p.ask("a.test", "/500")
	p.ask("a.test", "/200", "X-Canary: always")
	p.ask("a.test", "/500", "x-canary: always")
	p.ask("a.test", "/500", "X-Canary: never")
	p.ask("a.test", "/200", "X-Canary: Always")
	p.ask("dead.test", "/200", "Cookie: other=1; canary=always")
	p.ask("dead.test", "/200", "Cookie: canary=never")
	p.settled(8)
	if got := len(next.Heads()); got != 2 {
		t.Errorf("the canary was asked %d times, want 2", got)
	}
	counters := p.Live.Table().Match("a.test", "/").Counters
	wantNumbers(t, "canary", counters.Canary(), route.Numbers{Requests: 2, Errors5xx: 1, LatencyCount: 2})
	wantNumbers(t, "total", counters.Total(), route.Numbers{Requests: 6, Errors5xx: 3, LatencyCount: 6})
	// A canary that cannot be reached is as bad as one that answers 500.
	counters = p.Live.Table().Match("dead.test", "/").Counters
	wantNumbers(t, "dead canary", counters.Canary(), route.Numbers{Requests: 1, Errors5xx: 1})
	wantNumbers(t, "with a dead canary", counters.Total(), route.Numbers{Requests: 2, Errors5xx: 1, LatencyCount: 1})
}

func numbersSurvive(t *T) {
	o := NewOrigin(t, answers)
	p := t.Start(Setup{Spec: o.Spec()})
	for n := range 5 {
		p.ask("a.test", "/200")
		p.settled(n + 1)
		p.Publish(o.Spec())
	}
	wantNumbers(t, "after five publishes", p.Live.Table().Match("a.test", "/").Counters.Total(), route.Numbers{Requests: 5, LatencyCount: 5})
}

func numbersByClass(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, answers).Spec()})
	for _, status := range []int{200, 204, 299, 301, 304, 400, 404, 499, 500, 599} {
		p.ask("a.test", fmt.Sprint("/", status))
	}
	if a := p.ask("a.test", "/999"); a.Status != 999 {
		t.Errorf("got %+v", a)
	}
	p.settled(11)
	for class, want := range []uint64{1, 0, 3, 2, 3, 2} {
		if got := p.Metrics.Requests[class].Load(); got != want {
			t.Errorf("%d requests of class %d, want %d", got, class, want)
		}
	}
	if got := p.Metrics.RouteMisses.Load(); got != 0 {
		t.Errorf("%d misses counted: a 404 of the origin is none", got)
	}
}

func numbersOfRefusals(t *T) {
	p := t.Start(Setup{Spec: route.Spec{}})
	p.ask("a.test", "/")                            // 404
	p.ask("a.test", "/..")                          // 400, and nothing is missed
	p.ask("a.test", "/", "Content-Length: x")       // 400 before it became a request
	p.ask("a.test", "/", "Expect: the unexpected")  // 417
	p.ask("a.test", "/"+strings.Repeat("x", 65536)) // 414
	p.settled(5)
	if got := p.Metrics.Requests[4].Load(); got != 5 {
		t.Errorf("%d requests of class 4, want 5", got)
	}
	if got := p.Metrics.RouteMisses.Load(); got != 1 {
		t.Errorf("%d misses counted, want 1", got)
	}
}

func numbersOfConnections(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoTunnel).Spec(), Hosts: []string{"a.test"}})
	active := func(want int64) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d active connections", want), func() bool { return p.Metrics.ActiveConnections.Load() == want })
	}
	active(0)
	plain, secure, h2 := p.Dial(), p.DialTLS("a.test"), p.DialH2TLS("a.test")
	active(3)
	plain.tunnel(t, "")
	active(3) // a tunnel is one, too
	plain.closeWrite()
	active(2)
	secure.Close()
	active(1)
	h2.Close()
	active(0)
}

// numbersOfLatency: what is measured begins when the request has been sent and
// ends with the first byte of the answer.
func numbersOfLatency(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, func(e *Exchange) error {
		if _, err := e.Body(); err != nil {
			return err
		}
		silent(e.Out, e.In, 2*short)
		e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
		silent(e.Out, e.In, long) // a slow body is not the latency
		return e.Raw("ok")
	}).Spec()})
	c := p.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\n")
	silent(c, c.In, long) // nor is a slow upload
	c.Send("xy")
	c.Final("POST")
	r := p.Record(1)
	if r.Latency < short/2 || r.Latency >= long {
		t.Errorf("latency %v, want about %v", r.Latency, 2*short)
	}
	_, count, sum := p.Metrics.Latency.Snapshot()
	if count != 1 || time.Duration(sum*float64(time.Second)).Round(time.Microsecond) != r.Latency.Round(time.Microsecond) {
		t.Errorf("the histogram has %d observations, sum %v; the record says %v", count, sum, r.Latency)
	}
	if n := r.Plan.Route.Counters.Total(); n.LatencyCount != 1 || n.LatencySum != r.Latency {
		t.Errorf("the route has %+v; the record says %v", n, r.Latency)
	}
}

func numbersOfFailures(t *T) {
	spec := specFor(refusing(t))
	spec.Backends[0].Name = "dead"
	spec.Routes[0] = route.RouteSpec{Host: "dead.test", Path: "/", PathType: route.Prefix, Backend: "dead"}
	slow := NewOrigin(t, func(e *Exchange) error { return e.Gone() }).Spec()
	slow.Backends[0].Name = "slow"
	spec.Backends = append(spec.Backends, slow.Backends[0])
	spec.Routes = append(spec.Routes, route.RouteSpec{Host: "slow.test", Path: "/", PathType: route.Prefix, Backend: "slow"})
	p := t.Start(Setup{Spec: spec, Change: func(o *engine.Options) { o.ResponseTimeout = moment }})
	p.ask("dead.test", "/")
	p.ask("slow.test", "/")
	p.settled(2)
	got := []uint64{p.Metrics.ConnectFailures.Load(), p.Metrics.UpstreamTimeouts.Load(), p.Metrics.UpstreamRetries.Load(),
		p.Metrics.UpstreamTruncated.Load(), p.Metrics.Requests[5].Load()}
	if want := "[1 1 0 0 2]"; fmt.Sprint(got) != want {
		t.Errorf("connect failures, timeouts, retries, truncated, 5xx = %v, want %s", got, want)
	}
	if _, count, _ := p.Metrics.Latency.Snapshot(); count != 0 {
		t.Errorf("%d latencies observed although nobody answered", count)
	}
}

func numbersOfGRPC(t *T) {
	o := NewOrigin(t, answers)
	p := t.Start(Setup{Spec: o.Spec()})
	for _, kind := range []string{"application/grpc", "application/grpc+proto", "Application/gRPC-Web"} {
		a := p.ask("a.test", "/200", "Content-Type: "+kind)
		if a.Status != 502 || a.Header.Get("X-Ramjet-Unsupported") != "grpc-needs-backend-protocol" || !strings.Contains(a.Body, "backend-protocol") {
			t.Errorf("%s: got %+v", kind, a)
		}
	}
	if a := p.ask("a.test", "/200", "Content-Type: application/json"); a.Status != 200 || a.Header.Get("X-Ramjet-Unsupported") != "" {
		t.Errorf("got %+v", a)
	}
	p.settled(4)
	if got := p.Metrics.UnsupportedGRPC.Load(); got != 3 {
		t.Errorf("%d counted, want 3", got)
	}
	wantNumbers(t, "the route", p.Live.Table().Match("a.test", "/").Counters.Total(), route.Numbers{Requests: 4, Errors5xx: 3, LatencyCount: 1})
}

func recordOfExchange(t *T) {
	o := NewOrigin(t, answers)
	p := t.Start(Setup{Spec: o.Spec()})
	before := time.Now()
	p.ask("A.Test:80", "/x/../201?q=1", "X-Request-Id: mine")
	r := p.Record(1)
	if r.Start.Before(before) || time.Since(r.Start) > patience {
		t.Errorf("start %v", r.Start)
	}
	if r.Status != 201 || r.RequestID != "mine" || r.Attempts != 1 || !r.Answered || r.Truncated || r.Plan.Canary {
		t.Errorf("record %+v", r)
	}
	if r.Plan.Target != "/201?q=1" || r.Plan.Authority != "A.Test:80" || r.Plan.Backend.Name != "origin" {
		t.Errorf("plan %+v", r.Plan)
	}
	if r.Endpoint == nil || r.Endpoint.Address != o.Address || r.Endpoint.InFlight() != 0 {
		t.Errorf("endpoint %+v", r.Endpoint)
	}
	p.ask("a.test", "http://B.test:81/200") // H04: whose authority counts is whose name is written down
	if r := p.Record(2); r.Host != "B.test:81" || r.Plan.Authority != "B.test:81" || r.Plan.Target != "/200" {
		t.Errorf("of a target in absolute form: %+v", r)
	}
}
