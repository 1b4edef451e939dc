package decide

import "time"

// Backoff is the pause before a release that died is started again.
type Backoff struct{ First, Max time.Duration }

// Deaths is how many deaths in a row there were, the last one after a life of lived:
// whoever lived longer than the longest pause begins anew.
func (b Backoff) Deaths(before int, lived time.Duration) int {
	if lived > b.Max {
		return 1
	}
	return before + 1
}

// Pause is how long to wait after so many deaths in a row: First, doubled with each
// death after the first, at most Max, and of that between the half and the whole, as
// roll says, a random number from 0 to 1. Releases that died of the same cause so
// do not all come back at the same moment.
func (b Backoff) Pause(deaths int, roll float64) time.Duration {
	d := b.First
	for i := 1; i < deaths && d < b.Max; i++ {
		d *= 2
	}
	d = min(d, b.Max)
	return d/2 + time.Duration(roll*float64(d/2))
}
