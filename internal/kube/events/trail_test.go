package events

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/audit"
)

var start = time.Unix(1_000_000, 0)

// config is the event of a generation.
func config(number uint64) audit.Config {
	return audit.Config{Generation: number, Previous: number - 1, Published: true}
}

// take writes all that may be written at a time, in short: generation, pin and the
// number of changes that each stands for.
func take(t *trail, at time.Duration, v verdict) (text []string, wait time.Duration) {
	for {
		w, wait, ok := t.next(start.Add(at), v)
		if !ok {
			return text, wait
		}
		text = append(text, w.reason+": "+w.text())
	}
}

func TestTrail(t *testing.T) {
	tr := newTrail("pod-a")
	// Each publish within the burst has an Event of its own.
	for n := uint64(1); n <= 30; n++ {
		tr.add(config(n), start)
	}
	got, _ := take(tr, 0, told)
	if len(got) != 30 || got[0] != "ConfigApplied: no visible change (gen 0→1)" || got[29] != "ConfigApplied: no visible change (gen 29→30)" {
		t.Errorf("%d: %v", len(got), got)
	}
	// Beyond it one each two seconds, which says how many others there were.
	for n := uint64(31); n <= 45; n++ {
		tr.add(config(n), start)
		if got, wait := take(tr, 0, told); got != nil || wait != trailEvery {
			t.Errorf("%v, wait %v", got, wait)
		}
	}
	got, _ = take(tr, trailEvery, told)
	if want := []string{"ConfigApplied: no visible change (gen 44→45); 14 changes before it have no Events of their own"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%v", got)
	}
	// A pin is not lost among them.
	tr.add(config(46), start)
	tr.add(audit.Pin{Generation: 40, Replaced: 46}, start)
	tr.add(audit.Config{Generation: 47, Previous: 46}, start) // held back: log and history only
	tr.add(audit.Resume{Generation: 47}, start)
	tr.add(config(48), start)
	tr.add(config(49), start)
	got, _ = take(tr, time.Hour, told)
	want := []string{
		"ConfigApplied: no visible change (gen 45→46)",
		"ConfigPinned: pinned to generation 40 (was serving 46) on pod-a",
		"ConfigResumed: pin released, serving generation 47 on pod-a",
		"ConfigApplied: no visible change (gen 47→48)",
		"ConfigApplied: no visible change (gen 48→49)",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// The warning about a large removal is part of the note, with the way back, and the pod on
// which that is the way: each counts its own generations.
func TestTrailWarning(t *testing.T) {
	tr := newTrail("pod-a")
	e := config(5)
	e.Warning = `7 of 9 routes removed at once; to go back: POST /admin/rollback {"generation":4}`
	tr.add(e, start)
	if got, _ := take(tr, 0, told); len(got) != 1 || !strings.HasSuffix(got[0], "; "+e.Warning+" on pod-a") {
		t.Errorf("%v", got)
	}
}

// Only who leads tells of changes; a pin is told by its holder, whoever leads. Until it
// is known who leads changes wait.
func TestTrailVerdict(t *testing.T) {
	tr := newTrail("pod-b")
	tr.add(config(1), start)
	tr.add(audit.Pin{Generation: 1, Replaced: 1}, start)
	if got, _ := take(tr, 0, later); len(got) != 1 || !strings.HasPrefix(got[0], ReasonPinned) {
		t.Errorf("undecided: %v", got)
	}
	if got, _ := take(tr, 0, told); len(got) != 1 || !strings.HasPrefix(got[0], ReasonApplied) {
		t.Errorf("leading: %v", got)
	}
	tr.add(config(2), start)
	tr.add(audit.Resume{Generation: 2}, start)
	if got, _ := take(tr, 0, withheld); len(got) != 1 || !strings.HasPrefix(got[0], ReasonResumed) {
		t.Errorf("following: %v", got)
	}
	if got, _ := take(tr, 0, told); got != nil {
		t.Errorf("what another replica told is told again: %v", got)
	}
}

// Whatever happens while nothing can be written, what waits is bounded, and nothing that
// happened is left out of the numbers.
func TestTrailBound(t *testing.T) {
	tr := newTrail("pod-a")
	for n := uint64(1); n <= 10_000; n++ {
		tr.add(config(n), start)
		if n%3 == 0 {
			tr.add(audit.Pin{Generation: n}, start)
			tr.add(audit.Resume{Generation: n}, start)
		}
		if len(tr.waiting) > trailLength {
			t.Fatalf("%d wait", len(tr.waiting))
		}
	}
	stands := 0
	for _, w := range tr.waiting {
		stands += 1 + w.held
	}
	if want := 10_000 + 2*3333; stands != want {
		t.Errorf("they stand for %d, want %d", stands, want)
	}
	if w := tr.waiting[len(tr.waiting)-1]; !strings.Contains(w.note, fmt.Sprint("→", 10_000)) {
		t.Errorf("the newest is lost: %v", w)
	}
}

// What could not be written comes first again.
func TestTrailBack(t *testing.T) {
	tr := newTrail("pod-a")
	tr.add(config(1), start)
	tr.add(config(2), start)
	w, _, _ := tr.next(start, told)
	tr.back(w)
	if again, _, ok := tr.next(start, told); !ok || again != w {
		t.Errorf("%v, want %v", again, w)
	}
}

// TestWaitsForALeader: while it is not known who leads, what was applied waits and is looked at
// again, since a Lease that is renewed late is no news.
func TestWaitsForALeader(t *testing.T) {
	tr := newTrail("pod-a")
	tr.add(config(1), start)
	if got, wait := take(tr, 0, later); got != nil || wait != laterEvery {
		t.Errorf("%v, wait %v", got, wait)
	}
	if got, wait := take(tr, laterEvery, told); len(got) != 1 || wait != 0 {
		t.Errorf("%v, wait %v", got, wait)
	}
}
