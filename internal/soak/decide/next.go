package decide

import (
	"math"

	"ramjet.dev/ingress/internal/probation"
)

// Next is the next move at a time in milliseconds since the epoch.
func Next(w World, nowMS uint64) Move {
	if m, ok := w.news(nowMS); ok {
		return m
	}
	if w.Closing {
		return w.close(nowMS)
	}
	if w.Book.Idle {
		return Move{Note: &probation.Entry{Kind: probation.EntryResumed, TS: nowMS, Version: w.Book.State.Current}}
	}
	return Move{Start: w.starts(nowMS), Stop: w.stops(nowMS), WakeMS: w.wake(nowMS)}
}

// news is what the kernel has to be told, the oldest first: a death in the window
// counts although the window is over by the time that it is looked at.
func (w World) news(nowMS uint64) (Move, bool) {
	s := w.Book.State
	if p, ok := w.oldestGone(); ok && !w.Closing {
		if w.Book.Starts(p.Version, p.Line) {
			return about(p, probation.Event{TS: p.GoneMS, Kind: probation.ReadinessFailed, Reason: probation.ReasonExited}), true
		}
		return about(p, probation.Event{TS: p.GoneMS, Kind: probation.Exited}), true
	}
	if s.Phase == probation.PhaseSoaking && s.LeftMS(nowMS) == 0 && !w.Closing {
		return Move{Event: &probation.Event{TS: nowMS, Kind: probation.Tick}}, true
	}
	if m, ok := w.start(nowMS); ok {
		return m, true
	}
	if p, ok := w.of(s.Current); ok && p.Phase == Starting && !w.Closing && w.late(p.StartedMS, nowMS) {
		return about(p, probation.Event{TS: nowMS, Kind: probation.Exited}), true
	}
	return Move{}, false
}

// start is what there is to say about the release that is being started.
func (w World) start(nowMS uint64) (Move, bool) {
	s := w.Book.State
	if s.Starting == "" {
		return Move{}, false
	}
	e := probation.Event{TS: nowMS, Version: s.Starting}
	switch {
	case w.Abandon != "":
		e.Kind, e.Reason = probation.Abandoned, w.Abandon
	case w.Closing:
		e.Kind, e.Reason = probation.Abandoned, probation.ReasonSupervisor
	case w.candidateReady():
		e.Kind = probation.Promoted
	case w.late(w.Book.StartingMS, nowMS):
		e.Kind, e.Reason = probation.ReadinessFailed, probation.ReasonDeadline
	default:
		return Move{}, false
	}
	return Move{Event: &e}, true
}

func (w World) candidateReady() bool {
	for _, p := range w.Processes {
		if p.Phase == Ready && !p.Counted && w.Book.Starts(p.Version, p.Line) {
			return true
		}
	}
	return false
}

func about(p Process, e probation.Event) Move {
	e.Version = p.Version
	return Move{Event: &e, Of: p.Line}
}

func (w World) oldestGone() (oldest Process, found bool) {
	for _, p := range w.Processes {
		if p.Phase == Gone && (!found || p.GoneMS < oldest.GoneMS) {
			oldest, found = p, true
		}
	}
	return oldest, found
}

// late reports whether what began at a time had to be ready by now.
func (w World) late(sinceMS, nowMS uint64) bool {
	return nowMS >= sinceMS && nowMS-sinceMS >= w.DeadlineMS
}

// close stops everything, after a note that it was meant.
func (w World) close(nowMS uint64) Move {
	if !w.Book.Idle && w.Book.State.Current != "" {
		return Move{Note: &probation.Entry{Kind: probation.EntryStopped, TS: nowMS, Version: w.Book.State.Current}}
	}
	m := Move{Done: true}
	for _, p := range w.Processes {
		if p.Phase != Gone {
			m.Done = false
		}
		if p.Phase == Starting || p.Phase == Ready {
			m.Stop = append(m.Stop, p.Line)
		}
	}
	return m
}

// starts are the releases that have no process: the current one, unless it died a
// moment ago, and the one that is to be started.
func (w World) starts(nowMS uint64) []Start {
	var all []Start
	used := make(map[int]bool)
	for _, p := range w.Processes {
		used[p.Port] = true
	}
	s := w.Book.State
	for i, version := range []string{s.Current, s.Starting} {
		current := version == s.Current
		if version == "" || w.exists(version) || current && nowMS < w.NotBeforeMS || current && i > 0 {
			continue
		}
		for _, port := range w.Ports {
			if !used[port] {
				used[port] = true
				all = append(all, Start{Line: w.Book.lineFor(version), Version: version, Port: port})
				break
			}
		}
	}
	return all
}

// stops are the processes that nobody needs any more.
func (w World) stops(nowMS uint64) []int {
	var all []int
	for _, p := range w.Processes {
		switch {
		case p.Phase == Stopping || p.Phase == Gone:
		case p.Counted, !w.wanted(p) && !w.bridges(p, nowMS):
			all = append(all, p.Line)
		}
	}
	return all
}

func (w World) wanted(p Process) bool {
	return p.Version == w.Book.State.Current || w.Book.Starts(p.Version, p.Line)
}

// bridges reports whether a process that is not wanted serves on for now: it was
// ready, and the current release is not, or its overlap is not over. What was rolled
// back does so for as long only as the one that comes instead may take: the brake was
// pulled to be rid of it.
func (w World) bridges(p Process, nowMS uint64) bool {
	current, runs := w.of(w.Book.State.Current)
	covered := runs && current.Phase == Ready && nowMS >= current.ReadyMS+w.OverlapMS
	return p.Phase == Ready && !covered && !w.Book.EndNow && !(w.back() && w.late(w.Book.RolledBackMS, nowMS))
}

func (w World) back() bool { return w.Book.State.Phase == probation.PhaseRolledBack }

// wake is the nearest time at which the answer changes by itself.
func (w World) wake(nowMS uint64) uint64 {
	nearest := uint64(0)
	at := func(ms uint64) {
		if nearest == 0 || ms < nearest {
			nearest = ms
		}
	}
	s := w.Book.State
	if s.Phase == probation.PhaseSoaking {
		at(later(nowMS, s.LeftMS(nowMS)))
	}
	if s.Starting != "" {
		at(later(w.Book.StartingMS, w.DeadlineMS))
	}
	switch p, ok := w.of(s.Current); {
	case ok && p.Phase == Starting:
		at(later(p.StartedMS, w.DeadlineMS))
	case ok && nowMS < p.ReadyMS+w.OverlapMS:
		at(p.ReadyMS + w.OverlapMS)
	}
	for _, p := range w.Processes {
		if w.back() && !w.wanted(p) && w.bridges(p, nowMS) {
			at(later(w.Book.RolledBackMS, w.DeadlineMS))
		}
	}
	if !w.exists(s.Current) && w.NotBeforeMS > nowMS {
		at(w.NotBeforeMS)
	}
	return nearest
}

// later is a time after another, or the last there is: a ledger may have any times in
// it.
func later(ms, by uint64) uint64 {
	if by > math.MaxUint64-ms {
		return math.MaxUint64
	}
	return ms + by
}
