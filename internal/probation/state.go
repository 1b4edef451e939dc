package probation

import (
	"fmt"
	"math"
)

// Policy is the two knobs. Zero values mean what they say: a window of 0 ms is
// closed by the next event, and with 0 restarts the first exit breaks the budget.
type Policy struct {
	SoakMS      uint64 // how long a window is, in milliseconds
	MaxRestarts uint64 // how many restarts a window grants; the next exit is one too many
}

// DefaultPolicy is a window of 30 seconds with two restarts.
var DefaultPolicy = Policy{SoakMS: 30_000, MaxRestarts: 2}

// Phase says where a deploy stands.
type Phase uint8

// The phases.
const (
	PhaseServing    Phase = iota // the baseline serves; nothing was promoted since
	PhaseSoaking                 // the candidate is current, and its window is open
	PhaseConfirmed               // the window of the candidate closed: it is good
	PhaseRolledBack              // the candidate, or its successor as the current one, was taken back
)

// String is the phase as reports and status write it.
func (p Phase) String() string {
	switch p {
	case PhaseServing:
		return "serving"
	case PhaseSoaking:
		return "soaking"
	case PhaseConfirmed:
		return "confirmed"
	case PhaseRolledBack:
		return "rolled_back"
	}
	return fmt.Sprintf("Phase(%d)", uint8(p))
}

// State is all that the kernel knows. It is a value: copies are independent, and
// two states are the same if == says so. New makes the first one; after that only
// Step, Apply and Under do.
type State struct {
	Policy    Policy // of the next window
	Window    Policy // of the open window, or of the last one that was
	Phase     Phase
	Current   string // the release that serves; "" before the first
	LastGood  string // the release to go back to; "" if there is none
	Candidate string // the release that was promoted last, whatever became of it
	Starting  string // the release that is being started and is not promoted yet; "" if none
	StartMS   uint64 // when Candidate was promoted, in milliseconds since the epoch
	Restarts  uint64 // how often Candidate was started again in its window
	Exits     uint64 // how often it died in its window

	earlier history
}

// New is the state before the first event.
func New(p Policy) State { return State{Policy: p} }

// Under is the state with other knobs for the next window. An open window keeps those
// it was opened with: a candidate is judged by the rules it started under.
func (s State) Under(p Policy) State {
	s.Policy = p
	return s
}

// LeftMS is how many milliseconds after nowMS the window closes: 0 if it is over or
// none is open, the largest number if it closes later than time can be counted.
func (s State) LeftMS(nowMS uint64) uint64 {
	if s.Phase != PhaseSoaking || s.closed(nowMS) {
		return 0
	}
	if nowMS < s.StartMS { // the clock was set back
		ahead := s.StartMS - nowMS
		if s.Window.SoakMS > math.MaxUint64-ahead {
			return math.MaxUint64
		}
		return ahead + s.Window.SoakMS
	}
	return s.Window.SoakMS - (nowMS - s.StartMS)
}

// closed reports whether tsMS is at or past the end of the window. The end itself
// is never computed, since it may lie beyond the largest number.
func (s State) closed(tsMS uint64) bool {
	return tsMS >= s.StartMS && tsMS-s.StartMS >= s.Window.SoakMS
}

// Earlier lists the releases that an operator can go back to behind LastGood, the
// newest first: they were good before it, and none was rolled back since. The list
// is the caller's. It ends after the last few.
func (s State) Earlier() []string { return s.earlier.list() }

// Report is the state in seven lines, as soak report prints it.
func (s State) Report() string {
	return fmt.Sprintf("soak_ms: %d\nmax_restarts: %d\ncurrent: %s\nlast_good: %s\ncandidate: %s\ncandidate.restarts: %d\ndeploy: %s\n",
		s.Policy.SoakMS, s.Policy.MaxRestarts, s.Current, s.LastGood, s.Candidate, s.Restarts, s.Phase)
}
