//go:build endurance

package endurance

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sample is the size of the daemon at one moment.
type sample struct {
	at time.Duration // since the start
	// pss and rss are the memory that it has of the machine: shared pages by their
	// share, and in full. heap is what Go's heap holds, garbage included. In bytes.
	pss, rss, heap int64
	descriptors    int
	goroutines     int
}

func (s sample) String() string {
	return fmt.Sprintf("PSS %.1f MiB, RSS %.1f MiB, heap %.1f MiB, %d descriptors, %d goroutines", mib(s.pss), mib(s.rss), mib(s.heap), s.descriptors, s.goroutines)
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

// sample looks at the daemon.
func (w *world) sample() (s sample, err error) {
	s.at = w.tally.since()
	proc := fmt.Sprintf("/proc/%d/", w.proxy.PID)
	rollup, err := os.ReadFile(proc + "smaps_rollup")
	if err != nil {
		return s, err
	}
	s.pss, s.rss = field(string(rollup), "Pss:")<<10, field(string(rollup), "Rss:")<<10
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		return s, err
	}
	s.descriptors = len(fds)
	numbers, err := w.page("/metrics")
	if err != nil {
		return s, err
	}
	s.goroutines = int(field(numbers, "go_goroutines "))
	s.heap = field(numbers, "go_memstats_heap_inuse_bytes ")
	return s, nil
}

// field is the number after a name at the beginning of a line, -1 if there is none.
func field(text, name string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			first, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if n, err := strconv.ParseFloat(first, 64); err == nil {
				return int64(n)
			}
		}
	}
	return -1
}

// quarters are the medians of the first and of the last quarter of the samples.
func quarters(all []sample, of func(sample) int64) (first, last int64) {
	n := max(1, len(all)/4)
	return median(all[:n], of), median(all[len(all)-n:], of)
}

func median(all []sample, of func(sample) int64) int64 {
	var values []int64
	for _, s := range all {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}
