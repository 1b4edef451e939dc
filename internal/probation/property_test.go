package probation

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var versions = rapid.SampledFrom([]string{"v1", "v2", "v3", "v4", ""})

// knobs are small enough to be reached, and the extremes.
var knobs = rapid.Custom(func(t *rapid.T) Policy {
	return Policy{
		SoakMS:      rapid.SampledFrom([]uint64{0, 1, 10, 100, 30_000, math.MaxUint64 - 1, math.MaxUint64}).Draw(t, "soak"),
		MaxRestarts: rapid.SampledFrom([]uint64{0, 1, 2, 3, math.MaxUint64}).Draw(t, "max"),
	}
})

// nextTS is the time of an event that comes after one at ts: mostly a little later,
// often just at the end of a window, now and then before it or at the end of time.
func nextTS(t *rapid.T, s State, ts uint64) uint64 {
	switch rapid.IntRange(0, 9).Draw(t, "time") {
	case 0:
		return s.StartMS + s.Window.SoakMS - 1
	case 1:
		return s.StartMS + s.Window.SoakMS
	case 2:
		return rapid.SampledFrom([]uint64{0, s.StartMS, s.StartMS - 1, math.MaxUint64}).Draw(t, "ts")
	}
	return ts + rapid.Uint64Range(0, 20).Draw(t, "later")
}

// TestPlansAgainstTheModel: for any plan, Step decides what the model decides.
func TestPlansAgainstTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := knobs.Draw(t, "knobs")
		s, m := New(p), newModel(p)
		var ledger []byte
		ts := uint64(0)
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			ts = nextTS(t, s, ts)
			name := rapid.SampledFrom([]string{"serving", "promoted", "promoted", "exited", "exited", "exited", "exited", "tick", "operator"}).Draw(t, "event")
			version := versions.Draw(t, "version")
			if name == "exited" && rapid.Bool().Draw(t, "of the candidate") {
				version = s.Candidate
			}
			m.feed(ts, name, version)
			var entries []Entry
			s, entries = Step(s, Event{TS: ts, Kind: PlanKind(name), Version: version})
			for _, e := range entries {
				if e.Kind.Decision() {
					ledger = append(e.AppendJSON(ledger), '\n')
				}
			}
			if s.Report() != m.report() || string(ledger) != m.ledger.String() {
				t.Fatalf("kernel\n%s%smodel\n%s%s", ledger, s.Report(), m.ledger.String(), m.report())
			}
		}
	})
}

// witness watches a run from outside: it sees the entries alone.
type witness struct {
	good   map[string]bool // was the baseline, or its window closed
	beaten map[string]bool // was rolled back, and did not become good since
	used   uint64          // restarts in this window
}

func (w *witness) see(t *rapid.T, s State, e Entry) {
	switch e.Kind {
	case EntryServing, EntryConfirmed:
		w.good[e.Version], w.beaten[e.Version] = true, false
	case EntryPromoted:
		w.used = 0
	case EntryRestarting:
		w.used++
		if e.Attempt != w.used || e.Attempt > e.Policy.MaxRestarts {
			t.Fatalf("restart %d of %d: %s", w.used, e.Policy.MaxRestarts, e)
		}
	case EntryRolledBack:
		if e.Reason == ReasonBudget && e.Exits != e.Policy.MaxRestarts+1 {
			t.Fatalf("rolled back early or late: %s", e)
		}
		if e.To != "" && (!w.good[e.To] || w.beaten[e.To]) {
			t.Fatalf("%q is no way back: %s", e.To, e)
		}
		if s.Current != e.To || s.LastGood != e.To {
			t.Fatalf("rolled back to %q: current %q, last good %q", e.To, s.Current, s.LastGood)
		}
		// A good release that broke the budget of a second window of its own is what
		// there is to go back to, for want of a better one.
		w.beaten[e.Version] = e.Version != e.To
	}
}

// check is what holds after every event.
func (w *witness) check(t *rapid.T, s State) {
	if s.LastGood != "" && (!w.good[s.LastGood] || w.beaten[s.LastGood]) {
		t.Fatalf("%q is last good", s.LastGood)
	}
	earlier := s.Earlier()
	for i, v := range earlier {
		if !w.good[v] || w.beaten[v] || v == "" || v == s.LastGood || slices.Contains(earlier[:i], v) {
			t.Fatalf("earlier %q, last good %q", earlier, s.LastGood)
		}
	}
	if s.Phase == PhaseSoaking {
		if s.Current != s.Candidate || s.Restarts != w.used || s.Restarts != s.Exits || s.Exits > s.Window.MaxRestarts {
			t.Fatalf("soaking, %d restarts seen: %+v", w.used, s)
		}
	} else if s.Current != s.LastGood {
		t.Fatalf("%s: current %q, last good %q", s.Phase, s.Current, s.LastGood)
	}
}

// TestLive: whatever supervisors and operators do, the rules hold, and the ledger alone
// leads to the same state, after every event.
func TestLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := knobs.Draw(t, "knobs")
		s := New(first)
		again := New(first)
		w := witness{good: make(map[string]bool), beaten: make(map[string]bool)}
		ts := uint64(0)
		for range rapid.IntRange(0, 60).Draw(t, "events") {
			ts = nextTS(t, s, ts)
			e := Event{
				TS:      ts,
				Kind:    rapid.SampledFrom([]EventKind{Tick, Serving, Promoted, Promoted, Exited, Exited, Exited, Deploy, ReadinessFailed, Abandoned, Operator}).Draw(t, "kind"),
				Version: versions.Draw(t, "version"),
			}
			if rapid.Bool().Draw(t, "what is at hand") {
				e.Version = rapid.SampledFrom([]string{s.Current, s.Candidate, s.LastGood, s.Starting}).Draw(t, "at hand")
			}
			if e.Kind == ReadinessFailed || e.Kind == Abandoned {
				e.Reason = rapid.SampledFrom([]Reason{ReasonDeadline, ReasonExited, ReasonSupervisor, ReasonLedger}).Draw(t, "reason")
			}
			e.Now = rapid.Bool().Draw(t, "now")
			next, entries := Step(s, e)
			seen := s
			for _, entry := range entries {
				read, err := ParseEntry(entry.AppendJSON(nil))
				if err != nil || read != entry {
					t.Fatalf("%s was read as %s, %v", entry, read, err)
				}
				if again, err = Apply(again, read); err != nil {
					t.Fatalf("%v, in %+v", err, seen)
				}
				w.see(t, again, entry)
			}
			s = next
			if again.Under(s.Policy) != s {
				t.Fatalf("replayed %+v\nstepped  %+v", again, s)
			}
			w.check(t, s)
			if rapid.IntRange(0, 9).Draw(t, "other knobs") == 0 {
				s = s.Under(knobs.Draw(t, "knobs"))
			}
		}
	})
}

// TestLeftMS: a window closes when LeftMS says so, to the millisecond.
func TestLeftMS(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := Step(New(knobs.Draw(t, "knobs")), Event{TS: rapid.Uint64().Draw(t, "start"), Kind: Promoted, Version: "v2"})
		now := rapid.OneOf(rapid.Uint64(), rapid.Just(s.StartMS), rapid.Just(s.StartMS+s.Window.SoakMS-1)).Draw(t, "now")
		left := s.LeftMS(now)
		closes := func(ts uint64) bool {
			after, _ := Step(s, Event{TS: ts})
			return after.Phase == PhaseConfirmed
		}
		if closes(now) != (left == 0) {
			t.Fatalf("%d ms left, closed %v", left, closes(now))
		}
		if left > 0 && left < math.MaxUint64 && left <= math.MaxUint64-now && (!closes(now+left) || closes(now+left-1)) {
			t.Fatalf("at %d: %d ms left, closed then %v, before %v", now, left, closes(now+left), closes(now+left-1))
		}
	})
	if left := New(DefaultPolicy).LeftMS(5); left != 0 {
		t.Errorf("no window is open, %d ms left", left)
	}
}
