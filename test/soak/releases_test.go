//go:build e2e

package soak

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/test/daemon"
)

// TestCandidateThatCrashes (S03, S04): within its window the release before serves again by
// itself, the ledger says why, and the deploy has failed.
func TestCandidateThatCrashes(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.wants(1, "v2 was rolled back to v1: it died 3 times within its window of 60 s", "deploy", s.config, "v2")
	s.serves("v1")
	s.wantEvents(0, "serving v1", "starting v2", "promoted v2", "restarting v2", "restarting v2", "rolled_back v2")
	last := s.entries()[5]
	if last.Reason != "restart_budget_exceeded" || last.To != "v1" || last.Exits != 3 {
		t.Errorf("the ledger does not say why: %s", last)
	}

	// Nothing is tried again by itself, whoever supervises.
	s.super.Signal(syscall.SIGTERM)
	if status := s.super.Exit(); status != 0 {
		t.Errorf("stopped with status %d", status)
	}
	s.run()
	s.serves("v1")
	s.kill()
	s.run()
	s.serves("v1")
	s.wantEvents(6, "stopped v1", "resumed v1")

	// Asked for again, it gets a fresh window with a fresh budget.
	s.wants(1, "it died 3 times", "deploy", s.config, "v2")
	s.serves("v1")
	s.wantEvents(8, "starting v2", "promoted v2", "restarting v2", "restarting v2", "rolled_back v2")
	s.wants(1, "there is no way back to v2", "rollback", s.config, "v2")
}

// TestExitsOfEveryKind (S03): killed while it was ready, or gone with status 0 before it
// was, an exit is an exit, and the third ends it. What is wrong with it looks like progress.
func TestExitsOfEveryKind(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	p := s.serves("v3")
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p = s.until("v3 again", func(st control.Status) bool {
		return len(st.Processes) == 1 && st.Processes[0].Phase == "ready" && st.Processes[0].PID != p.PID
	}).Processes[0]
	s.touch("quits-v3", true)
	if err := syscall.Kill(p.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.serves("v1")
	s.touch("quits-v3", false)
	s.wantEvents(3, "restarting v3", "restarting v3", "rolled_back v3")
	if last := s.entries()[5]; last.Exits != 3 || last.To != "v1" {
		t.Errorf("the ledger says %s", last)
	}
}

// TestCandidateThatSurvives (S08) is confirmed by a timer: nothing else happens.
func TestCandidateThatSurvives(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{window: 1500 * time.Millisecond, deadline: 10 * time.Second})
	s.run()
	before := s.serves("v1")
	s.wants(0, "v3 is confirmed, after 0 restarts", "deploy", s.config, "v3")
	s.wantEvents(0, "serving v1", "starting v3", "promoted v3", "confirmed v3")
	entries := s.entries()
	if lived := entries[3].TS - entries[2].TS; lived < 1500 {
		t.Errorf("confirmed after %d ms of 1500", lived)
	}
	if p := s.serves("v3"); p.Port == before.Port {
		t.Errorf("v3 took the port %d of v1 and cannot have overlapped with it", p.Port)
	}
	s.wants(0, "v3 serves already", "deploy", s.config, "v3")

	// A release that never gets ready is not promoted; what serves is not touched.
	serving := s.serves("v3")
	s.wants(1, "v4 was not promoted: it was not ready by its deadline", "deploy", s.config, "v4")
	if after := s.serves("v3"); after.PID != serving.PID {
		t.Errorf("v3 is process %d now, was %d", after.PID, serving.PID)
	}
	// One that dies first is not either, and nobody waits for the deadline.
	s.touch("broken-v6", true)
	s.wants(1, "v6 was not promoted: it died before it was ready", "deploy", s.config, "v6")
	s.wantEvents(4, "starting v4", "readiness_failed v4", "starting v6", "readiness_failed v6")

	// After the window an operator goes back without a new one.
	s.wants(0, "v1 is ready and serves", "rollback", s.config)
	s.serves("v1")
	s.wants(1, "v1 serves after a rollback already", "rollback", s.config)
	s.wants(1, "there is no way back to v3", "rollback", s.config, "v3")
	if st := s.status(); st.State != "rolled_back" || st.WindowLeftMS != 0 {
		t.Errorf("going back opened a window: %+v", st)
	}
}

// TestRollbackInTheWindow ends a candidate at once.
func TestRollbackInTheWindow(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.wants(0, "v3 serves, and is on probation", "deploy", "--detach", s.config, "v3")
	s.serves("v3")
	s.wants(1, "there is no way back to v9: it is not among the earlier confirmed releases", "rollback", s.config, "v9")
	s.wants(0, "v1 is ready and serves", "rollback", s.config)
	s.serves("v1")
	e := s.entries()
	if last := e[len(e)-1]; last.Reason != "operator" || last.To != "v1" || last.Version != "v3" {
		t.Errorf("the ledger says %s", last)
	}
}

// TestHangingRelease: SIGTERM does not impress it, so it is killed after the grace.
func TestHangingRelease(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{window: time.Second, deadline: 10 * time.Second, grace: 200 * time.Millisecond})
	s.run()
	s.serves("v1")
	s.wants(1, "v5 was not promoted: it was not ready by its deadline", "deploy", s.config, "v5")
	s.super.Log.Wait(t, `"status":"signal: killed"`)
	s.serves("v1")
}

// TestSecondSignal: who asks twice does not wait for the grace.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{grace: time.Hour})
	s.run()
	s.serves("v1")
	deploy := daemon.Start(t, daemon.Setup{Program: "soak", Args: []string{"deploy", s.config, "v5"}})
	s.until("v5 beside v1", func(st control.Status) bool { return len(st.Processes) == 2 })
	s.super.Log.Wait(t, "v5 | v5: listening") // from now on SIGTERM does not impress it
	s.super.Signal(syscall.SIGTERM)
	s.super.Log.Wait(t, `"msg":"stopping","version":"v5"`)
	s.super.Signal(syscall.SIGTERM)
	s.super.Log.Wait(t, "killing what has not stopped yet")
	if status := s.super.Exit(); status != 0 {
		t.Errorf("stopped with status %d", status)
	}
	if status := deploy.Exit(); status != 1 {
		t.Errorf("the deploy of v5 ended with %d:\n%s", status, deploy.Out)
	}
	s.wantEvents(1, "starting v5", "deploy_abandoned v5", "stopped v1")
}

// TestSurroundings: a release is started as if by hand: its input is empty, and it leads a
// process group of its own.
func TestSurroundings(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	p := s.serves("v1")
	if in, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/0", p.PID)); err != nil || in != os.DevNull {
		t.Errorf("its input is %q, %v", in, err)
	}
	if group, err := syscall.Getpgid(p.PID); err != nil || group != p.PID {
		t.Errorf("its process group is %d, %v", group, err)
	}
}

// TestLastGoodThatDoesNotStart is tried again and again; the broken candidate is never
// started in its place.
func TestLastGoodThatDoesNotStart(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.touch("broken-v1", true)
	s.wants(1, "v2 was rolled back to v1", "deploy", s.config, "v2")
	// If v2 never lived to the end of the overlap, v1 is the process that it was before.
	for _, p := range s.status().Processes {
		if p.Version == "v1" {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may be gone
		}
	}
	s.super.Log.Wait(t, "the last good release does not stay up")
	tries := func() int {
		n := 0
		for _, e := range s.events(0) {
			if e == "restarted v1" {
				n++
			}
		}
		return n
	}
	s.until("five tries", func(st control.Status) bool {
		for _, p := range st.Processes {
			if p.Version != "v1" {
				t.Fatalf("%s runs: %+v", p.Version, st)
			}
		}
		return tries() >= 5
	})
	s.kill()
	s.run()
	s.touch("broken-v1", false)
	s.serves("v1")
	broken := slices.Index(s.events(0), "rolled_back v2")
	if strings.Contains(strings.Join(s.events(broken+1), ","), "v2") {
		t.Errorf("v2 came back: %q", s.events(broken+1))
	}
}
