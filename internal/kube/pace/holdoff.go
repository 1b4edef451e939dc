package pace

import "time"

// Holdoff keeps runs at least a gap apart, from the end of one to the begin of the
// next, so that a run that takes long does not follow on itself. The zero value has
// no gap. It belongs to one goroutine.
type Holdoff struct {
	// Gap is the least time between two runs. 0 = none.
	Gap time.Duration

	next time.Time // when it may run again; zero = at once
}

// Wait is how long a change that is known at now has to wait for its run. 0 = it may
// run at once.
func (h *Holdoff) Wait(now time.Time) time.Duration {
	// A clock that was set back must not make anybody wait for it.
	return min(max(h.next.Sub(now), 0), h.Gap)
}

// Ended says that a run is over.
func (h *Holdoff) Ended(now time.Time) { h.next = now.Add(h.Gap) }

// idleShare is how much of the time may be spent on looking at changes that are none.
const idleShare = 10

// Looked says that there was no need of a run, and how long it took to find that out.
// What comes next does not wait for the gap, only as long as keeps a stream of such
// changes from taking more than a tenth of a processor.
func (h *Holdoff) Looked(now time.Time, took time.Duration) {
	h.next = now.Add(min(idleShare*took, h.Gap))
}
