//go:build linux

package supervise

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/decide"
	"ramjet.dev/ingress/internal/soak/ledger"
	"ramjet.dev/ingress/internal/soak/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestClock: it never goes back, and measures whatever the wall clock says.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wall := uint64(time.Now().UnixMilli())
		c := newClock(0)
		if c.now() != wall {
			t.Errorf("it is %d, the wall clock says %d", c.now(), wall)
		}
		behind := newClock(wall + 5000) // the ledger is ahead: the wall clock was set back
		for range 3 {
			<-time.After(time.Second)
			behind.adjust()
			c.adjust()
		}
		if got := behind.now() - wall; got != 5000 {
			t.Errorf("%d ms after the wall clock was set: it waits until that has come", got)
		}
		if got := c.now() - wall; got != 3000 {
			t.Errorf("%d ms after 3 s", got)
		}
		measured := newClock(wall + 50_000)
		<-time.After(time.Second) // and is not adjusted, since something is measured
		if got := measured.now() - wall; got != 51_000 {
			t.Errorf("%d ms: it does not run while something is measured", got)
		}
		if got := measured.at(time.Now().Add(-400*time.Millisecond)) - wall; got != 50_600 {
			t.Errorf("%d ms, 400 ms ago", got)
		}
	})
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("another supervisor (process %d)", os.Getpid())) {
		t.Errorf("the second: %v", err)
	}
	first.Close()
	next, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	next.Close()
}

func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "processes.json")
	if r, err := loadRecords(path); err != nil || len(r.Processes) != 0 {
		t.Errorf("none: %+v, %v", r, err)
	}
	own := process.Identity{PID: os.Getpid(), StartTicks: 1}
	all := records{BootID: "b", Processes: []record{{Identity: own, Line: 3, Version: "v1", Port: 81, Ready: true}}}
	if err := all.save(path); err != nil {
		t.Fatal(err)
	}
	r, err := loadRecords(path)
	if err != nil || len(r.Processes) != 1 || r.Processes[0] != all.Processes[0] {
		t.Fatalf("%+v, %v", r, err)
	}
	for boot, reboot := range map[string]bool{"b": false, "c": true} {
		found, err := search(r, t.TempDir(), boot)
		if err != nil || len(found) != 1 || found[0].Reboot != reboot || found[0].Alive {
			t.Errorf("boot %s: %+v, %v", boot, found, err)
		}
	}
	if err := os.WriteFile(path, []byte(`{"boot`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadRecords(path); err == nil {
		t.Error("half a file is read")
	}
}

// service is a config whose releases are shell scripts that never get ready.
func service(t *testing.T) *config.Config {
	t.Helper()
	dir := t.TempDir()
	return &config.Config{
		StateDir: filepath.Join(dir, "state"), Baseline: "v1", Dir: dir, Ports: []int{1, 2},
		Command:   []string{"sh", "-c", "exec sleep 1000"},
		Readiness: config.Readiness{Command: []string{"true"}, Interval: time.Millisecond, Timeout: 30 * time.Second, Deadline: time.Minute},
		Restart:   config.Restart{Backoff: time.Millisecond, Max: time.Second},
		StopGrace: 30 * time.Second, Window: 50 * time.Millisecond, MaxRestarts: 2,
	}
}

// orphans are the processes of releases that run.
func orphans(t *testing.T, c *config.Config) []process.Orphan {
	t.Helper()
	all, err := process.Orphans(c.StateDir)
	if err != nil {
		t.Error(err)
	}
	return all
}

func options(c *config.Config) Options {
	return Options{Config: c, Output: process.Output{Stdout: io.Discard, Stderr: io.Discard}, Log: slog.New(slog.DiscardHandler)}
}

// TestRun: a whole life, in one process, which leaves nothing behind.
func TestRun(t *testing.T) {
	c := service(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, options(c)) }()
	ask := func(q control.Request) control.Result {
		r, err := askPatiently(c, q, func(control.Reply) {})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, step := range []struct {
		q    control.Request
		ok   bool
		want string
	}{
		{control.Request{Do: control.DoDeploy, Version: "v2"}, true, "v2 is confirmed"},
		{control.Request{Do: control.DoDeploy, Version: "v2"}, true, "v2 serves already"},
		{control.Request{Do: control.DoDeploy, Version: "../v3"}, false, "cannot name a release"},
		{control.Request{Do: control.DoRollback, Version: "v7"}, false, "there is no way back to v7"},
		{control.Request{Do: control.DoRollback}, true, "v1 is ready and serves"},
		{control.Request{Do: control.DoFollow, Version: "v2", Line: 2}, true, "v2 is confirmed"},
		{control.Request{Do: control.DoFollow, Version: "v2", Line: 99}, false, "no line 99"},
		{control.Request{Do: "dance"}, false, "not known here"},
	} {
		if r := ask(step.q); r.OK != step.ok || !strings.Contains(r.Message, step.want) {
			t.Errorf("%+v: %+v, want %v and %q", step.q, r, step.ok, step.want)
		}
	}
	if err := Run(context.Background(), options(c)); err == nil || !strings.Contains(err.Error(), "another supervisor") {
		t.Errorf("a second supervisor: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if left := orphans(t, c); len(left) != 0 {
		t.Errorf("left behind: %+v", left)
	}
	read, err := ledger.Read(filepath.Join(c.StateDir, LedgerName))
	if err != nil {
		t.Fatal(err)
	}
	want := "serving v1, starting v2, promoted v2, confirmed v2, rollback_refused v7, rolled_back v2, stopped v1"
	if text := words(read.Entries); text != want {
		t.Errorf("ledger: %s\nwant    %s", text, want)
	}
}

// TestRunRefuses: with a ledger that cannot be, nothing is begun.
func TestRunRefuses(t *testing.T) {
	const begun = `{"event":"serving","ts":1,"version":"v1"}` + "\n" + `{"event":"starting","ts":2,"version":"v2"}` + "\n"
	for what, c := range map[string]struct {
		text string
		line int
	}{
		"a window closes that was never opened": {`{"event":"confirmed","restarts":0,"ts":5,"version":"v2"}`, 1},
		"a name that leads out of a folder":     {begun + `{"event":"deploy_abandoned","reason":"operator","ts":3,"version":"v2"}` + "\n" + `{"event":"starting","ts":4,"version":"../v3"}`, 4},
		"a second baseline":                     {begun + `{"event":"serving","ts":3,"version":"v9"}`, 3},
		"a time that goes back":                 {begun + `{"event":"deploy_abandoned","reason":"operator","ts":1,"version":"v2"}` + "\n" + `{"event":"starting","ts":4,"version":"v3"}`, 3},
		"a time that never comes":               {begun + `{"event":"deploy_abandoned","reason":"operator","ts":9007199254740992,"version":"v2"}`, 3},
		"a window without a length":             {begun + `{"event":"promoted","max":2,"ts":3,"version":"v2"}`, 3},
	} {
		t.Run(what, func(t *testing.T) { refuses(t, c.text+"\n", c.line) })
	}
}

// refuses wants a ledger to be refused for one of its lines, and nothing to be begun.
func refuses(t *testing.T, text string, line int) {
	t.Helper()
	c := service(t)
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.StateDir, LedgerName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var at ledger.Error
	if err := Run(ctx, options(c)); !errors.As(err, &at) || at.Line != line {
		t.Errorf("want line %d: %v", line, err)
	}
	if c, err := net.Dial("unix", filepath.Join(c.StateDir, config.SocketName)); err == nil {
		c.Close()
		t.Error("it listens")
	}
	if left := orphans(t, c); len(left) != 0 {
		t.Errorf("started: %+v", left)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != text {
		t.Errorf("the ledger was changed: %q, %v", now, err)
	}
}

// TestNewsComeFirst: a death that could not be written yet is, before a request is: it
// belongs to the window that it happened in, and times do not go back.
func TestNewsComeFirst(t *testing.T) {
	for name, request := range map[string]func(s *supervisor) beginning{
		"deploy":   func(s *supervisor) beginning { return s.begin("v3") },
		"rollback": func(s *supervisor) beginning { return s.brake(control.Request{Now: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			c := service(t)
			c.Window = time.Second
			s := &supervisor{Options: options(c), running: map[int]*running{}, followers: map[*follower]bool{}}
			if err := makeDir(c.StateDir); err != nil {
				t.Fatal(err)
			}
			if err := s.open(); err != nil {
				t.Fatal(err)
			}
			defer s.ledger.Close()
			died := s.clock.now() - 5000
			s.clock.last = died // as if all of this was long ago
			for _, e := range []probation.Event{
				{Kind: probation.Serving, Version: "v1"}, {Kind: probation.Deploy, Version: "v2"}, {Kind: probation.Promoted, Version: "v2"},
			} {
				e.TS = died
				if _, err := s.tell(e); err != nil {
					t.Fatal(err)
				}
			}
			s.running[2] = &running{Process: decide.Process{Line: 2, Version: "v2", Phase: decide.Gone, GoneMS: died}}
			if b := request(s); b.refused != "" {
				t.Errorf("refused: %s", b.refused)
			}
			read, err := ledger.Read(s.path(LedgerName))
			if err != nil {
				t.Fatal(err)
			}
			last := map[string]string{"deploy": "starting v3", "rollback": "rolled_back v2"}[name]
			if got, want := words(read.Entries[3:]), "restarting v2, confirmed v2, "+last; got != want {
				t.Errorf("ledger: %s, want %s", got, want)
			}
			if _, err := Replay("", read, s.policy()); err != nil {
				t.Error(err)
			}
			if s.book.EndNow != (name == "rollback") {
				t.Errorf("the end of v2 at once: %v", s.book.EndNow)
			}
		})
	}
}

// TestAheadOfTheClock: a ledger of a time that has yet to come is gone on with, and said so.
func TestAheadOfTheClock(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration
		warns bool
	}{{time.Second, false}, {time.Hour, true}} {
		var log bytes.Buffer
		s := &supervisor{Options: options(service(t))}
		s.Log = slog.New(slog.NewTextHandler(&log, nil))
		if err := makeDir(s.Config.StateDir); err != nil {
			t.Fatal(err)
		}
		last := uint64(time.Now().Add(c.ahead).UnixMilli())
		text := probation.Entry{Kind: probation.EntryServing, TS: last, Version: "v1"}.String() + "\n"
		if err := os.WriteFile(s.path(LedgerName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.open(); err != nil {
			t.Fatal(err)
		}
		s.ledger.Close()
		if warns := strings.Contains(log.String(), "has yet to come"); warns != c.warns || s.clock.now() < last {
			t.Errorf("%s ahead: it is %d, and the log says %q", c.ahead, s.clock.now(), log.String())
		}
	}
}

// TestOutOfFiles: a supervisor that can open no more files does not know which releases
// run. It says so and touches none; and it counts no exit of one that it cannot start.
func TestOutOfFiles(t *testing.T) {
	c := service(t)
	if err := makeDir(c.StateDir); err != nil {
		t.Fatal(err)
	}
	s := &supervisor{Options: options(c), running: map[int]*running{}, bootID: process.BootID()}
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	defer s.ledger.Close()
	if _, err := s.tell(probation.Event{Kind: probation.Serving, TS: s.clock.now(), Version: "v1"}); err != nil {
		t.Fatal(err)
	}
	p, err := process.Start(s.spec(decide.Process{Line: 1, Version: "v1", Port: 1}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		p.Kill()
		<-p.Gone()
	}()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(l syscall.Rlimit) {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
			t.Fatal(err)
		}
	}
	limit(syscall.Rlimit{Cur: 3, Max: before.Max})
	taken := s.takeOver()
	tried := s.start(decide.Start{Line: 2, Version: "v2", Port: 2})
	limit(before)
	if taken == nil || !strings.Contains(taken.Error(), "too many open files: they were not touched and go on") {
		t.Errorf("taken over: %v", taken)
	}
	if tried || len(s.running) != 0 || s.book.Lines != 1 {
		t.Errorf("tried to start: %v; %d processes, %d lines", tried, len(s.running), s.book.Lines)
	}
	if left := orphans(t, c); len(left) != 1 || left[0].PID != p.ID.PID {
		t.Errorf("v1 was harmed: %+v", left)
	}
}

// TestMembers: the log has the members of an entry one by one, to be read and searched.
func TestMembers(t *testing.T) {
	e := probation.Entry{Kind: probation.EntryRestarting, TS: 3000, Version: "v2", Attempt: 1, Policy: probation.Policy{MaxRestarts: 2}}
	if got := strings.TrimSuffix(fmt.Sprintln(members(e)...), "\n"); got != "attempt 1 event restarting max 2 ts 3000 version v2" {
		t.Errorf("got %q", got)
	}
}

// words are entries as "promoted v2, confirmed v2".
func words(entries []probation.Entry) string {
	var all []string
	for _, e := range entries {
		all = append(all, string(e.Kind)+" "+e.Version)
	}
	return strings.Join(all, ", ")
}

// TestFollowersOfAStop: a client whose deploy is over with its supervisor is told so; one
// whose window goes on finds the connection cut, and asks the successor.
func TestFollowersOfAStop(t *testing.T) {
	for _, c := range []struct {
		probe   string // of v2
		stopAt  func(control.Reply) bool
		message string // "" is none
	}{
		{"true", func(r control.Reply) bool { return r.Entry != nil && r.Entry.Kind == probation.EntryPromoted }, ""},
		{"false", func(r control.Reply) bool { return r.Status != nil && r.Status.Starting == "v2" },
			"v2 is not deployed: the supervisor was stopped, or the machine started again, while it was being started"},
	} {
		s := service(t)
		s.Window = time.Hour
		s.Readiness.Command = []string{"sh", "-c", "test {version} = v1 || " + c.probe}
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, options(s)) }()
		r, err := askPatiently(s, control.Request{Do: control.DoDeploy, Version: "v2"}, func(r control.Reply) {
			if c.stopAt(r) {
				stop()
			}
		})
		if r.OK || r.Message != c.message || errors.Is(err, control.ErrCut) != (c.message == "") {
			t.Errorf("probe %s: %+v, %v", c.probe, r, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// askPatiently asks a supervisor that may not have begun to listen.
func askPatiently(c *config.Config, q control.Request, each func(control.Reply)) (control.Result, error) {
	for start := time.Now(); ; {
		r, err := control.Ask(context.Background(), filepath.Join(c.StateDir, config.SocketName), q, each)
		if !errors.Is(err, control.ErrNobody) || time.Since(start) > 30*time.Second {
			return r, err
		}
	}
}

// TestBothSignalsAtOnce: a second signal that is looked at before the first is not
// lost.
func TestBothSignalsAtOnce(t *testing.T) {
	for range 5 { // which is looked at first is left to chance
		c := service(t)
		c.StopGrace = time.Hour
		c.Command = []string{"sh", "-c", "trap '' TERM; while :; do sleep 1000; done"}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		hurry := make(chan struct{})
		close(hurry)
		o := options(c)
		o.Hurry = hurry
		ended := make(chan error, 1)
		go func() { ended <- Run(ctx, o) }()
		late := time.NewTimer(30 * time.Second)
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-late.C:
			for _, o := range orphans(t, c) {
				_ = syscall.Kill(-o.PID, syscall.SIGKILL)
			}
			t.Fatal("it waits for the grace")
		}
		late.Stop()
	}
}

// TestLinesFromTheFutureAlone: a ledger in which nothing is known yet is one without a
// baseline.
func TestLinesFromTheFutureAlone(t *testing.T) {
	c := service(t)
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.StateDir, LedgerName)
	if err := os.WriteFile(path, []byte(`{"event":"created","ts":5}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, options(c)) }()
	for start := time.Now(); len(orphans(t, c)) == 0; {
		if time.Since(start) > 30*time.Second {
			t.Error("nothing was started")
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	read, err := ledger.Read(path)
	if err != nil || len(read.Entries) != 3 || read.Entries[1].Kind != probation.EntryServing || read.Entries[1].Version != "v1" {
		t.Errorf("%v, %v", read.Entries, err)
	}
}
