//go:build linux

package supervise

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/decide"
	"ramjet.dev/ingress/internal/soak/ledger"
	"ramjet.dev/ingress/internal/soak/process"
)

// Names in the state folder, beside LedgerName and config.SocketName.
const (
	lockName    = "lock"
	recordsName = "processes.json"
	pipesName   = "pipes"
)

const (
	// writeAgain is how long to wait before the ledger is tried again.
	writeAgain = time.Second
	// startAgain is how long to wait for what was lacking when a process was to start.
	startAgain = time.Second
)

// Options are the surroundings of a supervisor.
type Options struct {
	Config *config.Config
	// Output is where releases write; its PipesDir is filled in.
	Output process.Output
	Log    *slog.Logger
	// Hurry, when it is closed, takes the grace from what is being stopped; nil never
	// does.
	Hurry <-chan struct{}
}

// supervisor is the state of the loop; only its goroutine touches it.
type supervisor struct {
	Options
	ledger *ledger.Ledger
	book   decide.Book
	bootID string
	clock  *clock

	running map[int]*running // by line
	deaths  int              // of the current release, in a row
	// notBeforeMS, closing and abandon are those of decide.World.
	notBeforeMS  uint64
	closing      bool
	abandon      probation.Reason
	hurried      bool  // what is stopped gets no grace
	writeError   error // why the ledger cannot be written, nil if it can
	recordsError error // the same of the records

	inbox     chan func() // what happened, to be taken note of by the loop
	ended     chan struct{}
	followers map[*follower]bool
	socket    *control.Server
}

// running is a process and what is known about it.
type running struct {
	decide.Process
	process   *process.Process // nil for one that could not be started
	stopProbe context.CancelFunc
	diedAs    string // the phase that it died in, unasked; "" if it did not
	ended     bool   // nothing of it is left
}

// Run supervises until ctx is done; then it stops the release and returns nil. An
// error means that it did not begin: no process was touched.
func Run(ctx context.Context, o Options) error {
	s := &supervisor{
		Options: o, bootID: process.BootID(), running: map[int]*running{},
		inbox: make(chan func()), ended: make(chan struct{}), followers: map[*follower]bool{},
	}
	s.Output.PipesDir = s.path(pipesName)
	if err := makeDir(o.Config.StateDir); err != nil {
		return fmt.Errorf("%s: %w", o.Config.Where("stateDir"), err)
	}
	l, err := lock(s.path(lockName))
	if err != nil {
		return err
	}
	defer l.Close()
	if err := s.open(); err != nil {
		return err
	}
	defer s.ledger.Close()
	if doubt := o.Config.Doubt(); doubt != "" {
		s.Log.Warn(doubt)
	}
	if s.book.State.Current == "" { // nothing has begun, so nothing is lost by not beginning
		if err := startable(o.Config, o.Config.Baseline); err != nil {
			return err
		}
	}
	if s.socket, err = control.Listen(s.path(config.SocketName)); err != nil {
		return err
	}
	if err := s.takeOver(); err != nil {
		s.socket.Close()
		return err
	}
	s.socket.Serve(s.handle)
	s.loop(ctx)
	close(s.ended)
	for _, r := range s.running { // all are dead, and may have last words
		if r.process != nil {
			<-r.process.Gone()
		}
	}
	s.socket.Close()
	return nil
}

func (s *supervisor) path(name string) string { return filepath.Join(s.Config.StateDir, name) }

// open reads the ledger and stands where it ends.
func (s *supervisor) open() error {
	path := s.path(LedgerName)
	l, contents, err := ledger.Open(path)
	if err != nil {
		return err
	}
	book, err := Replay(path, contents, s.policy())
	if err != nil {
		l.Close()
		return err
	}
	if len(contents.Torn) > 0 {
		s.Log.Warn("the last line of the ledger was not written to its end and is dropped: what it stood for was not begun",
			"ledger", path, "torn", contents.Describe())
	}
	s.ledger, s.book = l, book
	s.clock = newClock(book.LastMS)
	if ahead := s.clock.ahead(); ahead > tolerable {
		s.Log.Warn("the last line of the ledger is of a time that has yet to come: time goes on from there, and the clock of the machine is not looked at before it has caught up",
			"ledger", path, "line", book.Lines, "ahead", ahead.String())
	}
	return nil
}

// tolerable is how far a ledger may be ahead of a clock that is right on the whole.
const tolerable = time.Minute

func (s *supervisor) policy() probation.Policy {
	return probation.Policy{SoakMS: uint64(s.Config.Window / time.Millisecond), MaxRestarts: uint64(s.Config.MaxRestarts)}
}

// loop takes turns until everything has come to its end.
func (s *supervisor) loop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	stop, hurry := ctx.Done(), s.Hurry
	for {
		wake, done := s.turn()
		if done {
			return
		}
		if s.writeError != nil {
			s.endCandidate()
		}
		if s.recordsError != nil {
			s.saveRecords()
		}
		if s.recordsError != nil {
			wake = min(wake, writeAgain)
		}
		s.publish()
		timer.Reset(wake)
		select {
		case happened := <-s.inbox:
			happened()
		case <-timer.C:
		case <-stop:
			stop = nil
			s.Log.Info("stopping the release, and then the supervisor", "grace", s.Config.StopGrace.String())
			s.closing = true
		case <-hurry:
			hurry, s.hurried = nil, true
			s.Log.Warn("killing what has not stopped yet")
			s.killAll()
		}
	}
}

// longestWait bounds the sleep of the loop, so that no computed time is too far away
// for a timer.
const longestWait = time.Hour

// turn makes all moves that can be made now, and says when to look again.
func (s *supervisor) turn() (wake time.Duration, done bool) {
	for {
		m, err := s.news()
		switch {
		case err != nil && s.closing:
			s.giveUpLedger()
		case err != nil:
			return writeAgain, false
		case m.Done:
			return 0, true
		case len(m.Start)+len(m.Stop) == 0:
			wake := s.until(m.WakeMS, s.clock.now())
			if !s.writable() {
				wake = min(wake, writeAgain)
			}
			return wake, false
		default:
			for _, line := range m.Stop {
				s.stop(line)
			}
			for _, start := range m.Start {
				if !s.start(start) {
					return startAgain, false
				}
			}
		}
	}
}

// news writes down all that has happened, and returns the move that is left then. A
// request has to wait for it: what is written has to be in the order of its times.
func (s *supervisor) news() (decide.Move, error) {
	if s.book.State.Current == "" && !s.closing {
		if _, err := s.tell(probation.Event{Kind: probation.Serving, TS: s.clock.now(), Version: s.Config.Baseline}); err != nil {
			return decide.Move{}, err
		}
	}
	for {
		if s.calm() {
			s.clock.adjust()
		}
		m := decide.Next(s.world(), s.clock.now())
		if m.Event != nil && m.Event.Kind == probation.Tick && s.lookForDead() {
			continue // it may have died in the window that is to be closed
		}
		if written, err := s.record(m); err != nil || !written {
			return m, err
		}
	}
}

// until is how long to sleep until a time of the ledger; 0 stands for never.
func (s *supervisor) until(wakeMS, nowMS uint64) time.Duration {
	switch {
	case wakeMS == 0:
		return longestWait
	case wakeMS <= nowMS:
		return 0
	}
	return min(ms(wakeMS-nowMS), longestWait)
}

func ms(n uint64) time.Duration {
	return time.Duration(min(n, uint64(1<<62)/uint64(time.Millisecond))) * time.Millisecond
}

// calm reports whether no time is being measured.
func (s *supervisor) calm() bool {
	k := s.book.State
	if k.Phase == probation.PhaseSoaking || k.Starting != "" || s.notBeforeMS > 0 {
		return false
	}
	for _, r := range s.running {
		if r.Phase != decide.Ready {
			return false
		}
	}
	return true
}

// world is what decide looks at.
func (s *supervisor) world() decide.World {
	w := decide.World{
		Book: s.book, Ports: s.Config.Ports, DeadlineMS: uint64(s.Config.Readiness.Deadline / time.Millisecond),
		OverlapMS: uint64(s.Config.Overlap / time.Millisecond), NotBeforeMS: s.notBeforeMS, Closing: s.closing, Abandon: s.abandon,
	}
	for _, line := range s.lines() {
		w.Processes = append(w.Processes, s.running[line].Process)
	}
	return w
}

// record writes what a move has for the ledger, if anything.
func (s *supervisor) record(m decide.Move) (written bool, err error) {
	switch {
	case m.Note != nil:
		return true, s.write(*m.Note)
	case m.Event != nil:
		if _, err := s.tell(*m.Event); err != nil {
			return true, err
		}
		s.counted(m.Of)
		return true, nil
	}
	return false, nil
}

// tell puts an event to the kernel and writes what it says. With an error the first
// of the entries may have been written: the same event leads to the others later.
func (s *supervisor) tell(e probation.Event) ([]probation.Entry, error) {
	_, entries := probation.Step(s.book.State, e)
	for _, entry := range entries {
		if err := s.write(entry); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// write puts an entry into the ledger, and into the book.
func (s *supervisor) write(e probation.Entry) error {
	book, err := s.book.Add(e)
	if err == nil {
		err = s.ledger.Append(e)
	}
	if err != nil {
		if s.writeError == nil || s.writeError.Error() != err.Error() {
			s.Log.Error("the ledger cannot be written: nothing is begun that it does not know of, what serves keeps running, and it is tried again",
				"error", err, "every", writeAgain.String())
		}
		s.writeError = err
		return err
	}
	s.book = book
	s.writableAgain()
	s.Log.Log(context.Background(), level(e), "ledger", append([]any{"line", book.Lines}, members(e)...)...)
	s.settle(e)
	return nil
}

// members are those of an entry, in the order of their names, for the log.
func members(e probation.Entry) (all []any) {
	in := json.NewDecoder(bytes.NewReader(e.AppendJSON(nil)))
	in.UseNumber()
	var m map[string]any
	_ = in.Decode(&m) // it was just written
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, name, m[name])
	}
	return all
}

// level is that of an entry in the log: what went wrong with a release is a warning.
func level(e probation.Entry) slog.Level {
	switch e.Kind {
	case probation.EntryRolledBack, probation.EntryReadinessFailed, probation.EntryRestarting,
		probation.EntryRestarted, probation.EntryRestartedPostSoak:
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// writable looks again, after a failure, whether the ledger could be written now: the
// request that failed is not tried again, so nothing else would find out.
func (s *supervisor) writable() bool {
	if s.writeError != nil && s.ledger.Room() == nil {
		s.writableAgain()
	}
	return s.writeError == nil
}

func (s *supervisor) writableAgain() {
	if s.writeError != nil {
		s.Log.Info("the ledger can be written again", "lines", s.book.Lines)
		s.writeError = nil
	}
}

// settle is what an entry means for the things that the ledger does not know.
func (s *supervisor) settle(e probation.Entry) {
	switch e.Kind {
	case probation.EntryRestarting, probation.EntryRestarted, probation.EntryRestartedPostSoak:
		pause := s.backoff().Pause(s.deaths, rand.Float64())
		s.notBeforeMS = s.clock.now() + uint64(pause/time.Millisecond)
		if e.Version == s.book.State.LastGood && s.deaths > 1 {
			s.Log.Error("the last good release does not stay up: it is tried again, and no other is started in its place",
				"version", e.Version, "deaths", s.deaths, "pause", pause.String())
		}
	case probation.EntryRolledBack, probation.EntryServing, probation.EntryResumed, probation.EntryPromoted:
		s.notBeforeMS, s.deaths = 0, 0
	}
	if s.book.State.Starting == "" {
		s.abandon = ""
	}
	s.tellFollowers(e)
}

func (s *supervisor) backoff() decide.Backoff {
	return decide.Backoff{First: s.Config.Restart.Backoff, Max: s.Config.Restart.Max}
}

// endCandidate gives up the release that is being started when the ledger cannot be
// written: who asked for it is told so, and must not find it promoted later. That it
// is stopped before that is written is safe: no line has let it serve. One that serves
// all the same, because what was promoted meanwhile was rolled back to it, serves on.
func (s *supervisor) endCandidate() {
	starting := s.book.State.Starting
	if starting == "" {
		return
	}
	s.abandon = probation.ReasonLedger
	if starting == s.book.State.Current {
		return
	}
	for _, line := range s.lines() {
		if p := s.running[line]; s.book.Starts(p.Version, line) && (p.Phase == decide.Starting || p.Phase == decide.Ready) {
			s.Log.Warn("the release that is being started is given up: the ledger cannot be written", "version", starting)
			s.stop(line)
		}
	}
}

// giveUpLedger goes on with stopping although that cannot be written down. A
// successor will find the release gone and count it as an exit.
func (s *supervisor) giveUpLedger() {
	s.Log.Error("stopping although the ledger cannot be written")
	s.book.Idle = true
	s.book.State.Starting = ""
}

// post has the loop take note of something; it does nothing once the loop has ended.
func (s *supervisor) post(f func()) {
	select {
	case s.inbox <- f:
	case <-s.ended:
	}
}

// errEnding is the answer to requests that come too late.
var errEnding = errors.New("the supervisor is stopping")
