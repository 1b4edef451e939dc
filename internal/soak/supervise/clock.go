//go:build linux

package supervise

import "time"

// clock tells the time of the ledger: milliseconds since the epoch that never go
// back. It runs on the monotonic clock from the moment at which it was set by the
// wall clock, so that a wall clock that is put right neither closes a window early nor
// holds it open.
type clock struct {
	set   time.Time // with the monotonic reading
	setMS uint64
	last  uint64 // told last, by this clock or by the ledger that was found
}

// newClock begins where the ledger ends, if that is later than the wall clock.
func newClock(lastMS uint64) *clock {
	c := &clock{last: lastMS}
	c.adjust()
	return c
}

// adjust sets the clock by the wall clock. It is for times at which nothing is
// measured.
func (c *clock) adjust() {
	c.set = time.Now()
	c.setMS = max(uint64(max(c.set.UnixMilli(), 0)), c.last)
}

// now is the time.
func (c *clock) now() uint64 {
	c.last = max(c.last, c.setMS+uint64(time.Since(c.set)/time.Millisecond))
	return c.last
}

// at is a time that is past, as long ago as the monotonic clock says.
func (c *clock) at(t time.Time) uint64 {
	since := t.Sub(c.set) / time.Millisecond
	if since < 0 {
		return c.setMS - min(uint64(-since), c.setMS)
	}
	return c.setMS + uint64(since)
}

// ahead is how far it is ahead of the wall clock, which was set back then.
func (c *clock) ahead() time.Duration {
	return ms(c.now()) - time.Duration(time.Now().UnixMilli())*time.Millisecond
}
