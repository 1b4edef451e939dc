//go:build linux

package supervise

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/decide"
	"ramjet.dev/ingress/internal/soak/process"
	"ramjet.dev/ingress/internal/soak/readiness"
)

// lines are the lines of the processes, in order.
func (s *supervisor) lines() []int { return slices.Sorted(maps.Keys(s.running)) }

// spec is how a process of a release is started.
func (s *supervisor) spec(p decide.Process) process.Spec {
	c := s.Config
	return process.Spec{
		StateDir: c.StateDir, Line: p.Line, Version: p.Version, Port: p.Port,
		Command: config.ExpandAll(c.Command, p.Version, p.Port),
		Dir:     config.Expand(c.Dir, p.Version, p.Port),
		Env:     config.ExpandAll(c.Env, p.Version, p.Port),
		Output:  s.Output,
	}
}

// start starts a process. One that cannot be started has died at once, unless that is
// for want of something that every process needs: then it was not tried.
func (s *supervisor) start(o decide.Start) (tried bool) {
	r := &running{Process: decide.Process{Line: o.Line, Version: o.Version, Port: s.freePort(o.Port), StartedMS: s.clock.now()}}
	p, err := process.Start(s.spec(r.Process))
	if process.Shortage(err) {
		s.Log.Error("no process can be started: that is tried again, and is no exit of the release", "version", o.Version, "line", o.Line, "error", err, "every", startAgain.String())
		return false
	}
	s.running[o.Line] = r
	if o.Version == s.book.State.Current {
		s.notBeforeMS = 0
	}
	if err != nil {
		if why := startable(s.Config, o.Version); why != nil {
			err = why
		}
		s.Log.Error("a release cannot be started", "version", o.Version, "line", o.Line, "error", err)
		r.Phase, r.GoneMS, r.ended = decide.Gone, s.clock.now(), true
		s.died(r)
		return true
	}
	r.process = p
	s.saveRecords()
	s.Log.Info("started", "version", r.Version, "line", r.Line, "port", r.Port, "pid", p.ID.PID)
	s.watch(r)
	return true
}

// freePort is the wanted port, or, where somebody else listens on it, another one of
// the range that nobody does. One that another release was given a moment ago, which does
// not listen yet, is not free.
func (s *supervisor) freePort(wanted int) int {
	if !s.holds(wanted) && process.PortFree(wanted) {
		return wanted
	}
	for _, port := range s.Config.Ports {
		if !s.holds(port) && process.PortFree(port) {
			s.Log.Warn("somebody listens on the port of a release: another one is taken", "port", wanted, "instead", port)
			return port
		}
	}
	s.Log.Warn("somebody listens on the port of a release, and no other is free", "port", wanted)
	return wanted
}

func (s *supervisor) holds(port int) bool {
	for _, r := range s.running {
		if r.Port == port {
			return true
		}
	}
	return false
}

// watch waits for a process to become ready and to end.
func (s *supervisor) watch(r *running) {
	if r.process.Unheard != nil {
		err := r.process.Unheard
		if s.Config.OutputDir != "" {
			err = fmt.Errorf("%s: %w", s.Config.Where("outputDir"), err)
		}
		s.Log.Error("what a release writes is lost", "version", r.Version, "line", r.Line, "error", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stopProbe = cancel
	probing := make(chan struct{})
	if r.Phase == decide.Starting {
		target := readiness.Target{Version: r.Version, Port: r.Port, Dir: config.Expand(s.Config.Dir, r.Version, r.Port)}
		go func() {
			defer close(probing)
			ready, last := readiness.Wait(ctx, s.Config.Readiness, target)
			if ready {
				s.post(func() { s.ready(r) })
			} else if last != nil {
				s.Log.Warn("was not ready", "version", r.Version, "line", r.Line, "last", last)
			}
		}()
	} else {
		close(probing)
	}
	go func() {
		<-r.process.Died()
		cancel()
		s.post(func() { s.dead(r) })
		<-r.process.Gone()
		<-probing
		s.post(func() { s.gone(r) })
	}()
}

// ready takes note that a process is ready.
func (s *supervisor) ready(r *running) {
	if r.Phase != decide.Starting || s.running[r.Line] != r {
		return
	}
	r.Phase, r.ReadyMS = decide.Ready, s.clock.now()
	s.saveRecords()
	s.Log.Info("ready", "version", r.Version, "line", r.Line, "port", r.Port, "after", ms(s.clock.now()-r.StartedMS).String())
}

// dead takes note that a process is dead, unless it was to go, or that is known. While
// everything is being stopped it is asked to, too, and waited for.
func (s *supervisor) dead(r *running) {
	if s.running[r.Line] != r || s.closing || r.Counted || r.Phase == decide.Stopping || r.Phase == decide.Gone {
		return
	}
	r.diedAs = r.Phase.String()
	// The ledger goes on from its last line, whatever the clock said before that.
	r.Phase, r.GoneMS = decide.Gone, max(s.clock.at(r.process.DiedAt()), s.book.LastMS)
	s.died(r)
}

// lookForDead takes note of the dead before the loop hears of them: it may have been busy.
func (s *supervisor) lookForDead() (found bool) {
	for _, line := range s.lines() {
		r := s.running[line]
		if r.process == nil || r.Phase == decide.Gone {
			continue
		}
		select {
		case <-r.process.Died():
			s.dead(r)
			found = found || r.Phase == decide.Gone
		default:
		}
	}
	return found
}

// gone takes note that nothing of a process is left.
func (s *supervisor) gone(r *running) {
	s.dead(r)
	level, phase := slog.LevelInfo, r.Phase.String()
	if r.diedAs != "" {
		level, phase = slog.LevelWarn, r.diedAs
	}
	s.Log.Log(context.Background(), level, "ended", "version", r.Version, "line", r.Line, "pid", r.process.ID.PID, "status", r.process.Status(), "phase", phase)
	if r.Phase == decide.Gone { // the ledger does not know yet
		r.ended = true
		return
	}
	s.remove(r)
}

// died counts a death in a row of the current release.
func (s *supervisor) died(r *running) {
	if r.Version == s.book.State.Current {
		s.deaths = s.backoff().Deaths(s.deaths, ms(r.GoneMS-min(r.StartedMS, r.GoneMS)))
	}
}

// counted takes note that the ledger has the exit of a process.
func (s *supervisor) counted(line int) {
	r, ok := s.running[line]
	switch {
	case !ok:
	case r.Phase == decide.Gone && r.ended:
		s.remove(r)
	case r.Phase == decide.Gone:
		// Nothing is started in its place before it has let go of everything.
		r.Phase, r.Counted = decide.Stopping, true
		s.saveRecords()
	default:
		r.Counted = true
		s.Log.Warn("a release was not ready in time: that counts as an exit", "version", r.Version, "line", r.Line)
		s.died(r)
	}
}

// stop asks a process to end.
func (s *supervisor) stop(line int) {
	r, ok := s.running[line]
	if !ok || r.process == nil {
		return
	}
	if r.stopProbe != nil {
		r.stopProbe()
	}
	r.Phase = decide.Stopping
	s.saveRecords()
	s.Log.Info("stopping", "version", r.Version, "line", r.Line, "pid", r.process.ID.PID, "grace", s.Config.StopGrace.String())
	if err := r.process.Stop(s.Config.StopGrace); err != nil {
		s.Log.Error("a release cannot be asked to stop", "version", r.Version, "pid", r.process.ID.PID, "error", err)
	}
	if s.hurried { // both signals had come before the first was looked at
		r.process.Kill()
	}
}

// killAll ends all processes that were asked to.
func (s *supervisor) killAll() {
	for _, r := range s.running {
		if r.Phase == decide.Stopping {
			r.process.Kill()
		}
	}
}

// remove forgets a process that is gone.
func (s *supervisor) remove(r *running) {
	delete(s.running, r.Line)
	s.saveRecords()
}

// saveRecords writes down which processes there are. Without it a successor still
// finds those that run, so a full disk stops nothing here; the loop tries it again.
func (s *supervisor) saveRecords() {
	all := records{BootID: s.bootID, Processes: []record{}}
	for _, line := range s.lines() {
		r := s.running[line]
		if r.process == nil {
			continue
		}
		all.Processes = append(all.Processes, record{
			Identity: r.process.ID, Line: r.Line, Version: r.Version, Port: r.Port, StartedMS: r.StartedMS,
			Ready: r.Phase == decide.Ready, Stopping: r.Phase == decide.Stopping || r.Counted,
		})
	}
	err := all.save(s.path(recordsName))
	switch {
	case err != nil && s.recordsError == nil:
		s.Log.Error("processes are not written down; a successor finds them by their environment, and it is tried again", "error", err, "every", writeAgain.String())
	case err == nil && s.recordsError != nil:
		s.Log.Info("processes are written down again")
	}
	s.recordsError = err
}
