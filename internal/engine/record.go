package engine

import (
	"net/netip"
	"time"

	"ramjet.dev/ingress/internal/route"
)

// Record says how one exchange ended. It is filled by an engine as the
// exchange goes on and handed to Options.Done once, by the goroutine that
// served it; the receiver must not keep it.
type Record struct {
	Start time.Time
	Plan  Plan
	// Status is what the client got, or StatusClientGone.
	Status int
	// RequestID is the X-Request-Id that went upstream.
	RequestID string
	// Endpoint is the last one tried, nil when none was.
	Endpoint *route.Endpoint
	// Latency is the time from sending the request to the first byte of the
	// response head; valid when Answered.
	Latency  time.Duration
	Answered bool
	// Truncated is set when the upstream failed in the middle of its body.
	Truncated bool
	// Cut is set when the response did not come to its end for whatever reason: the
	// upstream failed, the client left, or the proxy was stopped.
	Cut bool
	// Attempts counts the endpoints that were tried.
	Attempts int

	// What follows is filled only when Options.Done is set.

	// Duration is the time from Start to the end of the exchange.
	Duration time.Duration
	// Client is the address of the client, found through trusted proxies.
	Client netip.Addr
	// Method, Target, Host and Proto are those of the request as sent; empty when
	// its head was refused.
	Method, Target, Host, Proto string
	UserAgent, Referer          string
	// BytesIn and BytesOut count the bodies, as content.
	BytesIn, BytesOut int64
}

// Sample is what the counters of the route get to know.
func (r *Record) Sample() route.Sample {
	return route.Sample{
		Canary:     r.Plan.Canary,
		Error5xx:   r.Status >= 500,
		HasLatency: r.Answered,
		Latency:    r.Latency,
	}
}

// Count books the record into the process-wide numbers and its route's.
func (m *Metrics) Count(shard uint32, r *Record) {
	class := r.Status / 100
	if class < 1 || class > 5 {
		class = 0
	}
	m.Requests[class].Inc()
	if r.Status == 404 && r.Plan.Route == nil {
		m.RouteMisses.Inc()
	}
	if r.Answered {
		m.Latency.Observe(r.Latency)
	}
	if r.Plan.Route != nil {
		r.Plan.Route.Counters.Count(shard, r.Sample())
	}
}
