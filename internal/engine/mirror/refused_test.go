package mirror

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"ramjet.dev/ingress/internal/engine"
)

// TestRefusedKnowsWhen: an endpoint rests after it let nobody connect, one copy tries
// again, and an answer ends the rest.
func TestRefusedKnowsWhen(t *testing.T) {
	var (
		dial  = &net.OpError{Op: "dial", Err: errors.New("refused")}
		begin = time.Unix(1_700_000_000, 0)
		later = func(d time.Duration) time.Time { return begin.Add(d) }
		r     refused
	)
	passes := func(address string, at time.Duration, want bool) {
		t.Helper()
		if got := r.passes(address, later(at)); got != want {
			t.Errorf("after %v a copy for %s passes: %v, want %v", at, address, got, want)
		}
	}
	passes("a", 0, true)
	r.note("a", dial, begin)
	passes("a", retryAfter-1, false)
	passes("b", 0, true)
	passes("a", retryAfter, true)
	passes("a", retryAfter, false) // one tries at a time
	r.note("a", nil, later(retryAfter))
	passes("a", retryAfter, true)
	passes("a", retryAfter, true)

	r.note("a", &net.OpError{Op: "read", Err: errors.New("reset")}, begin)
	r.note("a", context.DeadlineExceeded, begin)
	passes("a", 0, true) // it let a copy connect

	r.note("a", dial, begin)
	r.note("b", dial, later(time.Hour))
	if _, kept := r.until.Load("a"); kept {
		t.Error("an endpoint that nobody asks for is remembered for ever")
	}
}

// TestRefusingIsAskedOnceASecond: a mirror that is down costs a connection attempt a
// second, whatever the load, and every copy that is not made counts as failed.
func TestRefusingIsAskedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var metrics engine.Metrics
		q := New(&metrics)
		defer q.Close()
		attempts := 0
		q.http1.DialContext = func(context.Context, string, string) (net.Conn, error) {
			attempts++
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		}
		m := mirrorTo(t, "192.0.2.1:80")
		const copies = 100
		for range copies { // one every 50 ms: five seconds
			if q.Admit(m) != nil {
				q.offer(t, m, 1)
			}
			<-time.After(50 * time.Millisecond)
			synctest.Wait()
		}
		if attempts != 5 {
			t.Errorf("%d connection attempts in five seconds, want 5", attempts)
		}
		if n := metrics.MirrorFailures.Load(); n != copies {
			t.Errorf("%d copies failed, want %d", n, copies)
		}
	})
}
