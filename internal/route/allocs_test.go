package route

import (
	"regexp"
	"testing"
	"time"
)

// TestNoAllocations runs every decision of a request in each of its ways.
func TestNoAllocations(t *testing.T) {
	spec := cluster(100, 10)
	spec.Routes = append(spec.Routes, parse(t, `
		route *.w.test /x Prefix -> fallback
		route * /v[0-9]+/.*z ImplementationSpecific regex -> fallback
		route [::1] / Prefix -> fallback`).Routes...)
	for p := range 100 {
		spec.Routes = append(spec.Routes, RouteSpec{Host: "many.test", Path: clusterPath(p), PathType: Prefix, Backend: "fallback"})
	}
	spec.Certs = append(spec.Certs, CertSpec{Host: "*.w.test", ID: 1}, CertSpec{ID: 2})
	table, diagnostics := Compile(spec)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	canary := &Canary{Backend: table.backends[0], Weight: 5, WeightTotal: 100, Header: "x-canary", Cookie: "c"}
	pattern := &Canary{WeightTotal: 100, Header: "x-canary", HeaderPattern: mustHeaderPattern(t, "^a+b")}
	mirror := &Mirror{Percent: 50}
	var fields Fields = request{"x-canary": "aaaab", "c=": "x"}
	backends := []*Backend{balanced(t, RoundRobin, 1, 2), balanced(t, LeastConn, 1, 2), balanced(t, Random, 1, 2)}
	tried := []*Endpoint{backends[0].Endpoints[0]}

	for name, decide := range map[string]func(){
		"match":          func() { table.Match("host-7.example.com", "/api/4/x") },
		"match port":     func() { table.Match("host-7.example.com:8443", "/api/4/x") },
		"match upper":    func() { table.Match("HOST-7.example.COM.:80", "/api/4/x") },
		"match wildcard": func() { table.Match("A.w.test:80", "/x/y") },
		"match regex":    func() { table.Match("elsewhere.test", "/V7/abcdefz") },
		"match literal":  func() { table.Match("[0:0::1]:80", "/") },
		"match many":     func() { table.Match("many.test", "/users/7/x") },
		"match default":  func() { table.Match("host-7.example.com.example.com", "/x") },
		"match nothing":  func() { table.Match("not a host", "/x") },
		"match star":     func() { table.Match("a.test", "*") },
		"match and count": func() {
			table.Match("host-7.example.com", "/api/4").Counters.Count(3, Sample{HasLatency: true, Latency: time.Second})
		},
		"SNI exact":      func() { table.Certificate("host-7.example.com") },
		"SNI upper":      func() { table.Certificate("HOST-7.example.com.") },
		"SNI wildcard":   func() { table.Certificate("A.W.test") },
		"SNI default":    func() { table.Certificate("x.y.test") },
		"canary":         func() { canary.Takes(fields, 7) },
		"canary pattern": func() { pattern.Takes(fields, 7) },
		"mirror":         func() { mirror.Samples(7) },
		"pick": func() {
			for _, b := range backends {
				b.Pick(nil)
				b.Pick(tried)
			}
		},
	} {
		pooled := name == "match regex" || name == "canary pattern"
		if n := testing.AllocsPerRun(100, decide); n != 0 && !(pooled && raceEnabled) {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func mustHeaderPattern(t *testing.T, text string) *regexp.Regexp {
	t.Helper()
	re, err := compileHeaderPattern(text)
	if err != nil {
		t.Fatal(err)
	}
	return re
}
