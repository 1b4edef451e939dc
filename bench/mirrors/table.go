package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// printTable writes a row for each mode and reports whether any request failed.
func printTable(w io.Writer, o options, rounds []map[string]*result) (failed bool) {
	fmt.Fprintf(w, "%d requests a second with bodies of %d bytes, %d rounds of %d turns of %v; ratios to both daemons without a mirror in the same round, median (quartiles)\n\n",
		o.rate, o.body, o.rounds, o.turns, o.slice)
	fmt.Fprintf(w, "| mirror | p50 | ratio | p99 | ratio | requests | failed |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, mode := range modes {
		var p50, p99 []time.Duration
		var r50, r99 []float64
		requests, bad := 0, 0
		for _, round := range rounds {
			mine, reference := round[mode], slices.Concat(round[modes[0]].took, round[modes[1]].took)
			requests, bad = requests+len(mine.took), bad+mine.failed
			if len(mine.took) == 0 || len(reference) == 0 {
				continue
			}
			a, b := quantile(mine.took, 50), quantile(reference, 50)
			p50, r50 = append(p50, a), append(r50, float64(a)/float64(b))
			a, b = quantile(mine.took, 99), quantile(reference, 99)
			p99, r99 = append(p99, a), append(r99, float64(a)/float64(b))
		}
		failed = failed || bad > 0
		fmt.Fprintf(w, "| %s | %v | %s | %v | %s | %d | %d |\n", mode, micro(p50), ratio(r50), micro(p99), ratio(r99), requests, bad)
	}
	return failed
}

// quantile sorts and returns the value that percent of all do not exceed.
func quantile(list []time.Duration, percent int) time.Duration {
	slices.Sort(list)
	return list[(len(list)-1)*percent/100]
}

// micro is the median.
func micro(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return quantile(list, 50).Round(time.Microsecond)
}

func ratio(list []float64) string {
	if len(list) == 0 {
		return "-"
	}
	slices.Sort(list)
	n := len(list)
	return fmt.Sprintf("%.3f (%.3f–%.3f)", list[n/2], list[n/4], list[n*3/4])
}
