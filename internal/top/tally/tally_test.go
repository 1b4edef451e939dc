package tally_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top/tally"
)

// at is a moment some seconds after the beginning.
func at(seconds float64) tally.Moment {
	d := time.Duration(seconds * float64(time.Second))
	return tally.Moment{Clock: d, Wall: time.Date(2026, 3, 14, 9, 0, 0, 0, time.UTC).Add(d)}
}

// reading is an answer after some seconds with one route and its counters.
func reading(seconds float64, requests, errors uint64, millis float64) *adminclient.Reading {
	r := &adminclient.Reading{RoutesAt: at(seconds).Clock, SeriesAt: at(seconds).Clock, Series: adminclient.Series{
		`ramjet_requests_total{code="2xx"}`: float64(requests - errors), `ramjet_requests_total{code="5xx"}`: float64(errors),
		"ramjet_upstream_latency_seconds_count": float64(requests), "ramjet_upstream_latency_seconds_sum": millis / 1000,
	}}
	r.Routes.Routes = []admin.Route{{Host: "a.test", Path: "/", PathType: "Prefix", Numbers: admin.Numbers{
		Requests: requests, Errors5xx: errors, LatencyCount: requests, LatencyMillis: millis,
	}}}
	return r
}

// Rates divide by the measured gap, whatever happened in it; what went down reads as
// 0; what was not there before has none.
func TestRates(t *testing.T) {
	f := tally.NewFleet([]string{"a"}, time.Second)
	r := f.Replicas[0]
	for _, step := range []struct {
		intent            string
		seconds           float64
		requests, errors  uint64
		millis            float64
		fails             bool
		rps, bad, latency string // of the route, and of the daemon
	}{
		{"the first answer has no rate", 0, 1000, 10, 5000, false, "-", "-", "-"},
		{"a second later", 1, 1100, 20, 5500, false, "100", "10.0", "5.00"},
		{"the gap is what was measured", 1.25, 1150, 20, 5600, false, "200", "0.0", "2.00"},
		{"no answer: what was known stays", 2.25, 0, 0, 0, true, "200", "0.0", "2.00"},
		{"still none", 9, 0, 0, 0, true, "200", "0.0", "2.00"},
		{"the average over the gap is true", 11.25, 1650, 40, 6600, false, "50.0", "2.0", "2.00"},
		{"nothing happened", 12.25, 1650, 40, 6600, false, "0.0", "0.0", "-"},
		{"began anew: 0, also for what seems to have grown", 13.25, 60, 50, 60, false, "0.0", "0.0", "-"},
		{"and goes on", 14.25, 70, 51, 160, false, "10.0", "1.0", "10.0"},
		{"an answer out of turn gives no rate of its own", 14.25, 80, 51, 160, false, "10.0", "1.0", "10.0"},
		{"and is counted with the next", 15.25, 90, 51, 260, false, "20.0", "0.0", "5.00"},
	} {
		r.Asked(at(step.seconds))
		if step.fails {
			r.Failed("gone")
		} else {
			r.Answered(at(step.seconds), reading(step.seconds, step.requests, step.errors, step.millis))
		}
		if _, stale := r.Stale(at(step.seconds), f.Interval); stale != step.fails {
			t.Errorf("%s: stale %v", step.intent, stale)
		}
		now := at(step.seconds)
		for what, rate := range map[string]tally.Rate{"the route": f.Rows(now)[0].Rate, "the daemon": f.Numbers(now).Rate} {
			if got := []string{tally.PerSecond(rate), tally.ErrorsPerSecond(rate), tally.Latency(rate)}; !slices.Equal(got, []string{step.rps, step.bad, step.latency}) {
				t.Errorf("%s: %s has %v, want %s %s %s", step.intent, what, got, step.rps, step.bad, step.latency)
			}
		}
	}
}

// Stale is who failed, at once, and who takes longer than an interval and a second.
func TestStale(t *testing.T) {
	r := tally.NewReplica("a")
	check := func(intent string, seconds float64, interval time.Duration, want string) {
		t.Helper()
		s, stale := r.Stale(at(seconds), interval)
		got := "fresh"
		if stale {
			got = fmt.Sprintf("since %v: %s", s.Since.Clock, s.Reason)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", intent, got, want)
		}
	}
	check("before the first question", 0, time.Second, "fresh")
	r.Asked(at(1))
	check("the first answer may take a while", 1.9, time.Second, "fresh")
	check("and then it is late", 2.5, time.Second, "since 1s: no answer for 1s")
	r.Failed("refused")
	check("never heard of", 3, time.Second, "since 1s: refused")
	r.Asked(at(4))
	r.Answered(at(4.5), reading(4.5, 1, 0, 1))
	check("answered", 9, time.Second, "fresh")
	r.Asked(at(10))
	check("a short interval is no reason to be impatient", 10.9, 100*time.Millisecond, "fresh")
	check("a long one is one to wait", 14, 5*time.Second, "fresh")
	check("late", 15.5, 5*time.Second, "since 4.5s: no answer for 5s")
	r.Failed("bad \x1b[31m")
	r.Asked(at(20))
	check("asking again does not make it fresh", 20, time.Second, "since 4.5s: bad \uFFFD[31m")
}

// A daemon that is slow and answers is not called gone in between; one that was slow
// once is, before long.
func TestSlowIsNotStale(t *testing.T) {
	r := tally.NewReplica("a")
	now := 0.0
	ask := func(takes float64) (wasStale bool) {
		r.Asked(at(now))
		for end := now + takes; now < end; now += 0.1 {
			if _, stale := r.Stale(at(now), time.Second); stale {
				wasStale = true
			}
		}
		r.Answered(at(now), reading(now, 1, 0, 1))
		return wasStale
	}
	if ask(0.2) || !ask(1.3) {
		t.Error("who is quick as a rule is late after a second")
	}
	for i := range 20 {
		if ask(1.3) || i%3 == 0 && ask(0.2) {
			t.Errorf("answer %d in 1.3 s was late", i)
		}
	}
	if !ask(30) {
		t.Error("who does not answer at all is not late")
	}
	for range 20 {
		ask(0.2)
	}
	if !ask(1.3) {
		t.Error("what was usual is not forgotten")
	}
}

// Rows is routes of a replica whose numbers are known after a second.
func rows(t *testing.T, routes ...admin.Route) []*tally.Row {
	t.Helper()
	f := tally.NewFleet([]string{"a"}, time.Second)
	before, after := &adminclient.Reading{}, &adminclient.Reading{RoutesAt: time.Second}
	for _, r := range routes {
		after.Routes.Routes = append(after.Routes.Routes, r)
		r.Numbers = admin.Numbers{}
		if !strings.HasPrefix(r.Host, "new") {
			before.Routes.Routes = append(before.Routes.Routes, r)
		}
	}
	f.Replicas[0].Answered(at(0), before)
	f.Replicas[0].Answered(at(1), after)
	return f.Rows(at(1))
}

func routeOf(host, path string, requests, errors uint64, millis float64) admin.Route {
	return admin.Route{Host: host, Path: path, PathType: "Prefix", Backend: "ns/web:80", Numbers: admin.Numbers{
		Requests: requests, Errors5xx: errors, LatencyCount: min(requests, 1), LatencyMillis: millis,
	}}
}

func TestSort(t *testing.T) {
	all := rows(t,
		routeOf("b", "/2", 5, 1, 9), routeOf("a", "/", 5, 3, 2), routeOf("new", "/", 100, 100, 100),
		routeOf("c", "/", 50, 0, 4), routeOf("b", "/1", 0, 0, 0), routeOf("newer", "/", 1, 1, 1))
	for _, c := range []struct {
		order   tally.Order
		reverse bool
		want    string
	}{
		{tally.ByRequests, false, "c/ a/ b/2 b/1 new/ newer/"},
		{tally.ByRequests, true, "b/1 a/ b/2 c/ new/ newer/"},
		{tally.ByErrors, false, "a/ b/2 b/1 c/ new/ newer/"},
		{tally.ByErrors, true, "b/1 c/ b/2 a/ new/ newer/"},
		{tally.ByLatency, false, "b/2 c/ a/ b/1 new/ newer/"},
		{tally.ByLatency, true, "a/ c/ b/2 b/1 new/ newer/"},
		{tally.ByHost, false, "a/ b/1 b/2 c/ new/ newer/"},
		{tally.ByHost, true, "newer/ new/ c/ b/2 b/1 a/"},
	} {
		tally.Sort(all, c.order, c.reverse)
		var got []string
		for _, row := range all {
			got = append(got, row.Host+row.Path)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("order %d, reverse %v: %s, want %s", c.order, c.reverse, text, c.want)
		}
	}
}

func TestFilter(t *testing.T) {
	regex := routeOf("c.test", "/v[0-9]+", 0, 0, 0)
	regex.PathType, regex.Regex = "ImplementationSpecific", true
	other := routeOf("b.test", "/", 0, 0, 0)
	other.Backend = "ns/Checkout:443"
	all := rows(t, routeOf("a.test", "/api", 0, 0, 0), other, regex)
	for text, want := range map[string]int{
		"": 3, "test": 3, "A.TEST": 1, "/api": 1, "checkout": 1, "prefix": 2, "regex": 1, "implementation": 1, "[0-9]": 1, "nowhere": 0, ".*": 0,
	} {
		if got := len(tally.Filter(all, text)); got != want {
			t.Errorf("%q leaves %d routes, want %d", text, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 0.04: "0.0", 9.96: "10.0", 99.94: "99.9", 99.95: "100", 1234.5: "1234", 99999.4: "99999", 99999.5: "100k", 999499: "999k", 999500: "1.0M",
		12.3e6: "12.3M", 5e9: "5.0G", 7e14: "700T", 1e300: "huge", -1: "-", math.Inf(1): "-", math.NaN(): "-",
	} {
		if got := tally.Number(v); got != want || len(got) > 5 {
			t.Errorf("Number(%v) = %q, want %q", v, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-1: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", 3*time.Hour + 12*time.Minute: "3h12m", 51 * time.Hour: "2d03h",
	} {
		if got := tally.Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
	for r, want := range map[tally.Rate]string{
		{}: "-", {Known: true}: "-", {Known: true, Requests: 10}: "0.0%", {Known: true, Requests: 1e6, Errors: 1}: "<0.1%",
		{Known: true, Requests: 8, Errors: 1}: "12.5%", {Known: true, Requests: 1e6, Errors: 1e6 - 1}: ">99.9%", {Known: true, Requests: 3, Errors: 3}: "100.0%",
		{Known: true, Requests: 3, Errors: 4}: "100.0%", {Known: true, Requests: math.Inf(1), Errors: math.Inf(1)}: "-",
	} {
		if got := tally.ErrorShare(r); got != want {
			t.Errorf("ErrorShare(%+v) = %q, want %q", r, got, want)
		}
	}
}

// Numbers that are too large to be added up are not known.
func TestTooLarge(t *testing.T) {
	f := tally.NewFleet([]string{"a", "b"}, time.Second)
	for _, r := range f.Replicas {
		for seconds, v := range []float64{0, 1.7e308} {
			r.Answered(at(float64(seconds)), &adminclient.Reading{RoutesAt: at(float64(seconds)).Clock, SeriesAt: at(float64(seconds)).Clock, Series: adminclient.Series{
				`ramjet_requests_total{code="2xx"}`: v, `ramjet_requests_total{code="5xx"}`: v, "ramjet_active_connections": v,
				"ramjet_upstream_latency_seconds_count": v, "ramjet_upstream_latency_seconds_sum": v,
			}})
		}
	}
	n := f.Numbers(at(1))
	for what, got := range map[string]string{
		"requests": tally.PerSecond(n.Rate), "errors": tally.ErrorsPerSecond(n.Rate), "share": tally.ErrorShare(n.Rate), "latency": tally.Latency(n.Rate), "connections": tally.Whole(n.Connections),
	} {
		if got != "-" {
			t.Errorf("%s: %q, want none", what, got)
		}
	}
}

func TestSpark(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		samples []float64
		width   int
		want    string
	}{
		{nil, 5, ""},
		{[]float64{0, 0}, 5, "▁▁"},
		{[]float64{1, 2, 4, 8}, 5, "▁▂▄█"},
		{[]float64{8, nan, 0, 0.001}, 5, "█ ▁▁"},
		{[]float64{100, 1, 2}, 2, "▄█"},
		{[]float64{1}, 0, ""},
		{[]float64{1, 2}, -3, ""},
	} {
		if got := tally.Spark(c.samples, c.width); got != c.want {
			t.Errorf("Spark(%v, %d) = %q, want %q", c.samples, c.width, got, c.want)
		}
	}
}

// A fleet adds up who answers; who is gone does not count, unless all are.
func TestFleet(t *testing.T) {
	f := tally.NewFleet([]string{"a", "b"}, time.Second)
	for i, r := range f.Replicas {
		r.Answered(at(0), reading(0, 0, 0, 0))
		r.Answered(at(1), reading(1, uint64(100*(i+1)), 10, 1000))
	}
	check := func(intent, want string) {
		t.Helper()
		n, row := f.Numbers(at(1)), f.Rows(at(1))[0]
		got := fmt.Sprintf("%d fresh, %.0f rps, route %.0f rps", f.Fresh(at(1)), n.Rate.Requests, row.Rate.Requests)
		if got != want {
			t.Errorf("%s: %s, want %s", intent, got, want)
		}
	}
	check("both", "2 fresh, 300 rps, route 300 rps")
	f.Replicas[1].Failed("gone")
	check("one is gone", "1 fresh, 100 rps, route 100 rps")
	f.Replicas[0].Failed("gone")
	check("both are gone", "0 fresh, 300 rps, route 300 rps")
	if s := f.Samples(at(1)); !math.IsNaN(s[len(s)-1]) {
		t.Errorf("a gap is drawn as %v", s)
	}
}

// A pin is as old as it was seen, and said to be older where it was there before.
func TestPin(t *testing.T) {
	r := tally.NewReplica("a")
	answer := func(seconds float64, pinned *uint64) {
		reading := reading(seconds, 0, 0, 0)
		reading.Date = at(seconds).Wall
		reading.Generations = admin.Generations{Pinned: pinned, Generations: []admin.Generation{{Generation: 43}, {Generation: 42}, {Generation: 41, AppliedAt: at(-100).Wall}}}
		r.Answered(at(seconds), reading)
	}
	answer(0, new(uint64(41)))
	answer(10, new(uint64(41)))
	want := tally.Pin{Replica: "a", Generation: 41, Age: 112 * time.Second, Held: 12 * time.Second, Newer: 2}
	if p, ok := r.Pin(at(12)); !ok || p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	answer(20, nil)
	if p, ok := r.Pin(at(20)); ok {
		t.Errorf("released, and %+v", p)
	}
	answer(30, new(uint64(42)))
	if p, ok := r.Pin(at(31)); !ok || !p.Exact || p.Held != time.Second || p.Newer != 1 {
		t.Errorf("%+v", p)
	}
}

// A daemon that says since when it is pinned is believed, unless it is about another
// pin than the one that is held.
func TestPinnedSince(t *testing.T) {
	r := tally.NewReplica("a")
	since := at(-50).Wall
	answer := func(seconds float64, pinned *uint64) {
		reading := reading(seconds, 0, 0, 0)
		reading.Date = at(seconds).Wall
		reading.Generations = admin.Generations{Pinned: pinned, PinnedAt: &since}
		r.Answered(at(seconds), reading)
	}
	answer(0, new(uint64(41)))
	if p, ok := r.Pin(at(10)); !ok || !p.Since.Equal(since) || p.Held != time.Minute || !p.Exact {
		t.Errorf("%+v", p)
	}
	answer(20, nil)
	if p, ok := r.Pin(at(20)); ok {
		t.Errorf("no pin, but a time of one: %+v", p)
	}
}
