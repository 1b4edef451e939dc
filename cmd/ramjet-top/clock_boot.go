//go:build linux || darwin

package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot reads the clock that does not stop while the machine sleeps, which Go's
// own monotonic clock does.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(bootClock, &t) != nil {
		return sinceStart() // a kernel without it
	}
	return time.Duration(t.Nano())
}
