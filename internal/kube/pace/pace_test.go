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
		h, settling := pace.Holdoff{Gap: 100 * ms}, pace.Holdoff{Gap: 100 * ms, Settle: 2 * ms}
		for _, at := range c.ended {
			h.Ended(start.Add(at), ms)
			settling.Ended(start.Add(at), ms)
		}
		if got := h.Wait(start.Add(c.now)); got != c.want {
			t.Errorf("%s: wait %v, want %v", c.intent, got, c.want)
		}
		if got, want := settling.Wait(start.Add(c.now)), max(c.want, 2*ms); got != want {
			t.Errorf("%s: settle and wait %v, want %v", c.intent, got, want)
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

// After half of a change three waits are as short as after a look; then it is the gap
// again, however many halves there are, until there was a quiet moment. Changes come as
// soon as a run has ended, but for those that begin a burst.
func TestHoldoffHalf(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	h := pace.Holdoff{Gap: 100 * ms, Settle: 2 * ms}
	for i, run := range []struct {
		begins bool          // a burst
		ends   time.Duration // from start
		took   time.Duration
		half   bool
		want   time.Duration
	}{
		{true, 0, ms, false, 100 * ms},
		{true, 200 * ms, ms, true, 10 * ms},            // an Ingress
		{false, 210 * ms, 0, false, 2 * ms},            // its Service
		{false, 212 * ms, time.Second, true, 100 * ms}, // a run that takes long costs the gap all the same
		{false, 312 * ms, ms, false, 100 * ms},         // used up
		{false, 412 * ms, ms, true, 100 * ms},          // and not granted again
		{false, 2000 * ms, ms, true, 100 * ms},
		{true, 2100 * ms, ms, true, 10 * ms},   // a quiet moment before it
		{true, 2200 * ms, ms, false, 100 * ms}, // what was not used is lost
		{false, 0, ms, false, 100 * ms},        // a clock set back
	} {
		now := start.Add(run.ends)
		if run.begins {
			h.Wait(now)
		}
		if run.half {
			h.Half()
		}
		h.Ended(now, run.took)
		if got := h.Wait(now); got != run.want {
			t.Errorf("run %d at %v: wait %v, want %v", i, run.ends, got, run.want)
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
