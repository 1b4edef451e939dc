// Package decide says what a supervisor does next, given what its ledger says and
// which processes it has. It is a function: the supervisor calls it after everything
// that happens, carries out the answer, and calls it again.
//
// Guarantees: of each version there is one process at most; no process is started
// but for the current release and the one being started, so a candidate that was
// rolled back stays down; a release that serves is stopped only once the current one
// is ready; nothing is asked for that no line of the ledger stands for.
//
// It never knows what a process is, what time it is, or how a ledger is written.
package decide

import "ramjet.dev/ingress/internal/probation"

// Phase is how far a process has come.
type Phase uint8

// The phases.
const (
	Starting Phase = iota // it runs and has not been seen ready
	Ready                 // it was ready once
	Stopping              // it was asked to stop
	Gone                  // it died unasked, and the ledger does not know yet
)

// String is the phase as a status shows it.
func (p Phase) String() string {
	switch p {
	case Starting:
		return "starting"
	case Ready:
		return "ready"
	case Stopping:
		return "stopping"
	case Gone:
		return "gone"
	}
	return "unknown"
}

// Process is one process of a release.
type Process struct {
	// Line is the line of the ledger that asked for it. No two processes have the
	// same, so it names the process.
	Line    int
	Version string
	Port    int
	Phase   Phase
	// Counted is set when the ledger counts it as dead although it runs: it was not
	// ready in time, and is to be stopped.
	Counted bool
	// StartedMS, ReadyMS and GoneMS are milliseconds since the epoch.
	StartedMS, ReadyMS, GoneMS uint64
}

// World is all that matters for the next move.
type World struct {
	Book      Book
	Processes []Process

	// Ports are those that releases may listen on.
	Ports []int
	// DeadlineMS is how long a release may take from its start until it is ready.
	DeadlineMS uint64
	// OverlapMS is how long what served before serves on once the current release is
	// ready: a request may have found the new one not yet there.
	OverlapMS uint64
	// NotBeforeMS is when the current release may be started again.
	NotBeforeMS uint64

	// Closing is set once the supervisor was asked to stop.
	Closing bool
	// Abandon is why the release that is being started is to be given up, "" if it is
	// not.
	Abandon probation.Reason
}

// Move is what comes next. Event and Note exclude everything else: they change the
// book, and the rest depends on it.
type Move struct {
	// Event is to be put to the kernel, and what it says to be written.
	Event *probation.Event
	// Of is the process that the event is about, by its line; 0 = none.
	Of int
	// Note is to be written.
	Note *probation.Entry

	// Start are releases to start, Stop processes to ask to stop, by their lines.
	Start []Start
	Stop  []int
	// WakeMS is when to ask again if nothing happens before; 0 = never.
	WakeMS uint64
	// Done is set when the supervisor may end.
	Done bool
}

// Start is a process to start.
type Start struct {
	Line    int
	Version string
	Port    int
}

// of returns the process of a version that stands for it: it was not asked to stop
// and is not counted as dead.
func (w World) of(version string) (Process, bool) {
	for _, p := range w.Processes {
		if p.Version == version && version != "" && !p.Counted && (p.Phase == Starting || p.Phase == Ready) {
			return p, true
		}
	}
	return Process{}, false
}

// exists reports whether there is any process of a version.
func (w World) exists(version string) bool {
	for _, p := range w.Processes {
		if p.Version == version {
			return true
		}
	}
	return false
}
