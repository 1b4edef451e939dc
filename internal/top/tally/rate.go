// Package tally is what the cockpit knows, without a terminal: it turns successive
// readings of daemons into rates, keeps the last ones of a daemon that is gone, adds
// replicas up, sorts and filters, and writes numbers.
//
// Guarantees: a rate divides by the measured gap between two answers on a monotonic
// clock, however long that was; counters that began anew read as 0 and never as a
// burst; what is not known is told apart from 0; text from daemons is cleaned once,
// when it comes in. The package never asks a daemon, never draws, and has no clock:
// moments are arguments.
package tally

import (
	"math"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
)

// Moment is a reading of two clocks.
type Moment struct {
	// Clock is monotonic: differences of it are durations.
	Clock time.Duration
	// Wall is the time of day, for people only.
	Wall time.Time
}

// Rate is what happened between two readings.
type Rate struct {
	// Known is false where there was no reading before to compare with.
	Known bool
	// Requests and Errors are per second; errors are statuses from 500 up.
	Requests, Errors float64
	// Count and Millis are the upstream latencies measured and their sum in
	// milliseconds, per second too: replicas are added up whose windows are not of one
	// length, and a long one must not outweigh the others.
	Count, Millis float64
}

// Mean is the mean upstream latency of the window in milliseconds, false if none was
// measured.
func (r Rate) Mean() (millis float64, ok bool) {
	if !r.Known || r.Count <= 0 {
		return 0, false
	}
	mean := r.Millis / r.Count
	return mean, !math.IsNaN(mean) // sums may be too large to be told
}

// Share is the share of errors in the requests, from 0 to 1, false if there were no
// requests.
func (r Rate) Share() (share float64, ok bool) {
	if !r.Known || r.Requests <= 0 {
		return 0, false
	}
	share = min(r.Errors/r.Requests, 1)
	return share, !math.IsNaN(share)
}

// add is the sum of what two replicas did at the same time. What is not known of one
// of them adds nothing.
func (r Rate) add(other Rate) Rate {
	return Rate{
		Known:    r.Known || other.Known,
		Requests: r.Requests + other.Requests,
		Errors:   r.Errors + other.Errors,
		Count:    r.Count + other.Count,
		Millis:   r.Millis + other.Millis,
	}
}

// between is the rate of counters that were read twice. One counter that went down
// means that all of them began anew, so that none of their differences means
// anything: the window reads as 0.
func between(before, after adminclient.Counters, gap time.Duration) Rate {
	if gap <= 0 {
		return Rate{}
	}
	if after.Requests < before.Requests || after.Errors5xx < before.Errors5xx ||
		after.LatencyCount < before.LatencyCount || after.LatencyMillis < before.LatencyMillis {
		return anew
	}
	seconds := gap.Seconds()
	return Rate{
		Known:    true,
		Requests: (after.Requests - before.Requests) / seconds,
		Errors:   (after.Errors5xx - before.Errors5xx) / seconds,
		Count:    (after.LatencyCount - before.LatencyCount) / seconds,
		Millis:   (after.LatencyMillis - before.LatencyMillis) / seconds,
	}
}

// anew is the rate of counters that are not those of the reading before.
var anew = Rate{Known: true}

// countersOf are the numbers of a route as counters.
func countersOf(n admin.Numbers) adminclient.Counters {
	return adminclient.Counters{
		Requests:      float64(n.Requests),
		Errors5xx:     float64(n.Errors5xx),
		LatencyCount:  float64(n.LatencyCount),
		LatencyMillis: n.LatencyMillis,
	}
}
