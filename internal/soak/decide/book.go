package decide

import (
	"errors"

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

	// CurrentLine is the last line that asks for a process of State.Current, and
	// ExitLine the last one that counts an exit of it, 0 if none does: a process that
	// was started for an earlier line is accounted for.
	CurrentLine, ExitLine int
	// StartingLine is the line that asks for a process of State.Starting, and
	// StartingMS its time. Both are 0 if nothing is being started.
	StartingLine int
	StartingMS   uint64
	// RolledBackMS is the time of the last rollback.
	RolledBackMS uint64
	// Idle is set while the release is stopped because its supervisor was.
	Idle bool
}

// New is the book of an empty ledger.
func New(p probation.Policy) Book { return Book{State: probation.New(p)} }

// Add is the book after one more line. An entry that does not follow from those
// before it is an error, and the book is returned as it was. A supervisor writes fewer
// things than the kernel has words for: it has one baseline, and promotes what it
// started.
func (b Book) Add(e probation.Entry) (Book, error) {
	switch {
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
	switch e.Kind {
	case probation.EntryServing:
		b.CurrentLine, b.ExitLine, b.Idle = b.Lines, 0, false
	case probation.EntryRolledBack:
		b.CurrentLine, b.ExitLine, b.Idle = b.Lines, 0, false
		b.RolledBackMS = e.TS
	case probation.EntryPromoted: // its process runs already
		b.CurrentLine, b.ExitLine, b.Idle = b.StartingLine, 0, false
	case probation.EntryRestarting, probation.EntryRestarted, probation.EntryRestartedPostSoak:
		b.CurrentLine, b.ExitLine, b.Idle = b.Lines, b.Lines, false
	case probation.EntryStarting:
		b.StartingLine, b.StartingMS = b.Lines, e.TS
	case probation.EntryStopped:
		b.Idle = true
	case probation.EntryResumed:
		b.CurrentLine, b.Idle = b.Lines, false
	}
	if next.Starting == "" {
		b.StartingLine, b.StartingMS = 0, 0
	}
	return b, nil
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
