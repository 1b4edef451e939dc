package pace

import "time"

// Holdoff keeps runs at least a gap apart, from the end of one to the begin of the
// next, so that a run that takes long does not follow on itself. The zero value has
// no gap. It belongs to one goroutine.
type Holdoff struct {
	// Gap is the least time between two runs. 0 = none.
	Gap time.Duration
	// Settle is how long a change waits for those that come with it, also after a
	// quiet period. 0 = not at all.
	Settle time.Duration

	next    time.Time // when it may run again; zero = at once
	ended   time.Time // when the last run ended
	granted bool      // there was half of a change in this burst
	spare   int       // runs that need not wait for the gap
}

const (
	// idleShare is how much of the time may be spent on runs that do not wait for the
	// gap: a tenth.
	idleShare = 10
	// halves is how many of them may follow on half of a change.
	halves = 3
)

// Wait is how long a change that is known at now has to wait for its run. 0 = it may
// run at once. One that comes when the last run ended a gap ago begins a new burst.
func (h *Holdoff) Wait(now time.Time) time.Duration {
	if now.Sub(h.ended) >= h.Gap {
		h.granted, h.spare = false, 0
	}
	// A clock that was set back must not make anybody wait for it.
	return max(min(h.next.Sub(now), h.Gap), h.Settle, 0)
}

// Ended says that a run is over, and how long it took.
func (h *Holdoff) Ended(now time.Time, took time.Duration) {
	h.ended = now
	if h.spare == 0 {
		h.next = now.Add(h.Gap)
		return
	}
	h.spare--
	h.Looked(now, took)
}

// Half says that the run that ends found half of a change: something came in without what
// it needs, which is likely to follow. The next few runs need not wait for the gap, only
// as long as after a look. In a burst that is granted once, so that a stream of halves
// runs no more often than any other.
func (h *Holdoff) Half() {
	if !h.granted {
		h.granted, h.spare = true, halves
	}
}

// Looked says that there was no need of a run, and how long it took to find that out.
// What comes next does not wait for the gap, only as long as keeps a stream of such
// changes from taking more than a tenth of a processor.
func (h *Holdoff) Looked(now time.Time, took time.Duration) {
	h.next = now.Add(min(idleShare*took, h.Gap))
}
