package decide

import (
	"errors"
	"fmt"

	"ramjet.dev/ingress/internal/probation"
)

// Book is a ledger read to its end: where the kernel stands, and which lines ask for
// processes. The state of a supervisor changes by Add only, whether the entry was
// just written or is read again after a crash, so that both lead to the same. It is a
// value; New makes the first one.
type Book struct {
	// State is the kernel's.
	State probation.State
	// Lines is how many lines the ledger has.
	Lines int
	// LastMS is the time of the last line whose event is known. No later one has an
	// earlier time: a supervisor goes on from here, whatever its clock says.
	LastMS uint64

	// CurrentLine is the last line that asks for a process of State.Current; one that was
	// started for an earlier line and runs is kept. ExitLine is the last one that counts an
	// exit of it, or has it started anew, 0 if none does: a process of an earlier line is
	// accounted for.
	CurrentLine, ExitLine int
	// StartingLine is the line that asks for a process of State.Starting, and
	// StartingMS its time. Both are 0 if nothing is being started.
	StartingLine int
	StartingMS   uint64
	// RolledBackMS is the time of the last rollback. EndNow is set if what it took back
	// is to be stopped without waiting for what comes instead.
	RolledBackMS uint64
	EndNow       bool
	// Idle is set while the release is stopped because its supervisor was.
	Idle bool
}

// New is the book of an empty ledger.
func New(p probation.Policy) Book { return Book{State: probation.New(p)} }

// endOfTime is no time that a clock has told: it is some 285,000 years away.
const endOfTime = 1 << 53

// Add is the book after one more line. An entry that does not follow from those
// before it is an error, and the book is returned as it was. A supervisor writes fewer
// things than the kernel has words for: it has one baseline, promotes what it started,
// and its time never goes back. What a newer one may have written is not judged.
func (b Book) Add(e probation.Entry) (Book, error) {
	switch {
	case !e.Kind.Known():
	case e.TS < b.LastMS:
		return b, fmt.Errorf("ts is %d, and %d on a line before it: the time of a ledger never goes back, also when a clock is set back", e.TS, b.LastMS)
	case e.TS >= endOfTime:
		return b, fmt.Errorf("ts is %d, a time that no clock has told", e.TS)
	case e.Kind == probation.EntryServing && b.State.Current != "":
		return b, errors.New("serving is the beginning of a ledger, and comes once")
	case e.Kind == probation.EntryPromoted && e.Version != b.State.Starting:
		return b, errors.New("promoted has no starting of the same version before it")
	}
	next, err := probation.Apply(b.State, e)
	if err != nil {
		return b, err
	}
	b.State = next
	b.Lines++
	if e.Kind.Known() {
		b.LastMS = e.TS
	}
	switch e.Kind {
	case probation.EntryServing:
		b.CurrentLine, b.ExitLine, b.Idle = b.Lines, 0, false
	case probation.EntryRolledBack:
		b.CurrentLine, b.ExitLine, b.Idle = b.Lines, 0, false
		b.RolledBackMS, b.EndNow = e.TS, e.Now
		if e.Reason == probation.ReasonBudget && e.Version == e.To { // what was good died as a candidate
			b.ExitLine = b.Lines
		}
	case probation.EntryPromoted: // its process runs already
		b.EndNow = false
		b.CurrentLine, b.ExitLine, b.Idle = b.StartingLine, 0, false
	case probation.EntryRestarting, probation.EntryRestarted, probation.EntryRestartedPostSoak:
		b.CurrentLine, b.ExitLine, b.Idle = b.Lines, b.Lines, false
	case probation.EntryStarting:
		b.StartingLine, b.StartingMS = b.Lines, e.TS
	case probation.EntryStopped:
		b.Idle = true
	case probation.EntryResumed: // whatever there was was stopped
		b.CurrentLine, b.ExitLine, b.Idle = b.Lines, b.Lines, false
	}
	if next.Starting == "" {
		b.StartingLine, b.StartingMS = 0, 0
	}
	return b, nil
}

// Starts reports whether a process of a version was started for State.Starting: an older
// one of the same version says nothing about this start.
func (b Book) Starts(version string, line int) bool {
	return version != "" && version == b.State.Starting && line >= b.StartingLine
}

// accounted reports whether the death of a process of a release that is wanted is known,
// or nobody's loss.
func (b Book) accounted(version string, line int) bool {
	if version == b.State.Current {
		return line < b.ExitLine
	}
	return !b.Starts(version, line)
}

// lineFor is the line that asks for a process of a version, 0 if none does.
func (b Book) lineFor(version string) int {
	switch version {
	case b.State.Current:
		return b.CurrentLine
	case b.State.Starting:
		return b.StartingLine
	}
	return 0
}
