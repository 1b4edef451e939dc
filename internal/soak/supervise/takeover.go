//go:build linux

package supervise

import (
	"errors"
	"fmt"
	"os"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/decide"
	"ramjet.dev/ingress/internal/soak/process"
)

// takeOver finds the processes of a predecessor. With an error none was touched.
func (s *supervisor) takeOver() error {
	r, err := loadRecords(s.path(recordsName))
	if err != nil {
		s.Log.Warn("it cannot be read which processes there were: they are looked for", "error", err)
	}
	all, err := search(r, s.Config.StateDir, s.bootID)
	if err != nil {
		return fmt.Errorf("find out which releases run: %w: they were not touched and go on; put that right, and start soak run again", err)
	}
	list := make([]decide.Record, len(all))
	byLine := make(map[int]found)
	for i, f := range all {
		list[i], byLine[f.Line] = f.Record, f
		s.missed(f)
	}
	s.sweep(all)
	left := decide.Recover(s.book, list, s.clock.now())
	s.book.Idle = s.book.Idle || left.Idle
	if left.Abandon {
		s.abandon = probation.ReasonSupervisor
	}
	process.RemovePipes(s.Output.PipesDir, func(line int) bool { return byLine[line].id.PID != 0 })
	for _, p := range left.Processes {
		s.adopt(p, byLine[p.Line])
	}
	k := s.book.State
	s.Log.Info("supervising", "ledger_lines", s.book.Lines, "state", k.Phase.String(), "current", k.Current,
		"last_good", k.LastGood, "starting", k.Starting, "window_left", ms(k.LeftMS(s.clock.now())).String(), "processes", len(s.running))
	return nil
}

// sweep kills what is left of the process groups of those that are gone: nobody was there
// to do it, and it may hold a port.
func (s *supervisor) sweep(all []found) {
	for _, f := range all {
		if f.Alive || f.Reboot {
			continue
		}
		if err := process.Sweep(f.id, s.Config.StateDir, f.Line); err != nil {
			s.Log.Warn("what a release has started may still run", "version", f.Version, "line", f.Line, "pid", f.id.PID, "error", err)
		}
	}
}

// missed says that a ledger has lost the line for which a process was started: it was
// removed, emptied, or replaced by an old copy.
func (s *supervisor) missed(f found) {
	if f.Line <= s.book.Lines {
		return
	}
	serves := s.book.State.Current
	if serves == "" {
		serves = s.Config.Baseline
	}
	s.Log.Warn("the ledger has lost lines: a release was started for one that is not there. The ledger is followed all the same, and what it does not want is stopped. "+
		"To undo that: soak deploy that release again; or stop this supervisor, put the ledger back from a copy, and start it",
		"release", f.Version, "started_for_line", f.Line, "ledger", s.path(LedgerName), "ledger_lines", s.book.Lines, "pid", f.id.PID, "runs", f.Alive, "serves_now", serves)
}

// adopt takes over a process of a predecessor, or remembers that it is gone.
func (s *supervisor) adopt(p decide.Process, f found) {
	r := &running{Process: p}
	s.running[p.Line] = r
	if p.Phase == decide.Gone {
		r.ended = true
		s.Log.Warn("a release has died while there was no supervisor", "version", p.Version, "line", p.Line, "pid", f.id.PID)
		s.died(r)
		return
	}
	r.process = f.held.Adopt(s.spec(p))
	s.Log.Info("taken over", "version", p.Version, "line", p.Line, "port", p.Port, "pid", f.id.PID, "phase", p.Phase.String())
	s.watch(r)
}

// found is a process of a predecessor, as decide and process need it.
type found struct {
	decide.Record
	id   process.Identity
	held *process.Found // nil if it does not run
}

// search finds what is left of the processes of a predecessor: those of its records,
// and those that bear the mark of the state folder and are in no record. With an error
// it is not known, and none is held.
func search(r records, stateDir, bootID string) (all []found, err error) {
	defer func() {
		if err != nil {
			release(all)
			all = nil
		}
	}()
	known := make(map[int]bool) // lines
	for _, p := range r.Processes {
		known[p.Line] = true
		f := found{id: p.Identity, Record: decide.Record{
			Line: p.Line, Version: p.Version, Port: p.Port, StartedMS: p.StartedMS, Ready: p.Ready, Stopping: p.Stopping,
			Reboot: r.BootID != bootID,
		}}
		if !f.Reboot {
			if f.held, err = process.Find(p.Identity); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return all, err
			}
		}
		f.Alive = f.held != nil
		all = append(all, f)
	}
	orphans, err := process.Orphans(stateDir)
	if err != nil {
		return all, err
	}
	for _, o := range orphans {
		if known[o.Line] {
			continue
		}
		held, err := process.Find(o.Identity)
		if errors.Is(err, os.ErrProcessDone) {
			continue
		}
		if err != nil {
			return all, err
		}
		known[o.Line] = true
		all = append(all, found{id: o.Identity, held: held, Record: decide.Record{Line: o.Line, Version: o.Version, Port: o.Port, Alive: true}})
	}
	return all, nil
}

// release lets processes go.
func release(all []found) {
	for _, f := range all {
		if f.held != nil {
			f.held.Release()
		}
	}
}
