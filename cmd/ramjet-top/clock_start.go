package main

import "time"

// started is a moment to count from.
var started = time.Now()

// sinceStart reads Go's monotonic clock.
func sinceStart() time.Duration { return time.Since(started) }
