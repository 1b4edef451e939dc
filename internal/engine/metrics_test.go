package engine

import (
	"math"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/route"
)

// TestBuckets: a duration lies in the first bucket whose bound is not below it,
// found by looking at each.
func TestBuckets(t *testing.T) {
	slow := func(d time.Duration) int {
		for i, bound := range HistogramBounds {
			if d.Seconds() <= bound {
				return i
			}
		}
		return len(HistogramBounds)
	}
	tries := []time.Duration{0, 1, time.Microsecond, time.Millisecond, time.Second, time.Minute, time.Hour, math.MaxInt64}
	for i := range HistogramBounds {
		bound := time.Duration(1) << (histogramShift + i)
		tries = append(tries, bound-1, bound, bound+1)
	}
	for _, d := range tries {
		if got, want := bucketOf(d), slow(d); got != want {
			t.Errorf("%v is in bucket %d, want %d", d, got, want)
		}
	}
	if len(HistogramBounds) != histogramBuckets || HistogramBounds[0] != 0.000131072 {
		t.Errorf("bounds %v", HistogramBounds)
	}
}

func TestHistogram(t *testing.T) {
	var h Histogram
	for _, d := range []time.Duration{-time.Second, 0, 100 * time.Microsecond, time.Millisecond, time.Second, time.Hour} {
		h.Observe(d)
	}
	cumulative, count, sum := h.Snapshot()
	if count != 6 {
		t.Errorf("count %d, want 6", count)
	}
	if want := (100*time.Microsecond + time.Millisecond + time.Second + time.Hour).Seconds(); math.Abs(sum-want) > 1e-9 {
		t.Errorf("sum %v, want %v", sum, want)
	}
	if cumulative[0] != 3 || cumulative[len(cumulative)-1] != 5 {
		t.Errorf("cumulative %v: want 3 in the first, 5 in the last, the hour in none", cumulative)
	}
	for i := 1; i < len(cumulative); i++ {
		if cumulative[i] < cumulative[i-1] {
			t.Errorf("bucket %d is smaller than the one before: %v", i, cumulative)
		}
	}
}

func TestCountersTogether(t *testing.T) {
	var m Metrics
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				m.RouteMisses.Inc()
				m.ActiveConnections.Add(1)
				m.Latency.Observe(time.Millisecond)
				m.ActiveConnections.Add(-1)
			}
		})
	}
	all.Wait()
	_, count, sum := m.Latency.Snapshot()
	if m.RouteMisses.Load() != 8000 || m.ActiveConnections.Load() != 0 || count != 8000 || math.Abs(sum-8) > 1e-9 {
		t.Errorf("%d, %d, %d, %v", m.RouteMisses.Load(), m.ActiveConnections.Load(), count, sum)
	}
}

func TestCount(t *testing.T) {
	compiled := table(t, planTable)
	web := compiled.Match("a.test", "/")
	for _, c := range []struct {
		say    string
		record Record
		class  int
		misses uint64
		total  route.Numbers
		canary route.Numbers
	}{
		{"answered", Record{Status: 200, Answered: true, Latency: 5, Plan: Plan{Route: web}}, 2, 0, route.Numbers{Requests: 1, LatencyCount: 1, LatencySum: 5}, route.Numbers{}},
		{"by the canary, badly", Record{Status: 503, Answered: true, Latency: 7, Plan: Plan{Route: web, Canary: true}}, 5, 0,
			route.Numbers{Requests: 1, Errors5xx: 1, LatencyCount: 1, LatencySum: 7}, route.Numbers{Requests: 1, Errors5xx: 1, LatencyCount: 1, LatencySum: 7}},
		{"by nobody", Record{Status: 502, Plan: Plan{Route: web}}, 5, 0, route.Numbers{Requests: 1, Errors5xx: 1}, route.Numbers{}},
		{"the client left", Record{Status: StatusClientGone, Plan: Plan{Route: web}}, 4, 0, route.Numbers{Requests: 1}, route.Numbers{}},
		{"a 404 of the backend", Record{Status: 404, Plan: Plan{Route: web}}, 4, 0, route.Numbers{Requests: 1}, route.Numbers{}},
		{"no route", Record{Status: 404}, 4, 1, route.Numbers{}, route.Numbers{}},
		{"refused", Record{Status: 400}, 4, 0, route.Numbers{}, route.Numbers{}},
		{"a tunnel", Record{Status: 101, Plan: Plan{Route: web}}, 1, 0, route.Numbers{Requests: 1}, route.Numbers{}},
		{"nothing that has a class", Record{Status: 0, Plan: Plan{Route: web}}, 0, 0, route.Numbers{Requests: 1}, route.Numbers{}},
		{"nor this", Record{Status: 999, Plan: Plan{Route: web}}, 0, 0, route.Numbers{Requests: 1, Errors5xx: 1}, route.Numbers{}},
	} {
		var m Metrics
		before, canary := web.Counters.Total(), web.Counters.Canary()
		m.Count(3, &c.record)
		for class := range m.Requests {
			if got := m.Requests[class].Load(); (got == 1) != (class == c.class) {
				t.Errorf("%s: class %d counts %d", c.say, class, got)
			}
		}
		if got := m.RouteMisses.Load(); got != c.misses {
			t.Errorf("%s: %d misses", c.say, got)
		}
		if _, got, _ := m.Latency.Snapshot(); (got == 1) != c.record.Answered {
			t.Errorf("%s: %d latencies", c.say, got)
		}
		if got := minus(web.Counters.Total(), before); got != c.total {
			t.Errorf("%s: the route has %+v", c.say, got)
		}
		if got := minus(web.Counters.Canary(), canary); got != c.canary {
			t.Errorf("%s: its canary has %+v", c.say, got)
		}
	}
}

func minus(a, b route.Numbers) route.Numbers {
	return route.Numbers{Requests: a.Requests - b.Requests, Errors5xx: a.Errors5xx - b.Errors5xx,
		LatencyCount: a.LatencyCount - b.LatencyCount, LatencySum: a.LatencySum - b.LatencySum}
}

func TestCountAllocations(t *testing.T) {
	var m Metrics
	r := Record{Status: 200, Answered: true, Latency: time.Millisecond, Plan: Plan{Route: table(t, planTable).Match("a.test", "/")}}
	if n := testing.AllocsPerRun(100, func() { m.Count(1, &r) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
