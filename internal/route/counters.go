package route

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"time"
)

// shardCount is the number of shards of every [Counters]: a power of two, enough for
// the processors there are and not so many that ten thousand idle routes cost memory
// worth mentioning (64 bytes a shard).
var shardCount = shardsFor(runtime.GOMAXPROCS(0))

const maxShards = 16

func shardsFor(processors int) uint32 {
	n := min(max(processors, 1), maxShards)
	return 1 << bits.Len(uint(n-1))
}

// Counters are the numbers of one route identity: host, path, path type and backend.
// They outlive tables: the next generation that has the route goes on counting here.
// All methods may be called from any goroutine.
type Counters struct {
	shards []shard
}

// shard is one cache line, so that two processors that count on two shards do not
// write to one line. Requests that the canary answered are kept apart and added for
// the totals when somebody reads: counting touches one side only.
type shard struct {
	main, canary side
}

type side struct {
	requests, errors5xx, latencyCount, latencyNanos atomic.Uint64
}

func newCounters() *Counters { return &Counters{shards: make([]shard, shardCount)} }

// Sample is what [Counters.Count] is told about one finished request.
type Sample struct {
	// Canary is set when the canary backend was asked.
	Canary bool
	// Error5xx is set when the client was answered with a 5xx status.
	Error5xx bool
	// HasLatency is set when an upstream answered, and Latency says after how long.
	HasLatency bool
	Latency    time.Duration
}

// Count adds one request. shard is any number that callers on different processors
// are likely to have different, such as the index of a worker or of a connection; it
// is reduced to the shards there are. It does not allocate.
func (c *Counters) Count(shard uint32, s Sample) {
	to := &c.shards[shard&(shardCount-1)].main
	if s.Canary {
		to = &c.shards[shard&(shardCount-1)].canary
	}
	to.requests.Add(1)
	if s.Error5xx {
		to.errors5xx.Add(1)
	}
	if s.HasLatency {
		to.latencyCount.Add(1)
		to.latencyNanos.Add(uint64(max(s.Latency, 0)))
	}
}

// Numbers is a reading of [Counters].
type Numbers struct {
	// Requests is the number of requests, Errors5xx of those answered with 5xx.
	Requests, Errors5xx uint64
	// LatencyCount is the number of upstream answers whose latency is in LatencySum.
	LatencyCount uint64
	LatencySum   time.Duration
}

// Total returns all the numbers of the route, including those of its canary. Counting
// goes on meanwhile, so a reading is no snapshot; who wants to subtract reads Canary
// before Total, and the difference is never negative.
func (c *Counters) Total() Numbers {
	n := c.Canary()
	for i := range c.shards {
		n.add(&c.shards[i].main)
	}
	return n
}

// Canary returns the numbers of the requests that the canary backend was asked for.
func (c *Counters) Canary() Numbers {
	var n Numbers
	for i := range c.shards {
		n.add(&c.shards[i].canary)
	}
	return n
}

func (n *Numbers) add(s *side) {
	n.Requests += s.requests.Load()
	n.Errors5xx += s.errors5xx.Load()
	n.LatencyCount += s.latencyCount.Load()
	n.LatencySum += time.Duration(s.latencyNanos.Load())
}
