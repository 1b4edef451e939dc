//go:build e2e && soak

package soak

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/ledger"
	"ramjet.dev/ingress/internal/soak/process"
	"ramjet.dev/ingress/internal/soak/supervise"
	"ramjet.dev/ingress/test/daemon"
)

var (
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "what the instants and commands of TestKilled200Times are made of")
	kills = flag.Int("kills", 200, "how often TestKilled200Times kills")
)

// TestKilled200Times kills a supervisor at random instants of deploys that succeed,
// crash and never get ready, and of rollbacks. Whatever the instant: the next one
// stands where the ledger ends, nothing that was written is lost, no release runs
// twice, and the last good release is one that became it by the rules.
func TestKilled200Times(t *testing.T) {
	t.Logf("to see the same again: -seed=%d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	s := newService(t, knobs{window: 300 * time.Millisecond, crashAfter: 40 * time.Millisecond, deadline: 700 * time.Millisecond, grace: 2 * time.Second})
	s.run()
	torn := 0
	var before []byte
	for n := range *kills {
		var commands sync.WaitGroup
		for range random.IntN(3) {
			args := s.randomCommand(random, n)
			commands.Go(func() { _ = exec.Command(daemon.Program("soak"), args...).Run() }) // refused, cut off: all the same
		}
		wait := func(most int) { <-time.After(time.Duration(random.IntN(most)) * time.Millisecond) } // by the clock on purpose
		wait(350)
		if random.IntN(6) == 0 { // it dies while it stops, or just after
			s.super.Signal(syscall.SIGTERM)
			wait(30)
		}
		s.kill()
		s.once("after kill %d", n)

		text := s.text()
		if !bytes.HasPrefix(text, before) {
			t.Fatalf("kill %d: lines were lost or changed: before\n%s\nafter\n%s", n, before, text)
		}
		cut := random.IntN(4) == 0
		if cut {
			s.append(`{"event":"rolled_back","exits_in_window":3,"fr`[:1+random.IntN(40)])
			torn++
		}
		s.start()
		s.super.Log.Wait(t, `"msg":"supervising"`)
		if said := strings.Contains(s.super.Log.String(), "was not written to its end and is dropped"); said != cut {
			t.Fatalf("kill %d: torn %v, said so %v", n, cut, said)
		}
		before = s.text()
		if !bytes.HasPrefix(before, text) {
			t.Fatalf("kill %d: the ledger was\n%s\nand is\n%s", n, text, before)
		}
		s.standsWhereItEnds(n)
		s.once("after start %d", n)
		commands.Wait()
	}
	s.lastGoodByTheRules()
	// v2 may have become the last good release: by luck, or unwatched, it lives through a
	// window. It is started again and again then, and whether it answers is chance.
	st := s.until("quiet", func(st control.Status) bool {
		return st.Starting == "" && st.State != "soaking" && len(st.Processes) == 1 && (st.Processes[0].Phase == "ready" || st.Current == "v2")
	})
	if st.Current != st.LastGood || st.Processes[0].Version != st.Current {
		t.Errorf("in the end the status is %+v", st)
	}
	if st.Current != "v2" {
		if got := s.get(st.Processes[0].Port); !strings.HasPrefix(got, st.Current+" ") {
			t.Errorf("in the end %q answers, status %+v", got, st)
		}
	}
	counts := map[string]int{}
	for _, e := range s.entries() {
		counts[string(e.Kind)]++
	}
	t.Logf("%d kills, %d torn lines, the ledger: %v", *kills, torn, counts)
	for _, kind := range []probation.EntryKind{"promoted", "confirmed", "rolled_back", "restarting", "readiness_failed"} {
		if counts[string(kind)] == 0 && *kills >= 200 {
			t.Errorf("nothing was %s: the run shows less than it should", kind)
		}
	}
}

// randomCommand is what an operator might do next.
func (s *service) randomCommand(random *rand.Rand, n int) []string {
	switch random.IntN(8) {
	case 0:
		return []string{"rollback", s.config}
	case 1:
		return []string{"rollback", "--now", s.config}
	case 2, 3:
		return []string{"deploy", "--detach", s.config, "v2"} // crashes
	case 4:
		return []string{"deploy", "--detach", s.config, "v4"} // never gets ready
	}
	return []string{"deploy", "--detach", s.config, fmt.Sprintf("w%d", n%7)}
}

func (s *service) text() []byte {
	s.t.Helper()
	text, err := os.ReadFile(s.ledgerPath())
	if err != nil {
		s.t.Fatal(err)
	}
	// A line that is being written is not there yet.
	return text[:bytes.LastIndexByte(text, '\n')+1]
}

// once wants each release to run once at most.
func (s *service) once(when string, n int) {
	s.t.Helper()
	seen := map[string]process.Orphan{}
	for _, o := range s.orphans() {
		if other, twice := seen[o.Version]; twice {
			s.t.Fatalf("%s: %s runs twice: %+v and %+v", fmt.Sprintf(when, n), o.Version, other, o)
		}
		seen[o.Version] = o
	}
}

// standsWhereItEnds compares what the supervisor says with what its ledger says.
func (s *service) standsWhereItEnds(n int) {
	s.t.Helper()
	st := s.status()
	c, err := ledger.Read(s.ledgerPath())
	if err != nil {
		s.t.Fatal(err)
	}
	c.Entries = c.Entries[:st.LedgerLines] // more may have come
	book, err := supervise.Replay(s.ledgerPath(), c, probation.Policy{SoakMS: 300, MaxRestarts: 2})
	if err != nil {
		s.t.Fatalf("kill %d: %v", n, err)
	}
	var want control.Status
	want.Describe(book.State, 0)
	if st.State != want.State || st.Current != want.Current || st.LastGood != want.LastGood || st.Candidate != want.Candidate ||
		st.Starting != want.Starting || st.Restarts != want.Restarts || st.Exits != want.Exits || !slices.Equal(st.Earlier, want.Earlier) {
		s.t.Fatalf("kill %d: the supervisor says %+v, its ledger %+v", n, st, want)
	}
}

// lastGoodByTheRules goes through the ledger: the last good release changes when a
// window closes that was open for long enough, and when an operator goes back.
func (s *service) lastGoodByTheRules() {
	s.t.Helper()
	state := probation.New(probation.DefaultPolicy)
	var promoted uint64
	for i, e := range s.entries() {
		next, err := probation.Apply(state, e)
		if err != nil {
			s.t.Fatalf("line %d: %v", i+1, err)
		}
		if e.Kind == probation.EntryPromoted {
			promoted = e.TS
		}
		rules := e.Kind == probation.EntryServing ||
			e.Kind == probation.EntryConfirmed && next.LastGood == state.Candidate && e.TS-promoted >= 300 ||
			e.Kind == probation.EntryRolledBack && e.Reason == probation.ReasonOperator
		if next.LastGood != state.LastGood && !rules {
			s.t.Errorf("line %d: %s made %s the last good release, it was %s", i+1, e, next.LastGood, state.LastGood)
		}
		if next.LastGood == "v4" {
			s.t.Errorf("line %d: v4 is the last good release, and was never ready", i+1)
		}
		state = next
	}
}
