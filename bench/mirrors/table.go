package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// printTable writes a row for each mode and reports whether any request failed.
// Slices of the reference stand between all others, and at both ends.
func printTable(w io.Writer, o options, all []slice) (failed bool) {
	fmt.Fprintf(w, "%d requests a second with bodies of %d bytes, %d rounds of slices of %v; ratios to the slices without a mirror beside each, median (quartiles)\n\n",
		o.rate, o.body, o.rounds, o.slice)
	fmt.Fprintf(w, "| mirror | p50 | ratio | p99 | ratio | requests | failed |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, mode := range modes {
		var p50, p99 []time.Duration
		var r50, r99 []float64
		requests, errors := 0, 0
		for i, s := range all {
			if s.mode != mode {
				continue
			}
			p50, p99 = append(p50, s.p50), append(p99, s.p99)
			requests, errors = requests+s.requests, errors+s.errors
			if mode != modes[0] {
				before, after := all[i-1], all[i+1]
				r50 = append(r50, 2*float64(s.p50)/float64(before.p50+after.p50))
				r99 = append(r99, 2*float64(s.p99)/float64(before.p99+after.p99))
			}
		}
		failed = failed || errors > 0
		fmt.Fprintf(w, "| %s | %v | %s | %v | %s | %d | %d |\n", mode, micro(p50), ratio(r50), micro(p99), ratio(r99), requests, errors)
	}
	return failed
}

// micro is the median.
func micro(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2].Round(time.Microsecond)
}

func ratio(list []float64) string {
	if len(list) == 0 {
		return "1"
	}
	slices.Sort(list)
	n := len(list)
	return fmt.Sprintf("%.3f (%.3f–%.3f)", list[n/2], list[n/4], list[n*3/4])
}
