package route

import (
	"sync"
	"testing"
	"time"
	"unsafe"
)

// TestCounters checks that the route's own numbers include those of its canary, and
// that any number is a shard.
func TestCounters(t *testing.T) {
	c := newCounters()
	c.Count(0, Sample{HasLatency: true, Latency: 3 * time.Millisecond})
	c.Count(1, Sample{Error5xx: true})
	c.Count(1<<32-1, Sample{Canary: true, Error5xx: true, HasLatency: true, Latency: 4 * time.Millisecond})
	c.Count(12345, Sample{Canary: true, HasLatency: true, Latency: -time.Second})
	canary := Numbers{Requests: 2, Errors5xx: 1, LatencyCount: 2, LatencySum: 4 * time.Millisecond}
	if got := c.Canary(); got != canary {
		t.Errorf("canary = %+v, want %+v", got, canary)
	}
	total := Numbers{Requests: 4, Errors5xx: 2, LatencyCount: 3, LatencySum: 7 * time.Millisecond}
	if got := c.Total(); got != total {
		t.Errorf("total = %+v, want %+v", got, total)
	}
}

func TestCountersLoseNothing(t *testing.T) {
	c := newCounters()
	const workers, each = 8, 1000
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range each {
				c.Count(uint32(w), Sample{Canary: w%2 == 0})
			}
		})
	}
	wg.Wait()
	if total, canary := c.Total().Requests, c.Canary().Requests; total != workers*each || canary != total/2 {
		t.Errorf("total %d, canary %d", total, canary)
	}
}

func TestShardIsACacheLine(t *testing.T) {
	if size := unsafe.Sizeof(shard{}); size != 64 {
		t.Errorf("a shard has %d bytes", size)
	}
	if at := uintptr(unsafe.Pointer(&newCounters().shards[0])); at%64 != 0 {
		t.Errorf("the first shard is at %#x", at)
	}
	for processors, want := range map[int]uint32{0: 1, 1: 1, 2: 2, 3: 4, 8: 8, 9: 16, 16: 16, 64: 16} {
		if got := shardsFor(processors); got != want {
			t.Errorf("%d processors have %d shards, want %d", processors, got, want)
		}
	}
}
