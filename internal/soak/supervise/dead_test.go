//go:build linux

package supervise

import (
	"net"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/decide"
	"ramjet.dev/ingress/internal/soak/ledger"
	"ramjet.dev/ingress/internal/soak/process"
)

// byHand is a supervisor whose loop does not run, with an empty ledger.
func byHand(t *testing.T, c *config.Config) *supervisor {
	t.Helper()
	s := &supervisor{
		Options: options(c), bootID: process.BootID(), running: map[int]*running{}, followers: map[*follower]bool{},
		inbox: make(chan func()), ended: make(chan struct{}),
	}
	s.Output.PipesDir = s.path(pipesName)
	if err := makeDir(c.StateDir); err != nil {
		t.Fatal(err)
	}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.ledger.Close() })
	return s
}

// runs starts a process by hand, as one that is ready.
func (s *supervisor) runs(t *testing.T, line int, version string) *running {
	t.Helper()
	r := &running{Process: decide.Process{Line: line, Version: version, Port: line, Phase: decide.Ready}}
	p, err := process.Start(s.spec(r.Process))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.Gone()
	})
	r.process, s.running[line] = p, r
	return r
}

// hears puts events to the kernel.
func (s *supervisor) hears(t *testing.T, all ...probation.Event) {
	t.Helper()
	for _, e := range all {
		if _, err := s.tell(e); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeathInTheWindow: a death counts by its time, however late the loop hears of it: its
// output is still read when the window is over.
func TestDeathInTheWindow(t *testing.T) {
	c := service(t)
	c.Command = []string{"true"}
	c.Window = 10 * time.Millisecond
	s := byHand(t, c)
	begun := s.clock.now()
	r := s.runs(t, 2, "v2")
	<-r.process.Died()
	died := s.clock.at(r.process.DiedAt())
	s.hears(t,
		probation.Event{Kind: probation.Serving, Version: "v1", TS: begun},
		probation.Event{Kind: probation.Deploy, Version: "v2", TS: begun},
		probation.Event{Kind: probation.Promoted, Version: "v2", TS: max(begun, died-min(died, 5))},
	)
	for s.clock.now() < died+10 {
		<-time.After(time.Millisecond)
	}
	if _, err := s.news(); err != nil {
		t.Fatal(err)
	}
	read, err := ledger.Read(s.path(LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	if got := words(read.Entries[3:]); got != "restarting v2, confirmed v2" || read.Entries[3].TS != died {
		t.Errorf("ledger: %s; the death at %d, which was at %d", got, read.Entries[3].TS, died)
	}
	s.notBeforeMS = 0 // the pause is over
	if m, err := s.news(); err != nil || len(m.Start) != 0 {
		t.Errorf("v2 is started beside what is left of it: %+v, %v", m, err)
	}
	<-r.process.Gone()
	s.gone(r)
	if m, err := s.news(); err != nil || len(m.Start) != 1 || m.Start[0].Version != "v2" {
		t.Errorf("v2 is not started again: %+v, %v", m, err)
	}
}

// TestFullDiskAndTheCurrentRelease: a release that is being started and is current as well,
// because the budget of another one broke meanwhile, is not stopped when the ledger cannot
// be written.
func TestFullDiskAndTheCurrentRelease(t *testing.T) {
	for _, back := range []bool{false, true} {
		s := byHand(t, service(t))
		s.Config.Window, s.Config.MaxRestarts = time.Hour, 0
		s.book.State = s.book.State.Under(s.policy())
		now := s.clock.now()
		s.hears(t,
			probation.Event{Kind: probation.Serving, Version: "v1", TS: now},
			probation.Event{Kind: probation.Deploy, Version: "v2", TS: now},
			probation.Event{Kind: probation.Promoted, Version: "v2", TS: now},
			probation.Event{Kind: probation.Deploy, Version: "v1", TS: now},
		)
		r := s.runs(t, 4, "v1")
		if back {
			s.hears(t, probation.Event{Kind: probation.Exited, Version: "v2", TS: now})
		}
		s.endCandidate()
		if stopped := r.Phase == decide.Stopping; stopped == back {
			t.Errorf("v1 is current: %v, and is stopped: %v", back, stopped)
		}
		if _, err := s.news(); err != nil || s.book.State.Starting != "" {
			t.Errorf("with room again: %+v, %v", s.book.State, err)
		}
	}
}

// TestDeployOfWhatServes: it is done, unless something else is about to take its place.
func TestDeployOfWhatServes(t *testing.T) {
	s := byHand(t, service(t))
	s.hears(t, probation.Event{Kind: probation.Serving, Version: "v1", TS: s.clock.now()})
	if b := s.begin("v1"); b.already != "v1 serves already, and is confirmed" {
		t.Errorf("%+v", b)
	}
	s.hears(t, probation.Event{Kind: probation.Deploy, Version: "v2", TS: s.clock.now()})
	if b := s.begin("v1"); b.already != "" || !strings.Contains(b.refused, "v2 is being started to take its place") || s.book.State.Starting != "v2" {
		t.Errorf("%+v", b)
	}
}

// TestPortOfAnother: a release that has a port and does not listen yet keeps it.
func TestPortOfAnother(t *testing.T) {
	c := service(t)
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	taken := stranger.Addr().(*net.TCPAddr).Port
	s := byHand(t, c)
	c.Ports = []int{taken, 1, 2}
	first := s.freePort(taken)
	s.running[1] = &running{Process: decide.Process{Line: 1, Version: "v1", Port: first}}
	if second := s.freePort(1); first != 1 || second != 2 {
		t.Errorf("ports %d and %d, want 1 and 2", first, second)
	}
}
