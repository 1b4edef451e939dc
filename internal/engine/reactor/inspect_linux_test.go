package reactor

import (
	"os"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// inspect calls f for each loop, in its turn.
func inspect(p *enginetest.Proxy, f func(*loop)) {
	for _, l := range p.Engine.(*Engine).loops {
		done := make(chan struct{})
		if l.post(func() { f(l); close(done) }) {
			<-done
		}
	}
}

// settles waits until something that loops know holds.
func settles(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end := time.NewTimer(time.Minute)
	defer end.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-end.C:
			t.Fatalf("%s: did not happen in time", what)
		}
	}
}

// holdings is what the loops of an engine hold.
type holdings struct {
	buffers, exchanges, clients, idle, inflight, unfinished int
}

func held(p *enginetest.Proxy) (h holdings) {
	inspect(p, func(l *loop) {
		h.buffers += l.lent
		h.inflight += l.inflight
		h.unfinished += len(l.unfinished)
		for _, s := range l.socks {
			if s == nil {
				continue
			}
			if c, ok := s.of.(*conn); ok {
				h.clients++
				if c.x != nil {
					h.exchanges++
				}
			}
		}
		for _, e := range l.pools {
			h.idle += len(e.idle)
		}
	})
	return h
}

// descriptors counts the open files of the process.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
