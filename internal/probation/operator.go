package probation

// deploy begins to start a release, one at a time.
func (s *State) deploy(e Event) Entry {
	if s.Starting != "" {
		return Entry{Kind: EntryDeployRefused, TS: e.TS, Version: e.Version, Reason: ReasonBusy}
	}
	s.Starting = e.Version
	return Entry{Kind: EntryStarting, TS: e.TS, Version: e.Version}
}

// giveUp ends the start of a release. Of a release that is not being started there
// is nothing to say.
func (s *State) giveUp(out []Entry, e Event, kind EntryKind) []Entry {
	if s.Starting == "" || s.Starting != e.Version {
		return out
	}
	s.Starting = ""
	return append(out, Entry{Kind: kind, TS: e.TS, Version: e.Version, Reason: e.Reason})
}

// brake does what an operator wants: away from what is new. A release that is being
// started is given up, an open window is ended. Only where there is neither is an
// unnamed release the one before the current.
func (s *State) brake(out []Entry, e Event) []Entry {
	starting := s.Starting
	if starting != "" && s.Phase != PhaseSoaking && (e.Version == "" || e.Version == s.Current) {
		return s.giveUp(out, Event{TS: e.TS, Version: starting, Reason: ReasonOperator}, EntryAbandoned)
	}
	to, refused := s.target(e.Version)
	if refused != "" {
		return append(out, Entry{Kind: EntryRollbackRefused, TS: e.TS, Version: e.Version, Reason: refused})
	}
	out = s.giveUp(out, Event{TS: e.TS, Version: starting, Reason: ReasonOperator}, EntryAbandoned)
	entry := s.rollBack(e.TS, to, ReasonOperator)
	entry.Now = e.Now
	return append(out, entry)
}

// target is the release to go back to when an operator names wanted, or none; or
// why there is none.
//
// After a rollback an unnamed release is refused: the operator and the kernel may
// have acted in the same second, and two steps back were not what either meant.
func (s *State) target(wanted string) (to string, refused Reason) {
	switch {
	case s.Phase == PhaseSoaking && (wanted == "" || wanted == s.LastGood):
		if s.LastGood == "" {
			return "", ReasonNoneEarlier
		}
		return s.LastGood, ""
	case wanted == "" && s.Phase == PhaseRolledBack:
		return "", ReasonIsRolledBack
	case wanted == "" && s.earlier.n == 0:
		return "", ReasonNoneEarlier
	case wanted == "":
		return s.earlier.names[0], ""
	case wanted == s.Current: // also of a candidate that was good before: it is on probation
		return "", ReasonIsCurrent
	case s.earlier.index(wanted) < 0:
		return "", ReasonNotGood
	}
	return wanted, ""
}
