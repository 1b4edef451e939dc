package decide

import "testing"

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
