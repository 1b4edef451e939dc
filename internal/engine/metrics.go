package engine

import (
	"math/bits"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Metrics are the process-wide numbers of the data plane, shared by every
// engine. All fields are safe for concurrent use, none allocates, and none has
// a dimension that grows with the number of routes, hosts or backends: numbers
// by route live in route.Counters.
type Metrics struct {
	// Requests counts answered requests by the class of their status: index 1
	// is 1xx … 5 is 5xx, 0 is everything outside (never a label of its own).
	// Status 499 (client gone) counts as 4xx.
	Requests [6]Counter
	// RouteMisses counts requests that no route and no default backend took.
	RouteMisses Counter
	// ActiveConnections is the number of client connections open now.
	ActiveConnections Gauge
	// Latency is the time from sending a request upstream to the first byte of
	// its response head.
	Latency Histogram
	// ConnectFailures counts attempts to connect to an endpoint that failed.
	ConnectFailures Counter
	// UpstreamTimeouts counts requests ended because an upstream made no progress.
	UpstreamTimeouts Counter
	// UpstreamTruncated counts responses that broke off in the middle of their body.
	UpstreamTruncated Counter
	// UpstreamRetries counts second and later attempts for a request.
	UpstreamRetries Counter
	// Handshakes and HandshakeFailures count completed and failed TLS handshakes.
	Handshakes, HandshakeFailures Counter
	// Mirrored counts copies that a mirror answered, MirrorDropped those that found
	// the queue full, MirrorSkipped those whose body was too large, MirrorFailures
	// those that were sent and not answered.
	Mirrored, MirrorDropped, MirrorSkipped, MirrorFailures Counter
	// UnsupportedH2C and UnsupportedGRPC count refusals with x-ramjet-unsupported.
	UnsupportedH2C, UnsupportedGRPC Counter
}

// counterShards spreads a hot counter over cache lines; a power of two.
const counterShards = 8

// Counter is a monotonic sharded counter. The zero value is ready.
type Counter struct {
	shards [counterShards]paddedUint64
}

type paddedUint64 struct {
	n atomic.Uint64
	_ [56]byte
}

// Inc adds one.
func (c *Counter) Inc() { c.shards[rand.Uint32()%counterShards].n.Add(1) }

// Load sums the shards. It is not a point-in-time snapshot under load.
func (c *Counter) Load() uint64 {
	var sum uint64
	for i := range c.shards {
		sum += c.shards[i].n.Load()
	}
	return sum
}

// Gauge is a number that goes both ways. The zero value is ready.
type Gauge struct {
	n atomic.Int64
	_ [56]byte
}

// Add moves the gauge by delta.
func (g *Gauge) Add(delta int64) { g.n.Add(delta) }

// Load returns the present value.
func (g *Gauge) Load() int64 { return g.n.Load() }

// HistogramBounds are the upper bounds of Histogram's buckets, in seconds.
// They are powers of two from 128 µs, so that finding a bucket is one
// instruction.
var HistogramBounds = func() []float64 {
	bounds := make([]float64, histogramBuckets)
	for i := range bounds {
		bounds[i] = (time.Duration(1<<(histogramShift+i)) * time.Nanosecond).Seconds()
	}
	return bounds
}()

const (
	histogramShift   = 17 // 2^17 ns = 131 µs
	histogramBuckets = 19 // up to 2^35 ns = 34 s
)

// Histogram counts durations in buckets that double. The zero value is ready.
type Histogram struct {
	shards [counterShards]histogramShard
}

type histogramShard struct {
	buckets [histogramBuckets + 1]atomic.Uint64 // the last is +Inf
	sum     atomic.Uint64                       // nanoseconds
	_       [24]byte
}

// Observe counts one duration; negative ones count as 0.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	s := &h.shards[rand.Uint32()%counterShards]
	s.buckets[bucketOf(d)].Add(1)
	s.sum.Add(uint64(d))
}

// bucketOf is the index of the first bucket whose bound is not below d.
func bucketOf(d time.Duration) int {
	if d <= 1<<histogramShift {
		return 0
	}
	return min(bits.Len64(uint64(d-1))-histogramShift, histogramBuckets)
}

// Snapshot returns the cumulative count per bound of HistogramBounds, the count
// of all observations and their sum in seconds.
func (h *Histogram) Snapshot() (cumulative []uint64, count uint64, sum float64) {
	cumulative = make([]uint64, histogramBuckets)
	var ns uint64
	for b := range histogramBuckets + 1 {
		for i := range h.shards {
			count += h.shards[i].buckets[b].Load()
		}
		if b < histogramBuckets {
			cumulative[b] = count
		}
	}
	for i := range h.shards {
		ns += h.shards[i].sum.Load()
	}
	return cumulative, count, time.Duration(ns).Seconds()
}
