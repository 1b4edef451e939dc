package tally

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// unknown is written where there is no number.
const unknown = "-"

// Number writes a number in at most five columns: with a digit after the point where
// it is small, with k, M or G where it is large.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return unknown
	}
	if v < 99.95 {
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	unit := 0
	for limit := 99999.5; v >= limit && unit < len(units)-1; limit = 999.5 {
		v /= 1000
		unit++
	}
	digits := 0
	if unit > 0 && v < 99.95 {
		digits = 1
	}
	if v >= 99999.5 {
		return "huge"
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + units[unit]
}

var units = []string{"", "k", "M", "G", "T"}

// Whole writes a number of things.
func Whole(v float64) string {
	if v < 99999.5 && v >= 0 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return Number(v)
}

// PerSecond writes the requests of a rate.
func PerSecond(r Rate) string { return orUnknown(r.Requests, r.Known) }

// ErrorsPerSecond writes the errors of a rate.
func ErrorsPerSecond(r Rate) string { return orUnknown(r.Errors, r.Known) }

func orUnknown(v float64, known bool) string {
	if !known {
		return unknown
	}
	return Number(v)
}

// ErrorShare writes the share of errors in percent.
func ErrorShare(r Rate) string {
	share, ok := r.Share()
	switch {
	case !ok:
		return unknown
	case share > 0 && share < 0.0005:
		return "<0.1%"
	case share < 1 && share >= 0.9995:
		return ">99.9%"
	}
	return strconv.FormatFloat(share*100, 'f', 1, 64) + "%"
}

// Latency writes the mean latency of a rate in milliseconds.
func Latency(r Rate) string {
	mean, ok := r.Mean()
	return millis(mean, ok)
}

func millis(v float64, known bool) string {
	switch {
	case !known:
		return unknown
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return Number(v)
}

// Span writes a duration with its two largest units.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0).Truncate(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// Age writes how long something is ago with its largest unit, for a column.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/day)
}

var bars = []rune(" ▁▂▃▄▅▆▇█")

// Spark draws the last width samples, the highest of them as a full block. One that
// is not known is a gap.
func Spark(samples []float64, width int) string {
	samples = samples[max(0, len(samples)-max(width, 0)):]
	highest := 0.0
	for _, v := range samples {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			highest = max(highest, v)
		}
	}
	var b strings.Builder
	for _, v := range samples {
		switch {
		case math.IsNaN(v):
			b.WriteRune(bars[0])
		case highest == 0:
			b.WriteRune(bars[1])
		default:
			steps := float64(len(bars) - 1)
			b.WriteRune(bars[int(min(max(math.Ceil(v/highest*steps), 1), steps))])
		}
	}
	return b.String()
}
