package generation_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

// slow is History told as it is explained: everything ever recorded, in order, and
// all answers worked out from that anew.
type slow struct {
	size    int
	records []slowRecord
	pinned  int // index in records, -1 = none
}

type slowRecord struct {
	number    uint64
	variant   int
	published bool
}

func (s *slow) newest() int { return len(s.records) - 1 }

func (s *slow) serving() int {
	if s.pinned >= 0 {
		return s.pinned
	}
	return s.newest()
}

// kept is the indexes of what can be reached, the newest first.
func (s *slow) kept() []int {
	var kept []int
	for i := s.newest(); i >= 0; i-- {
		if i > s.newest()-max(s.size, 1) || i == s.pinned {
			kept = append(kept, i)
		}
	}
	return kept
}

func (s *slow) record(number uint64, variant int) (expect string) {
	previous := uint64(0)
	if s.newest() >= 0 {
		if s.records[s.newest()].variant == variant {
			return ""
		}
		previous = s.records[s.newest()].number
	}
	s.records = append(s.records, slowRecord{number, variant, s.pinned < 0})
	if s.pinned >= 0 {
		return fmt.Sprintf("config %d after %d held;", number, previous)
	}
	return fmt.Sprintf("publish %d;config %d after %d;", number, number, previous)
}

func (s *slow) pin(number uint64) (expect string) {
	for _, i := range s.kept() {
		switch {
		case s.records[i].number != number:
		case s.pinned >= 0:
			return fmt.Sprintf("already %d", s.records[s.pinned].number)
		default:
			replaced := s.records[s.serving()].number
			s.pinned = i
			s.records[i].published = true
			return fmt.Sprintf("publish %d;pin %d for %d;", number, number, replaced)
		}
	}
	return fmt.Sprintf("not kept %d", number)
}

func (s *slow) release() (expect string) {
	if s.pinned < 0 {
		return ""
	}
	s.pinned = -1
	newest := &s.records[s.newest()]
	newest.published = true
	return fmt.Sprintf("publish %d;resume %d;", newest.number, newest.number)
}

func (s *slow) state() string {
	if len(s.records) == 0 {
		return "nothing"
	}
	out := fmt.Sprintf("serving %d pinned %v kept", s.records[s.serving()].number, s.pinned >= 0)
	for _, i := range s.kept() {
		out += fmt.Sprintf(" %d %v", s.records[i].number, s.records[i].published)
	}
	return out
}

// brief prints what History did in the words of slow.
func brief(actions []generation.Action, err error) string {
	var notKept *generation.NotKeptError
	var already *generation.AlreadyPinnedError
	switch {
	case errors.As(err, &notKept):
		return fmt.Sprintf("not kept %d", notKept.Number)
	case errors.As(err, &already):
		return fmt.Sprintf("already %d", already.Pinned)
	}
	out := ""
	for _, a := range actions {
		switch a := a.(type) {
		case generation.Publish:
			out += fmt.Sprintf("publish %d;", a.Number)
		case generation.Audit:
			switch e := a.Event.(type) {
			case audit.Config:
				held := map[bool]string{false: " held"}[e.Published]
				out += fmt.Sprintf("config %d after %d%s;", e.Generation, e.Previous, held)
			case audit.Pin:
				out += fmt.Sprintf("pin %d for %d;", e.Generation, e.Replaced)
			case audit.Resume:
				out += fmt.Sprintf("resume %d;", e.Generation)
			}
		}
	}
	return out
}

func briefState(h *generation.History) string {
	serving, ok := h.Serving()
	if !ok {
		return "nothing"
	}
	number, _, pinned := h.Pinned()
	out := fmt.Sprintf("serving %d pinned %v kept", serving.Number, pinned)
	if pinned && number != serving.Number {
		out += " (pinned is not serving)"
	}
	for _, g := range h.Kept() {
		out += fmt.Sprintf(" %d %v", g.Number, g.Published)
	}
	return out
}

// Whatever the order of commands, History does what the slow twin says.
func TestHistoryAgainstSlowTwin(t *testing.T) {
	var variants []*route.Table
	for _, hosts := range [][]string{{"a.test"}, {"b.test"}, {"a.test", "b.test"}} {
		variants = append(variants, tableOf(t, hosts))
	}
	rapid.Check(t, func(rt *rapid.T) {
		size := rapid.IntRange(-1, 4).Draw(rt, "size")
		h, twin := generation.NewHistory(size), &slow{size: size, pinned: -1}
		next := rapid.Uint64Range(0, 1).Draw(rt, "first number")
		same := func(rt *rapid.T, got, want string) {
			if got != want {
				rt.Fatalf("did %q, want %q", got, want)
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"record": func(rt *rapid.T) {
				v := rapid.IntRange(0, len(variants)-1).Draw(rt, "variant")
				c := generation.Compiled{Number: next, Table: variants[v]}
				same(rt, brief(h.Record(c, time.Time{}), nil), twin.record(next, v))
				next += rapid.Uint64Range(1, 3).Draw(rt, "step")
			},
			"pin": func(rt *rapid.T) {
				n := rapid.Uint64Range(0, next).Draw(rt, "number")
				same(rt, brief(h.Pin(n, time.Time{})), twin.pin(n))
			},
			"release": func(rt *rapid.T) { same(rt, brief(h.Release(), nil), twin.release()) },
			"":        func(rt *rapid.T) { same(rt, briefState(h), twin.state()) },
		})
	})
}

// A pin is as old as its beginning, whatever is recorded and refused meanwhile.
func TestPinnedSince(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 3, 4, 5, 6, second, 0, time.UTC) }
	h := generation.NewHistory(2)
	h.Record(generation.Compiled{Number: 1, Table: tableOf(t, []string{"a.test"})}, at(0))
	if _, since, held := h.Pinned(); held || !since.IsZero() {
		t.Errorf("no pin, since %v", since)
	}
	if _, err := h.Pin(1, at(1)); err != nil {
		t.Fatal(err)
	}
	h.Record(generation.Compiled{Number: 2, Table: tableOf(t, []string{"b.test"})}, at(2))
	if _, err := h.Pin(2, at(3)); err == nil {
		t.Error("a second pin")
	}
	if _, since, _ := h.Pinned(); !since.Equal(at(1)) {
		t.Errorf("since %v", since)
	}
	h.Release()
	if _, err := h.Pin(2, at(4)); err != nil {
		t.Fatal(err)
	}
	if _, since, _ := h.Pinned(); !since.Equal(at(4)) {
		t.Errorf("the next one since %v", since)
	}
}

// Records that were handed out do not change afterwards.
func TestKeptIsASnapshot(t *testing.T) {
	h := generation.NewHistory(2)
	for i, host := range []string{"a.test", "b.test"} {
		h.Record(generation.Compiled{Number: uint64(i), Table: tableOf(t, []string{host})}, time.Time{})
	}
	if _, err := h.Pin(0, time.Time{}); err != nil {
		t.Fatal(err)
	}
	h.Record(generation.Compiled{Number: 2, Table: tableOf(t, []string{"c.test"})}, time.Time{})
	before := h.Kept()
	copied := slices.Clone(before)
	h.Release()
	h.Record(generation.Compiled{Number: 3, Table: tableOf(t, nil)}, time.Time{})
	for i := range before {
		if before[i].Published != copied[i].Published || before[i].Number != copied[i].Number {
			t.Errorf("record %d changed: %+v", i, before[i])
		}
	}
	if before[0].Published || before[0].Number != 2 {
		t.Errorf("generation 2 was published: %+v", before[0].Number)
	}
}

// What a record says of itself.
func TestRecord(t *testing.T) {
	h := generation.NewHistory(5)
	now := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	first := tableOf(t, []string{"a.test"})
	second := tableOf(t, []string{"a.test", "b.test"}, first)
	h.Record(generation.Compiled{Number: 4, Table: first}, now)
	h.Record(generation.Compiled{Number: 7, Table: second}, now.Add(time.Second))
	g := h.Kept()[0]
	if want := "1 route added, 1 host added (gen 4→7)"; g.Summary != want || len(g.Diff.RoutesAdded) != 1 {
		t.Errorf("%q, want %q", g.Summary, want)
	}
	if !g.AppliedAt.Equal(now.Add(time.Second)) || g.Table != second || h.Kept()[1].Table != first {
		t.Errorf("%+v", g)
	}
}

// Faults of the caller fail where they are made.
func TestIllegalRecords(t *testing.T) {
	h := generation.NewHistory(2)
	h.Record(generation.Compiled{Number: 2, Table: tableOf(t, []string{"a.test"})}, time.Time{})
	for name, c := range map[string]generation.Compiled{
		"no table":        {Number: 3},
		"the same number": {Number: 2, Table: tableOf(t, nil)},
		"a lower number":  {Number: 1, Table: tableOf(t, nil)},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s was recorded", name)
				}
			}()
			h.Record(c, time.Time{})
		}()
	}
}
