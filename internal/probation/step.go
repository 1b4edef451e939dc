package probation

// Step is the kernel. It returns the state after the event and what the ledger says
// about it, in order; none if nothing. The entries are the caller's.
//
// Before the event is read its time is: at or past the end of an open window it
// closes the window, whatever it is about. A late exit is therefore judged by the
// rules for good releases.
func Step(s State, e Event) (State, []Entry) {
	// Small enough to be inlined, so that the entries of a caller that does not keep
	// them cost no allocation.
	var most [2]Entry
	return step(s, e, most[:0])
}

func step(s State, e Event, out []Entry) (State, []Entry) {
	if s.Phase == PhaseSoaking && s.closed(e.TS) {
		out = append(out, s.confirm(e.TS))
	}
	switch e.Kind {
	case Serving:
		out = append(out, s.serve(e))
	case Promoted:
		out = append(out, s.promote(e))
	case Exited:
		out = append(out, s.exited(e))
	case Deploy:
		out = append(out, s.deploy(e))
	case ReadinessFailed:
		out = s.giveUp(out, e, EntryReadinessFailed)
	case Abandoned:
		out = s.giveUp(out, e, EntryAbandoned)
	case Operator:
		out = s.brake(out, e)
	}
	return s, out
}

// confirm closes the window.
func (s *State) confirm(ts uint64) Entry {
	s.becomeGood(s.Candidate)
	s.Phase = PhaseConfirmed
	return Entry{Kind: EntryConfirmed, TS: ts, Version: s.Candidate, Restarts: s.Restarts}
}

// becomeGood makes a release the one to go back to.
func (s *State) becomeGood(version string) {
	s.earlier.drop(version)
	if s.LastGood != version && s.LastGood != "" {
		s.earlier.push(s.LastGood)
	}
	s.LastGood = version
}

// serve sets the baseline. An open window is forgotten with it.
func (s *State) serve(e Event) Entry {
	s.becomeGood(e.Version)
	s.Current = e.Version
	s.Phase = PhaseServing
	return Entry{Kind: EntryServing, TS: e.TS, Version: e.Version}
}

// promote opens a window. One that was open is forgotten: its candidate has not
// become good. The same release again gets a new window with a new budget.
func (s *State) promote(e Event) Entry {
	if s.Starting == e.Version {
		s.Starting = ""
	}
	s.Candidate, s.Current = e.Version, e.Version
	s.Phase = PhaseSoaking
	s.Window = s.Policy
	s.StartMS = e.TS
	s.Restarts, s.Exits = 0, 0
	return Entry{Kind: EntryPromoted, TS: e.TS, Version: e.Version, Policy: s.Window}
}

// exited judges the death of a process.
func (s *State) exited(e Event) Entry {
	switch {
	case s.Phase == PhaseSoaking && e.Version == s.Candidate:
		return s.spend(e)
	case e.Version != s.Current:
		return Entry{Kind: EntryExited, TS: e.TS, Version: e.Version}
	case s.Phase == PhaseConfirmed:
		return Entry{Kind: EntryRestartedPostSoak, TS: e.TS, Version: e.Version}
	}
	return Entry{Kind: EntryRestarted, TS: e.TS, Version: e.Version}
}

// spend takes an exit of the candidate from its budget.
func (s *State) spend(e Event) Entry {
	s.Exits++
	if s.Exits > s.Window.MaxRestarts {
		return s.rollBack(e.TS, s.LastGood, ReasonBudget)
	}
	s.Restarts++
	return Entry{
		Kind: EntryRestarting, TS: e.TS, Version: e.Version,
		Attempt: s.Restarts, Policy: Policy{MaxRestarts: s.Window.MaxRestarts},
	}
}

// rollBack makes a good release the current one. The one that was current is no
// longer among those to go back to; only a release that is LastGood and broke the
// budget of another window of its own stays, because nothing better is known.
func (s *State) rollBack(ts uint64, to string, why Reason) Entry {
	entry := Entry{Kind: EntryRolledBack, TS: ts, Version: s.Current, To: to, Reason: why, Policy: s.Window}
	if s.Phase == PhaseSoaking {
		entry.Exits = s.Exits
	}
	if to != s.LastGood { // an operator skips those in between: they are no way back
		s.earlier.cut(to)
	}
	s.earlier.drop(s.Current)
	s.Current, s.LastGood = to, to
	s.Phase = PhaseRolledBack
	return entry
}
