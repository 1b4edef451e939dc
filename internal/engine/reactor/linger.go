package reactor

import "time"

// The numbers of a lingering close are nginx's, and nethttp's.
const (
	lingerIdle  = 5 * time.Second
	lingerTotal = 30 * time.Second
)
