//go:build !linux && !darwin

package main

import "time"

// sinceBoot is the time since the program began.
func sinceBoot() time.Duration { return sinceStart() }
