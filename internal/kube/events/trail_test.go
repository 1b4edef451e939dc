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
func take(t *trail, at time.Duration, leads bool) (text []string, wait time.Duration) {
	for {
		w, wait, ok := t.next(start.Add(at), leads)
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
	got, _ := take(tr, 0, true)
	if len(got) != 30 || got[0] != "ConfigApplied: no visible change (gen 0→1)" || got[29] != "ConfigApplied: no visible change (gen 29→30)" {
		t.Errorf("%d: %v", len(got), got)
	}
	// Beyond it one each two seconds, which says how many others there were.
	for n := uint64(31); n <= 45; n++ {
		tr.add(config(n), start)
		if got, wait := take(tr, 0, true); got != nil || wait != trailEvery {
			t.Errorf("%v, wait %v", got, wait)
		}
	}
	got, _ = take(tr, trailEvery, true)
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
	got, _ = take(tr, time.Hour, true)
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
	if got, _ := take(tr, 0, true); len(got) != 1 || !strings.HasSuffix(got[0], "; "+e.Warning+" on pod-a") {
		t.Errorf("%v", got)
	}
}

// Only who leads tells of changes; a pin is told by its holder, whoever leads.
func TestTrailLeads(t *testing.T) {
	tr := newTrail("pod-b")
	tr.add(config(1), start)
	tr.add(audit.Pin{Generation: 1, Replaced: 1}, start)
	if got, wait := take(tr, 0, false); len(got) != 1 || !strings.HasPrefix(got[0], ReasonPinned) || wait != laterEvery {
		t.Errorf("another may lead: %v, wait %v", got, wait)
	}
	if got, _ := take(tr, 0, true); len(got) != 1 || !strings.HasPrefix(got[0], ReasonApplied) {
		t.Errorf("leading: %v", got)
	}
}

// What was applied is left to another replica as far as that is known to have been there
// afterwards. What it did not live to tell is told by whoever leads next, and in a
// process that follows its own dead predecessor that is everything.
func TestTrailFollows(t *testing.T) {
	tr := newTrail("pod-b")
	for n := range uint64(4) {
		tr.add(config(n+1), start.Add(time.Duration(n)*time.Minute))
	}
	tr.add(audit.Resume{Generation: 4}, start)
	tr.leave(time.Time{}) // there is nobody
	if len(tr.waiting) != 5 {
		t.Errorf("left to nobody: %d of 5 wait", len(tr.waiting))
	}
	tr.leave(start.Add(time.Minute))
	if got, _ := take(tr, time.Hour, false); len(got) != 1 || !strings.HasPrefix(got[0], ReasonResumed) {
		t.Errorf("following: %v", got)
	}
	tr.leave(start.Add(2*time.Minute - 1))
	got, _ := take(tr, time.Hour, true)
	want := "ConfigApplied: no visible change (gen 2→3)|ConfigApplied: no visible change (gen 3→4)"
	if strings.Join(got, "|") != want {
		t.Errorf("leading: %q, want %q", got, want)
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
	w, _, _ := tr.next(start, true)
	tr.back(w)
	if again, _, ok := tr.next(start, true); !ok || again != w {
		t.Errorf("%v, want %v", again, w)
	}
}

// TestWaitsForALeader: while it is not known who leads, what was applied waits and is looked at
// again, since a Lease that is renewed late is no news.
func TestWaitsForALeader(t *testing.T) {
	tr := newTrail("pod-a")
	tr.add(config(1), start)
	if got, wait := take(tr, 0, false); got != nil || wait != laterEvery {
		t.Errorf("%v, wait %v", got, wait)
	}
	if got, wait := take(tr, laterEvery, true); len(got) != 1 || wait != 0 {
		t.Errorf("%v, wait %v", got, wait)
	}
}
