package pace_test

import (
	"testing"
	"time"

	"ramjet.dev/ingress/internal/kube/pace"
)

const ms = time.Millisecond

// The first change runs at once, those of a burst wait for the rest of the gap, and
// after a quiet period it is at once again.
func TestHoldoff(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		intent string
		ended  []time.Duration // of runs, from start
		now    time.Duration
		want   time.Duration
	}{
		{"nothing has run yet", nil, 0, 0},
		{"the moment a run ended", []time.Duration{0}, 0, 100 * ms},
		{"within the gap", []time.Duration{0}, 30 * ms, 70 * ms},
		{"at its end", []time.Duration{0}, 100 * ms, 0},
		{"long after", []time.Duration{0}, time.Hour, 0},
		{"only the last run counts", []time.Duration{0, 150 * ms}, 200 * ms, 50 * ms},
		{"a clock set back costs no more than the gap", []time.Duration{time.Hour}, 0, 100 * ms},
	} {
		h := pace.Holdoff{Gap: 100 * ms}
		for _, at := range c.ended {
			h.Ended(start.Add(at))
		}
		if got := h.Wait(start.Add(c.now)); got != c.want {
			t.Errorf("%s: wait %v, want %v", c.intent, got, c.want)
		}
	}
}

// A look that found nothing to do costs ten times what it took, the gap at most.
func TestHoldoffLooked(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for _, c := range []struct{ took, want time.Duration }{{0, 0}, {ms, 10 * ms}, {time.Second, 100 * ms}} {
		h := pace.Holdoff{Gap: 100 * ms}
		h.Looked(now, c.took)
		if got := h.Wait(now); got != c.want {
			t.Errorf("a look of %v: wait %v, want %v", c.took, got, c.want)
		}
	}
}

// A bucket is asked at these times; each time that it says 0 one is taken.
func TestBucket(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	b := pace.Bucket{Burst: 3, Every: 2 * time.Second}
	for i, c := range []struct{ at, want time.Duration }{
		{0, 0}, {0, 0}, {500 * ms, 0}, // the burst
		{500 * ms, 1500 * ms}, {1999 * ms, 1 * ms}, // the first comes back two seconds after it was taken
		{2000 * ms, 0}, {2000 * ms, 2000 * ms}, // and one only
		{4000 * ms, 0},
		{time.Minute, 0}, {time.Minute, 0}, {time.Minute, 0}, // full again, and not more than full
		{time.Minute, 2000 * ms},
		{0, 2000 * ms}, // a clock set back
	} {
		now := start.Add(c.at)
		got := b.Wait(now)
		if got != c.want {
			t.Errorf("step %d at %v: wait %v, want %v", i, c.at, got, c.want)
		}
		if got == 0 {
			b.Take(now)
		}
	}
	if b.Full(start.Add(5*time.Second)) || !b.Full(start.Add(6*time.Second)) {
		t.Error("three that were taken come back in six seconds")
	}
	if none := (pace.Bucket{}); none.Wait(start) >= 0 {
		t.Error("an empty bucket lets something through")
	}
}
