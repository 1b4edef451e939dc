//go:build e2e

package soak

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/process"
	"ramjet.dev/ingress/test/daemon"
)

// TestKilledInTheWindow: the next supervisor takes the candidate over, in the same
// window, and the command that follows the deploy goes on following it.
func TestKilledInTheWindow(t *testing.T) {
	t.Parallel()
	const window = 12 * time.Second
	s := newService(t, knobs{window: window})
	s.run()
	s.serves("v1")
	deploy := daemon.Start(t, daemon.Setup{Program: "soak", Args: []string{"deploy", s.config, "v3"}})
	deploy.Out.Wait(t, "v3 is ready and serves")
	before := s.serves("v3")
	s.kill()
	deploy.Out.Wait(t, "the supervisor went away")
	if st := s.status(); st.Running || st.State != "soaking" || st.Current != "v3" {
		t.Errorf("without a supervisor: %+v", st)
	}
	s.run()
	if after := s.serves("v3"); after.PID != before.PID || after.Line != before.Line {
		t.Errorf("v3 was process %d of line %d, is %d of line %d", before.PID, before.Line, after.PID, after.Line)
	}
	if status := deploy.Exit(); status != 0 || !strings.Contains(deploy.Out.String(), "v3 is confirmed") {
		t.Errorf("the deploy ended with %d and said\n%s", status, deploy.Out)
	}
	s.wantEvents(0, "serving v1", "starting v3", "promoted v3", "confirmed v3")
	e := s.entries()
	if lived := e[3].TS - e[2].TS; lived < uint64(window.Milliseconds()) {
		t.Errorf("confirmed after %d ms of %s", lived, window)
	}
	// What it writes is still passed on: its last words go through the second one.
	s.super.Signal(syscall.SIGTERM)
	s.super.Exit()
	if !strings.Contains(s.super.Log.String(), "v3 | v3: finishing what is in flight") {
		t.Errorf("the output of a release was lost:\n%s", s.super.Log)
	}
}

// TestWindowThatEndsUnwatched is closed by the first event after it, which is that the
// supervisor is back; the death of the release, found after that, is a late one.
func TestWindowThatEndsUnwatched(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{window: 1500 * time.Millisecond})
	s.run()
	s.serves("v1")
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	p := s.serves("v3")
	s.kill()
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("the end of the window, by the clock alone", func(st control.Status) bool { return st.WindowLeftMS == 0 })
	s.run()
	s.serves("v3")
	s.wantEvents(3, "confirmed v3", "restarted_post_soak v3")
}

// TestDeathsUnwatched: a candidate that died while its window was open and nobody
// watched has used up one restart, once.
func TestDeathsUnwatched(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	for range 2 {
		p := s.serves("v3")
		s.kill()
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		s.run()
	}
	s.serves("v3")
	s.kill() // with nothing to count
	s.run()
	s.serves("v3")
	s.wantEvents(3, "restarting v3", "restarting v3")
}

// TestKilledWhileStarting: a deploy that waits for readiness goes on waiting, and its
// deadline is the old one.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{deadline: 10 * time.Second})
	s.run()
	s.serves("v1")
	deploy := daemon.Start(t, daemon.Setup{Program: "soak", Args: []string{"deploy", s.config, "v4"}})
	st := s.until("v4 beside v1", func(st control.Status) bool { return len(st.Processes) == 2 })
	s.kill()
	s.run()
	after := s.status()
	if len(after.Processes) != 2 || after.Processes[1] != st.Processes[1] || after.Starting != "v4" {
		t.Errorf("before %+v\nafter %+v", st, after)
	}
	if status := deploy.Exit(); status != 1 {
		t.Errorf("the deploy of v4 ended with %d:\n%s", status, deploy.Out)
	}
	s.serves("v1")
	e := s.entries()
	if took := e[2].TS - e[1].TS; e[2].Reason != "deadline" || took < 10_000 || took > 30_000 {
		t.Errorf("%s, after %d ms of 10000", e[2], took)
	}
}

// TestProcessWithoutRecord: a supervisor that dies after it started a process and
// before it wrote its number down has a successor that finds it by its environment.
func TestProcessWithoutRecord(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	before := s.serves("v1")
	s.kill()
	if err := os.Remove(s.state + "/processes.json"); err != nil {
		t.Fatal(err)
	}
	s.run()
	if after := s.serves("v1"); after.PID != before.PID {
		t.Errorf("process %d was taken for %d", after.PID, before.PID)
	}
	s.wantEvents(0, "serving v1")
}

// TestStranger: a process that has the number of a release that is gone is left alone.
func TestStranger(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	p := s.serves("v1")
	s.kill()
	if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	stranger := daemon.Start(t, daemon.Setup{Program: "demo", Args: []string{"--version", "stranger", "--port", "0"}})
	stranger.Log.Wait(t, "listening")
	path := s.state + "/processes.json"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, fmt.Appendf(nil, `"pid": %d`, p.PID), fmt.Appendf(nil, `"pid": %d`, stranger.PID), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run()
	s.serves("v1")
	s.wantEvents(0, "serving v1", "restarted v1")
	s.super.Signal(syscall.SIGTERM)
	s.super.Exit()
	if err := syscall.Kill(stranger.PID, 0); err != nil {
		t.Errorf("the stranger was killed: %v", err)
	}
}

// TestReboot: that processes are gone after the machine was started again is not their
// fault. The release is started, nothing is counted, and a deploy that was under way
// is given up.
func TestReboot(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	s.serves("v3")
	deploy := daemon.Start(t, daemon.Setup{Program: "soak", Args: []string{"deploy", s.config, "v4"}})
	st := s.until("v4 beside v3", func(st control.Status) bool { return len(st.Processes) == 2 })
	s.kill()
	for _, p := range st.Processes {
		if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	path := s.state + "/processes.json"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(process.BootID()), []byte("another boot"), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run()
	s.serves("v3")
	s.wantEvents(4, "deploy_abandoned v4", "resumed v3")
	if st := s.status(); st.State != "soaking" || st.Exits != 0 {
		t.Errorf("after the reboot: %+v", st)
	}
	if status := deploy.Exit(); status != 1 || !strings.Contains(deploy.Log.String(), "the machine started again") {
		t.Errorf("the deploy of v4 ended with %d:\n%s%s", status, deploy.Out, deploy.Log)
	}
}

// TestTwoSupervisors: the second is refused, and changes nothing.
func TestTwoSupervisors(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	p := s.serves("v1")
	s.wants(2, fmt.Sprintf("another supervisor (process %d) has the state folder", s.super.PID), "run", s.config)
	if after := s.serves("v1"); after != p {
		t.Errorf("before %+v, after %+v", p, after)
	}
}

// TestTornLedger (S01): what was not written to its end is dropped, said, and cut off
// before the next line is written.
func TestTornLedger(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	p := s.serves("v1")
	s.kill()
	s.append(`{"event":"starting","ts":12345,"ver`)
	s.run()
	s.super.Log.Wait(t, "the last line of the ledger was not written to its end and is dropped")
	if after := s.serves("v1"); after.PID != p.PID {
		t.Errorf("process %d, was %d", after.PID, p.PID)
	}
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	s.wantEvents(0, "serving v1", "starting v3", "promoted v3")
	s.kill()
	s.append("\x00\x00\x00\x00")
	s.wants(0, "the last line was not written to its end and is left out", "ledger", s.ledgerPath())
	s.run()
	s.serves("v3")
}

// TestLostLedger: without its ledger a service begins anew, and whoever reads the log
// learns what that has cost, and what to do.
func TestLostLedger(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	s.serves("v3")
	s.kill()
	if err := os.Remove(s.ledgerPath()); err != nil {
		t.Fatal(err)
	}
	s.run()
	const lost = "the ledger has lost lines"
	if log := s.super.Log.String(); !strings.Contains(log, lost) || !strings.Contains(log, `"release":"v3"`) || !strings.Contains(log, `"serves_now":"v1"`) {
		t.Errorf("nobody is told that v3 goes:\n%s", log)
	}
	s.serves("v1")
	s.wantEvents(0, "serving v1")
	s.kill()
	s.run()
	s.serves("v1")
	if log := s.super.Log.String(); strings.Contains(log, lost) {
		t.Errorf("nothing was lost:\n%s", log)
	}
}

// TestLedgerOfOthers (S01): lines from the future are taken, and an edited line is refused
// by its number; what runs is not touched then.
func TestLedgerOfOthers(t *testing.T) {
	t.Parallel()
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	s.wants(0, "", "deploy", "--detach", s.config, "v3")
	p := s.serves("v3")
	s.kill()
	s.append(`{"event":"quarantined","host":"a","ts":1,"version":"v9"}` + "\n")
	s.run()
	if after := s.serves("v3"); after.PID != p.PID {
		t.Errorf("process %d, was %d", after.PID, p.PID)
	}
	s.kill()
	text, err := os.ReadFile(s.ledgerPath())
	if err != nil {
		t.Fatal(err)
	}
	edited := bytes.Replace(text, []byte(`"event":"promoted"`), []byte(`"event":"confirmed"`), 1)
	if err := os.WriteFile(s.ledgerPath(), edited, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wants(2, "ledger.jsonl:3: ", "run", s.config)
	garbage := bytes.Replace(text, []byte(`"event":"starting"`), []byte(`"event":"starting`), 1)
	if err := os.WriteFile(s.ledgerPath(), garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	s.wants(2, "ledger.jsonl:2: ", "run", s.config)
	s.wants(2, "ledger.jsonl:2: ", "ledger", s.ledgerPath())
	if len(s.orphans()) != 1 {
		t.Error("v3 does not run any more")
	}
}

// append writes at the end of the ledger, as no supervisor would.
func (s *service) append(text string) {
	s.t.Helper()
	f, err := os.OpenFile(s.ledgerPath(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}
