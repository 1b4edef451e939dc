package tally_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top/tally"
)

// ratesOf are the requests per second and the latency of a daemon and of its route.
func ratesOf(f *tally.Fleet, seconds float64) string {
	daemon, route := f.Numbers(at(seconds)).Rate, f.Rows(at(seconds))[0].Rate
	return fmt.Sprintf("daemon %s %s, route %s %s", tally.PerSecond(daemon), tally.Latency(daemon), tally.PerSecond(route), tally.Latency(route))
}

// of is a reading of a process that began some seconds after the beginning.
func of(started float64, r *adminclient.Reading) *adminclient.Reading {
	r.Series["process_start_time_seconds"] = float64(at(started).Wall.UnixMilli()) / 1000
	r.Date = at(r.SeriesAt.Seconds()).Wall
	return r
}

// Another process counts anew, also where it has counted further than the one before.
// A clock that was set moves the beginning of a process, which is no other one.
func TestAnotherProcess(t *testing.T) {
	f := tally.NewFleet([]string{"a"}, time.Second)
	r := f.Replicas[0]
	r.Answered(at(0), of(-500, reading(0, 10, 0, 5000)))
	r.Answered(at(60), of(30, reading(60, 5000, 0, 6000)))
	if got := ratesOf(f, 60); got != "daemon 0.0 -, route 0.0 -" {
		t.Errorf("the process is another one: %s", got)
	}
	r.Answered(at(61), of(30, reading(61, 5010, 0, 6020)))
	if got := ratesOf(f, 61); got != "daemon 10.0 2.00, route 10.0 2.00" {
		t.Errorf("and goes on: %s", got)
	}
	r.Answered(at(62), of(31, reading(62, 5020, 0, 6040)))
	if got := ratesOf(f, 62); got != "daemon 10.0 2.00, route 10.0 2.00" {
		t.Errorf("its clock was set: %s", got)
	}
}

// A daemon counts a route by its backend too. A pin brings the old backend back with
// all it ever counted, which is no burst.
func TestBackendComesBack(t *testing.T) {
	f := tally.NewFleet([]string{"a"}, time.Second)
	for _, step := range []struct {
		seconds  float64
		backend  string
		requests uint64
		want     string
	}{
		{0, "web", 100_000, "-"}, {1, "web", 100_010, "10.0"}, {2, "next", 5, "0.0"}, {3, "next", 25, "20.0"}, {4, "web", 100_040, "0.0"}, {5, "web", 100_070, "30.0"},
	} {
		r := reading(step.seconds, step.requests, 0, 0)
		r.Routes.Routes[0].Backend = step.backend
		f.Replicas[0].Answered(at(step.seconds), r)
		if got := tally.PerSecond(f.Rows(at(step.seconds))[0].Rate); got != step.want {
			t.Errorf("after %v s: %s, want %s", step.seconds, got, step.want)
		}
	}
}

// The mean of replicas is that of what they do now: one that was away for a minute
// does not count for a minute.
func TestMeanOfUnequalWindows(t *testing.T) {
	f := tally.NewFleet([]string{"a", "b"}, time.Second)
	f.Replicas[0].Answered(at(0), reading(0, 0, 0, 0))
	f.Replicas[0].Answered(at(60), reading(60, 6000, 0, 6000*500)) // 100 a second with 500 ms
	f.Replicas[1].Answered(at(59), reading(59, 0, 0, 0))
	f.Replicas[1].Answered(at(60), reading(60, 100, 0, 100*4)) // 100 a second with 4 ms
	if got := ratesOf(f, 60); got != "daemon 200 252, route 200 252" {
		t.Errorf("%s", got)
	}
}

// A replica stays in its order among others, also when its clock was set back.
func TestTimelineOfClockSetBack(t *testing.T) {
	f := tally.NewFleet([]string{"a", "b"}, time.Second)
	answer := func(replica int, applied ...[2]int) {
		r := reading(0, 0, 0, 0)
		for _, g := range applied {
			r.Generations.Generations = append(r.Generations.Generations, admin.Generation{Generation: uint64(g[0]), AppliedAt: at(float64(g[1])).Wall})
		}
		f.Replicas[replica].Answered(at(0), r)
	}
	answer(0, [2]int{5, 10}, [2]int{4, 50}, [2]int{3, 5})
	answer(1, [2]int{9, 60}, [2]int{8, 30}, [2]int{7, 10}, [2]int{6, 7})
	var got []string
	for _, a := range f.Timeline(at(100)) {
		got = append(got, fmt.Sprintf("%s%d", f.Replicas[a.Replica].Name, a.Generation.Generation))
	}
	if text := strings.Join(got, " "); text != "b9 b8 a5 a4 b7 b6 a3" {
		t.Errorf("the timeline is %s", text)
	}
}

// When a pin began is known only where the answer before was not long ago.
func TestPinThatBeganUnseen(t *testing.T) {
	r := tally.NewReplica("a")
	r.Answered(at(0), reading(0, 0, 0, 0))
	r.Failed("gone")
	pinned := reading(600, 0, 0, 0)
	pinned.Generations.Pinned = new(uint64(41))
	r.Answered(at(600), pinned)
	if p, ok := r.Pin(at(601)); !ok || p.Exact || p.Held != time.Second {
		t.Errorf("%+v", p)
	}
}
