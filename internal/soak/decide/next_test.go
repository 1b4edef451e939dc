package decide

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/probation"
)

var policy = probation.Policy{SoakMS: 1000, MaxRestarts: 1}

// kinds are the words of the tests for the events of the kernel.
var kinds = map[string]probation.EventKind{
	"serving": probation.Serving, "deploy": probation.Deploy, "promoted": probation.Promoted, "exited": probation.Exited,
	"tick": probation.Tick, "operator": probation.Operator, "failed": probation.ReadinessFailed, "abandoned": probation.Abandoned,
}

// bookOf is the book after events, written "serving v1 @0, deploy v2 @100", and
// after the notes "stopped v1" and "resumed v1".
func bookOf(t *testing.T, events string) Book {
	t.Helper()
	b := New(policy)
	add := func(e probation.Entry) {
		next, err := b.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		b = next
	}
	for text := range strings.SplitSeq(events, ", ") {
		var kind, version string
		var ts uint64
		if _, err := fmt.Sscanf(text, "%s %s @%d", &kind, &version, &ts); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if version == "-" {
			version = ""
		}
		if kind == "stopped" || kind == "resumed" {
			add(probation.Entry{Kind: probation.EntryKind(kind), TS: ts, Version: version})
			continue
		}
		_, entries := probation.Step(b.State, probation.Event{Kind: kinds[kind], Version: version, TS: ts, Reason: probation.ReasonOperator})
		for _, e := range entries {
			add(e)
		}
	}
	return b
}

// processesOf are written "1 v1 :1 ready, 2 v2 :2 starting@200 counted".
func processesOf(t *testing.T, list string) (all []Process) {
	t.Helper()
	if list == "" {
		return nil
	}
	for text := range strings.SplitSeq(list, ", ") {
		f := strings.Fields(text)
		p := Process{Version: f[1], Counted: len(f) > 4}
		p.Line, _ = strconv.Atoi(f[0])
		p.Port, _ = strconv.Atoi(f[2][1:])
		phase, at, _ := strings.Cut(f[3], "@")
		p.Phase = map[string]Phase{"starting": Starting, "ready": Ready, "stopping": Stopping, "gone": Gone}[phase]
		ms, _ := strconv.ParseUint(at, 10, 64)
		switch p.Phase {
		case Gone:
			p.GoneMS = ms
		case Ready:
			p.ReadyMS = ms
		default:
			p.StartedMS = ms
		}
		all = append(all, p)
	}
	return all
}

// String is a move as the tests write it.
func (m Move) String() string {
	var all []string
	if m.Event != nil {
		name := ""
		for word, kind := range kinds {
			if kind == m.Event.Kind {
				name = word
			}
		}
		text := fmt.Sprintf("event %s %s @%d", name, m.Event.Version, m.Event.TS)
		if m.Event.Reason != "" {
			text += " " + string(m.Event.Reason)
		}
		if m.Of > 0 {
			text += fmt.Sprintf(" of %d", m.Of)
		}
		all = append(all, text)
	}
	if m.Note != nil {
		all = append(all, fmt.Sprintf("note %s %s", m.Note.Kind, m.Note.Version))
	}
	for _, s := range m.Start {
		all = append(all, fmt.Sprintf("start %d %s :%d", s.Line, s.Version, s.Port))
	}
	for _, line := range m.Stop {
		all = append(all, fmt.Sprintf("stop %d", line))
	}
	if m.WakeMS > 0 {
		all = append(all, fmt.Sprintf("wake @%d", m.WakeMS))
	}
	if m.Done {
		all = append(all, "done")
	}
	return strings.Join(all, ", ")
}

func TestNext(t *testing.T) {
	const soaking = "serving v1 @0, deploy v2 @100, promoted v2 @200"
	const back = soaking + ", exited v2 @300, exited v2 @400"
	for _, c := range []struct {
		name, book, processes string
		now                   uint64
		with                  func(w *World)
		want                  string
	}{
		{name: "the baseline is started", book: "serving v1 @0", now: 10, want: "start 1 v1 :1"},
		{name: "and has until its deadline", book: "serving v1 @0", processes: "1 v1 :1 starting@10", now: 20, want: "wake @510"},
		{name: "not ready by then counts as an exit", book: "serving v1 @0", processes: "1 v1 :1 starting@10", now: 510,
			want: "event exited v1 @510 of 1"},
		{name: "it is stopped before it is started again", book: "serving v1 @0, exited v1 @510", processes: "1 v1 :1 starting@10 counted", now: 520,
			want: "stop 1"},
		{name: "and while it stops there is no second one", book: "serving v1 @0, exited v1 @510", processes: "1 v1 :1 stopping@10 counted", now: 520,
			want: ""},
		{name: "nothing to do", book: "serving v1 @0", processes: "1 v1 :1 ready", now: 20, want: ""},
		{name: "a death is told", book: "serving v1 @0", processes: "1 v1 :1 gone@15", now: 20, want: "event exited v1 @15 of 1"},
		{name: "then a pause", book: "serving v1 @0, exited v1 @15", now: 20, with: func(w *World) { w.NotBeforeMS = 40 }, want: "wake @40"},
		{name: "then the next try", book: "serving v1 @0, exited v1 @15", now: 40, with: func(w *World) { w.NotBeforeMS = 40 }, want: "start 2 v1 :1"},

		{name: "a candidate starts beside what serves", book: "serving v1 @0, deploy v2 @100", processes: "1 v1 :1 ready", now: 110,
			want: "start 2 v2 :2, wake @600"},
		{name: "also while what serves is down", book: "serving v1 @0, exited v1 @50, deploy v2 @100", now: 110, with: func(w *World) { w.NotBeforeMS = 900 },
			want: "start 3 v2 :1, wake @600"},
		{name: "it waits for a port", book: "serving v1 @0, deploy v2 @100", processes: "1 v1 :1 ready, 9 v9 :2 stopping", now: 110,
			want: "wake @600"},
		{name: "ready, it is promoted", book: "serving v1 @0, deploy v2 @100", processes: "1 v1 :1 ready, 2 v2 :2 ready", now: 150,
			want: "event promoted v2 @150"},
		{name: "one of the same release from before is not", book: back + ", deploy v2 @410", processes: "2 v2 :2 ready, 5 v1 :1 starting@405", now: 420,
			want: "wake @900"},
		{name: "it serves until it is covered", book: back + ", deploy v2 @410", processes: "2 v2 :2 ready, 5 v1 :1 ready@415", now: 420,
			want: "stop 2, wake @910"},
		{name: "and is started anew", book: back + ", deploy v2 @410", processes: "5 v1 :1 ready@415", now: 430, want: "start 6 v2 :2, wake @910"},
		{name: "its death from before is none of the start", book: back + ", deploy v2 @410", processes: "2 v2 :2 gone@415, 5 v1 :1 ready@415", now: 420,
			want: "event exited v2 @415 of 2"},
		{name: "late, it is not", book: "serving v1 @0, deploy v2 @100", processes: "1 v1 :1 ready, 2 v2 :2 starting@110", now: 600,
			want: "event failed v2 @600 deadline"},
		{name: "dead, it is not", book: "serving v1 @0, deploy v2 @100", processes: "1 v1 :1 ready, 2 v2 :2 gone@140", now: 150,
			want: "event failed v2 @140 exited of 2"},
		{name: "one that failed is stopped although nothing else is ready", book: "serving v1 @0, deploy v2 @100, failed v2 @600",
			processes: "1 v1 :1 starting@590, 2 v2 :2 starting@110", now: 610, want: "stop 2, wake @1090"},

		{name: "promoted, the old one is stopped", book: soaking, processes: "1 v1 :1 ready, 2 v2 :2 ready", now: 210, want: "stop 1, wake @1200"},
		{name: "unless they are to overlap", book: soaking, processes: "1 v1 :1 ready, 2 v2 :2 ready@200", now: 210,
			with: func(w *World) { w.OverlapMS = 50 }, want: "wake @250"},
		{name: "which ends", book: soaking, processes: "1 v1 :1 ready, 2 v2 :2 ready@200", now: 250,
			with: func(w *World) { w.OverlapMS = 50 }, want: "stop 1, wake @1200"},
		{name: "the window is waited for", book: soaking, processes: "2 v2 :2 ready", now: 1199, want: "wake @1200"},
		{name: "and closes", book: soaking, processes: "2 v2 :2 ready", now: 1200, want: "event tick  @1200"},
		{name: "however far away it is", book: soaking, processes: "2 v2 :2 ready", now: 300,
			with: func(w *World) { w.Book.State.Window.SoakMS = math.MaxUint64 }, want: "wake @18446744073709551615"},
		{name: "a death in the window counts although it is told late", book: soaking, processes: "2 v2 :2 gone@1199", now: 2000,
			want: "event exited v2 @1199 of 2"},
		{name: "a death of what was replaced is told", book: soaking, processes: "1 v1 :1 gone@250, 2 v2 :2 ready", now: 260,
			want: "event exited v1 @250 of 1"},

		{name: "rolled back, the last good one starts, the other never again", book: back, now: 410, want: "start 5 v1 :1"},
		{name: "not even while the last good one is down", book: back + ", exited v1 @420", now: 430, with: func(w *World) { w.NotBeforeMS = 900 },
			want: "wake @900"},
		{name: "an old process of it goes first", book: back, processes: "1 v1 :1 stopping", now: 410, want: ""},
		{name: "an operator's candidate serves until the other is ready", book: soaking + ", operator - @300", processes: "2 v2 :2 ready, 4 v1 :1 starting@310",
			now: 320, want: "wake @800"},
		{name: "but no longer than that may take", book: soaking + ", operator - @300", processes: "2 v2 :2 ready, 4 v1 :1 starting@310",
			now: 800, want: "stop 2, wake @810"},
		{name: "and is stopped then", book: soaking + ", operator - @300", processes: "2 v2 :2 ready, 4 v1 :1 ready", now: 320, want: "stop 2"},
		{name: "or now", book: soaking + ", operator - @300", processes: "2 v2 :2 ready, 4 v1 :1 starting@310", now: 320,
			with: func(w *World) { w.Book.EndNow = true }, want: "stop 2, wake @810"},
		{name: "rolled back to what is being started", book: "serving v1 @0, deploy v2 @100, promoted v2 @200, deploy v1 @250, exited v2 @300, exited v2 @400",
			now: 410, want: "start 6 v1 :1, wake @750"},

		{name: "closing, what is being started is given up", book: "serving v1 @0, deploy v2 @100", processes: "1 v1 :1 ready, 2 v2 :2 ready", now: 150,
			with: func(w *World) { w.Closing = true }, want: "event abandoned v2 @150 supervisor_restarted"},
		{name: "closing is noted", book: soaking, processes: "2 v2 :2 ready", now: 9000, with: func(w *World) { w.Closing = true }, want: "note stopped v2"},
		{name: "and everything stopped", book: soaking + ", stopped v2 @300", processes: "1 v1 :1 stopping, 2 v2 :2 ready", now: 310,
			with: func(w *World) { w.Closing = true }, want: "stop 2"},
		{name: "to the end", book: soaking + ", stopped v2 @300", now: 320, with: func(w *World) { w.Closing = true }, want: "done"},
		{name: "coming back is noted", book: soaking + ", stopped v2 @300", now: 400, want: "note resumed v2"},
		{name: "after a window that is over", book: soaking + ", stopped v2 @300", now: 4000, want: "event tick  @4000"},
		{name: "and what serves is started", book: soaking + ", stopped v2 @300, resumed v2 @400", now: 400, want: "start 5 v2 :1, wake @1200"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := World{Book: bookOf(t, c.book), Processes: processesOf(t, c.processes), Ports: []int{1, 2}, DeadlineMS: 500}
			if c.with != nil {
				c.with(&w)
			}
			if got := Next(w, c.now).String(); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestBookRefuses: what the kernel could have said and no supervisor ever writes was
// written by somebody else.
func TestBookRefuses(t *testing.T) {
	const begun = "serving v1 @0, deploy v2 @100"
	for _, e := range []probation.Entry{
		{Kind: probation.EntryServing, TS: 150, Version: "v9"},
		{Kind: probation.EntryPromoted, TS: 150, Version: "v9", Policy: policy},
		{Kind: probation.EntryPromoted, TS: 99, Version: "v2", Policy: policy},
		{Kind: probation.EntryStopped, TS: 99, Version: "v1"},
		{Kind: probation.EntryPromoted, TS: 1 << 53, Version: "v2", Policy: policy},
	} {
		before := bookOf(t, begun)
		if after, err := before.Add(e); err == nil || after != before {
			t.Errorf("%s is taken: %v", e, err)
		}
	}
}

// TestBookOfTheFuture: the time of an event that is unknown says nothing.
func TestBookOfTheFuture(t *testing.T) {
	b := bookOf(t, "serving v1 @1000")
	for _, e := range []probation.Entry{
		{Kind: "noted", TS: 1},
		{Kind: "noted", TS: math.MaxUint64},
		{Kind: probation.EntryExited, TS: 1000, Version: "v0"},
	} {
		var err error
		if b, err = b.Add(e); err != nil || b.LastMS != 1000 {
			t.Errorf("%s: %v, the last time is %d", e, err, b.LastMS)
		}
	}
}

// TestRecover: what a successor makes of what it finds.
func TestRecover(t *testing.T) {
	const soaking = "serving v1 @0, deploy v2 @100, promoted v2 @200"
	for _, c := range []struct {
		name, book string
		records    []Record
		want       string
	}{
		{"it runs", soaking, []Record{{Line: 2, Version: "v2", Alive: true, Ready: true}}, "2 v2 ready"},
		{"it runs, and was not ready yet", soaking, []Record{{Line: 2, Version: "v2", Alive: true}}, "2 v2 starting"},
		{"it died", soaking, []Record{{Line: 2, Version: "v2"}}, "2 v2 gone"},
		{"its death is written, its next start was not made", soaking + ", exited v2 @300", []Record{{Line: 2, Version: "v2"}}, ""},
		{"its death is written and it runs: it was late", soaking + ", exited v2 @300", []Record{{Line: 2, Version: "v2", Alive: true}}, "2 v2 starting counted"},
		{"the next one died too", soaking + ", exited v2 @300", []Record{{Line: 4, Version: "v2"}}, "4 v2 gone"},
		{"the old one still runs", soaking, []Record{{Line: 1, Version: "v1", Alive: true, Ready: true}, {Line: 2, Version: "v2", Alive: true, Ready: true}}, "1 v1 ready, 2 v2 ready"},
		{"the old one died", soaking, []Record{{Line: 1, Version: "v1"}, {Line: 2, Version: "v2", Alive: true}}, "2 v2 starting"},
		{"the old one was asked to stop", soaking, []Record{{Line: 1, Version: "v1", Alive: true, Ready: true, Stopping: true}}, "1 v1 ready counted"},
		{"a candidate died that was being started", "serving v1 @0, deploy v2 @100", []Record{{Line: 2, Version: "v2"}}, "2 v2 gone"},
		{"stopped in order", soaking + ", stopped v2 @300", []Record{{Line: 2, Version: "v2"}}, ""},
		{"stopped, and not to the end", soaking + ", stopped v2 @300", []Record{{Line: 2, Version: "v2", Alive: true, Ready: true}}, "2 v2 ready counted"},
		{"a reboot", soaking, []Record{{Line: 2, Version: "v2", Reboot: true}}, "idle"},
		{"a reboot while one was being started", "serving v1 @0, deploy v2 @100", []Record{{Line: 1, Version: "v1", Reboot: true}, {Line: 2, Version: "v2", Reboot: true}}, "idle abandon"},
		{"a rollback whose start was not made", soaking + ", exited v2 @300, exited v2 @400", []Record{{Line: 4, Version: "v2"}, {Line: 1, Version: "v1", Stopping: true}}, ""},
		{"a rollback to one that died since", soaking + ", exited v2 @300, exited v2 @400", []Record{{Line: 1, Version: "v1", Ready: true}}, "1 v1 gone"},
		{"a rollback to one that still runs", soaking + ", exited v2 @300, exited v2 @400", []Record{{Line: 1, Version: "v1", Alive: true, Ready: true}}, "1 v1 ready"},
	} {
		f := Recover(bookOf(t, c.book), c.records, 500)
		var all []string
		for _, p := range f.Processes {
			text := fmt.Sprintf("%d %s %s", p.Line, p.Version, p.Phase)
			if p.Counted {
				text += " counted"
			}
			all = append(all, text)
		}
		got := strings.Join(all, ", ")
		if f.Idle {
			got += "idle"
		}
		if f.Abandon {
			got += " abandon"
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
