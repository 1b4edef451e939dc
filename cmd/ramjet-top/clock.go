package main

import (
	"context"
	"time"

	"ramjet.dev/ingress/internal/top/tally"
)

// clock is that of the machine. It counts on while a laptop sleeps, as the daemons
// do: a gap that left the sleep out would make a burst of what happened meanwhile.
type clock struct{ start time.Duration }

func newClock() *clock { return &clock{start: sinceBoot()} }

// elapsed is the time since the clock was made.
func (c *clock) elapsed() time.Duration { return sinceBoot() - c.start }

// Now implements top.Clock.
func (c *clock) Now() tally.Moment { return tally.Moment{Clock: c.elapsed(), Wall: time.Now()} }

// Wait implements top.Clock.
func (c *clock) Wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
