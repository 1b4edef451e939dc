package decide

import (
	"strings"
	"testing"
)

// TestRecoverAsksFirst: a process that runs and was not written down as ready may serve
// for long: the disk was full as it became ready, or nobody was there to see it. It is
// stopped only if it is not ready by a deadline that begins now. That of a release that is
// being started counts from its line, as ever.
func TestRecoverAsksFirst(t *testing.T) {
	const soaking = "serving v1 @0, deploy v2 @100, promoted v2 @200"
	for _, c := range []struct {
		name, book string
		now        uint64
		want       string
	}{
		{"a restart of the candidate", soaking + ", exited v2 @210", 900, "wake @1200"}, // the window ends first
		{"a restart of what is confirmed", soaking + ", tick - @1200, exited v2 @1300", 9000, "wake @9500"},
		{"what is being started", "serving v1 @0, deploy v2 @100", 900, "event failed v2 @900 deadline"},
	} {
		b := bookOf(t, c.book)
		f := Recover(b, []Record{{Line: b.lineFor("v2"), Version: "v2", Port: 2, Alive: true, StartedMS: b.LastMS}}, c.now)
		w := World{Book: b, Processes: f.Processes, Ports: []int{1, 2}, DeadlineMS: 500}
		if b.State.Current != "v2" {
			w.Processes = append(w.Processes, Process{Line: 1, Version: "v1", Port: 1, Phase: Ready})
		}
		if got := Next(w, c.now).String(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRecoverOlder: what died unwatched is counted though a later line made it current, or
// kept it so; and once only.
func TestRecoverOlder(t *testing.T) {
	const again = "serving v1 @0, deploy v2 @100, promoted v2 @200, deploy v1 @250, promoted v1 @300"
	for _, c := range []struct {
		name, book string
		record     Record
		want       string
	}{
		{"promoted since", again, Record{Line: 1, Version: "v1", Ready: true}, "event exited v1 @500 of 1"},
		{"it was to go", again, Record{Line: 1, Version: "v1", Ready: true, Stopping: true}, ""},
		{"a good one broke its budget as a candidate", again + ", exited v1 @310, exited v1 @320", Record{Line: 6, Version: "v1", Ready: true}, ""},
		{"and runs, late", again + ", exited v1 @310, exited v1 @320", Record{Line: 6, Version: "v1", Alive: true}, "stop 6"},
		{"an operator took it back as a candidate", again + ", operator v1 @310", Record{Line: 4, Version: "v1", Ready: true}, "event exited v1 @500 of 4"},
		{"asked for again, and the old one has died", "serving v1 @0, deploy v2 @100, promoted v2 @200, operator - @300, deploy v2 @310",
			Record{Line: 2, Version: "v2", Ready: true}, ""},
		{"resumed, and not started yet", "serving v1 @0, stopped v1 @100, resumed v1 @200", Record{Line: 1, Version: "v1", Ready: true}, ""},
		{"resumed, and not stopped yet", "serving v1 @0, stopped v1 @100, resumed v1 @200", Record{Line: 1, Version: "v1", Ready: true, Alive: true}, "stop 1"},
		{"resumed after a reboot", "serving v1 @0, stopped v1 @100, resumed v1 @200", Record{Line: 1, Version: "v1", Reboot: true}, ""},
	} {
		b := bookOf(t, c.book)
		f := Recover(b, []Record{c.record}, 500)
		got := ""
		if len(f.Processes) > 0 {
			got, _, _ = strings.Cut(Next(World{Book: b, Processes: f.Processes, DeadlineMS: 500}, 500).String(), ", ")
		}
		if got != c.want || f.Idle || f.Abandon {
			t.Errorf("%s: %q, want %q; %+v", c.name, got, c.want, f)
		}
	}
}
