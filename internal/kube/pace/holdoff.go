package pace

import "time"

// Holdoff keeps runs at least a gap apart, from the end of one to the begin of the
// next, so that a run that takes long does not follow on itself. The zero value has
// no gap. It belongs to one goroutine.
type Holdoff struct {
	// Gap is the least time between two runs. 0 = none.
	Gap time.Duration

	ended time.Time // the last run; zero = there was none
}

// Wait is how long a change that is known at now has to wait for its run. 0 = it may
// run at once.
func (h *Holdoff) Wait(now time.Time) time.Duration {
	if h.ended.IsZero() {
		return 0
	}
	passed := now.Sub(h.ended)
	if passed < 0 {
		passed = 0 // a clock that was set back must not make anybody wait for it
	}
	return max(h.Gap-passed, 0)
}

// Ended says that a run is over.
func (h *Holdoff) Ended(now time.Time) { h.ended = now }
