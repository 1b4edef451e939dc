package probation

import (
	"strings"
	"testing"
)

// run feeds events to a new state under the default knobs.
func run(events ...Event) (State, []Entry) {
	s := New(DefaultPolicy)
	var ledger []Entry
	for _, e := range events {
		var entries []Entry
		s, entries = Step(s, e)
		ledger = append(ledger, entries...)
	}
	return s, ledger
}

// lines is the ledger as text.
func lines(ledger []Entry) string {
	var b strings.Builder
	for _, e := range ledger {
		b.WriteString(e.String() + "\n")
	}
	return b.String()
}

func TestStorm(t *testing.T) {
	s, ledger := run(
		Event{TS: 0, Kind: Serving, Version: "v1"},
		Event{TS: 1000, Kind: Promoted, Version: "v2"},
		Event{TS: 3000, Kind: Exited, Version: "v2"},
		Event{TS: 6000, Kind: Exited, Version: "v2"},
		Event{TS: 9000, Kind: Exited, Version: "v2"},
	)
	want := `{"event":"serving","ts":0,"version":"v1"}
{"event":"promoted","max":2,"ts":1000,"version":"v2","window_ms":30000}
{"attempt":1,"event":"restarting","max":2,"ts":3000,"version":"v2"}
{"attempt":2,"event":"restarting","max":2,"ts":6000,"version":"v2"}
{"event":"rolled_back","exits_in_window":3,"from":"v2","max":2,"reason":"restart_budget_exceeded","to":"v1","ts":9000,"version":"v2","window_ms":30000}
`
	if got := lines(ledger); got != want {
		t.Errorf("ledger:\n%swant\n%s", got, want)
	}
	again, err := Replay(DefaultPolicy, ledger)
	if err != nil || again != s {
		t.Errorf("replayed: %+v, %v; want %+v", again, err, s)
	}
	entries, whole, err := ParseLedger([]byte(want + `{"attempt":1,"ev`))
	if err != nil || whole != len(want) || lines(entries) != want {
		t.Errorf("read back: %d bytes of %d, %v\n%s", whole, len(want), err, lines(entries))
	}
}

// TestStepDoesNotAllocate: entries that nobody keeps cost nothing.
func TestStepDoesNotAllocate(t *testing.T) {
	s, _ := run(Event{Kind: Promoted, Version: "v2"})
	made := 0
	n := testing.AllocsPerRun(100, func() {
		_, entries := Step(s, Event{TS: 30_000, Kind: Exited, Version: "v2"})
		made += len(entries)
	})
	if n > 0 || made != 2*101 {
		t.Errorf("%.0f allocations, %d entries", n, made)
	}
}

// TestEntriesAreTheCallers: a later step does not touch them.
func TestEntriesAreTheCallers(t *testing.T) {
	s, first := Step(New(DefaultPolicy), Event{TS: 1, Kind: Promoted, Version: "v2"})
	_, second := Step(s, Event{TS: 2, Kind: Exited, Version: "v2"})
	if first[0].Kind != EntryPromoted || second[0].Kind != EntryRestarting {
		t.Errorf("%s, %s", first[0], second[0])
	}
}
