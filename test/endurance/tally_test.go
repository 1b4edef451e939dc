//go:build endurance

package endurance

import (
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tally is what happened, by kind.
type tally struct {
	t *testing.T

	mu     sync.Mutex
	begun  time.Time
	kinds  []*count
	faults int // since the process began
}

// restart forgets all but the faults.
func (y *tally) restart() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.begun, y.kinds = time.Now(), nil
}

// since is the time since the last restart.
func (y *tally) since() time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	return time.Since(y.begun)
}

// count is what happened to one kind.
type count struct {
	name string
	// right are those that went as they have to; excused are failures that a rule of
	// the product explains (see mayFail); wrong are all others.
	right, excused, wrong atomic.Int64
	// whole and minute are how long the right ones took.
	whole, minute histogram
}

func (y *tally) kind(name string) *count {
	c := &count{name: name}
	y.mu.Lock()
	defer y.mu.Unlock()
	y.kinds = append(y.kinds, c)
	return c
}

// fault tells of something that must not happen. The test fails, and goes on.
func (y *tally) fault(kind string, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.faults++
	switch {
	case y.faults < 50:
		y.t.Errorf("%s, %s since the start: %s: %v", time.Now().Format("15:04:05.000"), time.Since(y.begun).Round(time.Millisecond), kind, err)
	case y.faults == 50:
		y.t.Error("further faults are counted only")
	}
}

// sums are the numbers of all kinds together.
func (y *tally) sums() (right, excused, wrong int64) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, c := range y.kinds {
		right += c.right.Load()
		excused += c.excused.Load()
		wrong += c.wrong.Load()
	}
	return right, excused, wrong
}

// table is the numbers of each kind.
func (y *tally) table(lasted time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %10s %8s %9s %8s %9s %9s %9s\n", "kind", "right", "each s", "excused", "wrong", "p50 ms", "p99 ms", "max ms")
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, c := range y.kinds {
		fmt.Fprintf(&b, "%-12s %10d %8.1f %9d %8d %9s %9s %9s\n", c.name, c.right.Load(), float64(c.right.Load())/lasted.Seconds(),
			c.excused.Load(), c.wrong.Load(), ms(c.whole.quantile(0.5)), ms(c.whole.quantile(0.99)), ms(c.whole.quantile(1)))
	}
	return b.String()
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }

// histogram counts durations in steps of an eighth or less.
type histogram struct{ cells [64 * 8]atomic.Int64 }

func (h *histogram) add(d time.Duration) {
	v := uint64(max(d, 8))
	shift := bits.Len64(v) - 4 // v>>shift is 8 to 15
	h.cells[shift*8+int(v>>shift)-8].Add(1)
}

// quantile is the upper end of the cell in which a share of them ends.
func (h *histogram) quantile(share float64) time.Duration {
	var total, sum int64
	for n := range h.cells {
		total += h.cells[n].Load()
	}
	for n := range h.cells {
		sum += h.cells[n].Load()
		if total > 0 && float64(sum) >= share*float64(total) {
			return time.Duration((uint64(n%8) + 9) << (n / 8))
		}
	}
	return 0
}

// clear makes it empty.
func (h *histogram) clear() {
	for n := range h.cells {
		h.cells[n].Store(0)
	}
}
