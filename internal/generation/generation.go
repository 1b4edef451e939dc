// Package generation holds what a compiled configuration is, the history of the
// last ones, and the pointers through which the data plane reads the one that
// serves.
//
// History is the kernel that decides: it records compiled generations, pins one,
// releases the pin, and answers each with the actions that must follow, in order.
// It publishes nothing itself. Live is where a Publish action ends: two atomic
// pointers that requests and handshakes load. Feed is the way in from the
// compiler: the latest value, never a queue.
//
// Guarantees: a pin holds back every later publish, whoever asks for it, until it
// is released, and a release goes to the newest recorded generation; a generation
// that serves can always be reached, evicted from the ring or not; certificates
// are in place before the table that names them (on publish, pin and release
// alike); an equal configuration is not published twice in a row.
//
// The package never knows HTTP, Kubernetes, files or loggers, has no clock and
// starts no goroutine.
package generation

import (
	"fmt"
	"time"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

// Compiled is one configuration ready to serve: pure data, immutable, with
// nothing to close.
type Compiled struct {
	// Number identifies the generation. Numbers of one process rise; gaps are
	// generations that were superseded before they were recorded. 0 is the only
	// generation of static mode.
	Number uint64
	// Table is what requests are matched against. Never nil.
	Table *route.Table
	// Certs holds the certificates that Table names. May be nil: none.
	Certs *certs.Set
}

// Generation is a recorded Compiled. It is immutable: when a generation that was
// held back is published after all, the history holds a new record of it.
type Generation struct {
	Compiled
	// AppliedAt is when it was recorded.
	AppliedAt time.Time
	// Published reports whether it was ever on the wire; false while a pin holds
	// it back.
	Published bool
	// Diff is what changed since the generation recorded before it, which is not
	// always the one that was serving.
	Diff route.Diff
	// Summary is Diff in one line.
	Summary string
}

// Action is something that must be done because of a decision of History.
// Actions are done in the order in which they are returned, each to its end
// before the next.
type Action interface{ action() }

// Publish asks for the generation to be put on the wire: Live.Publish.
type Publish struct{ Compiled }

// Audit asks for the event to be given to the sinks. It always stands after the
// Publish that it tells of.
type Audit struct{ Event audit.Event }

func (Publish) action() {}
func (Audit) action()   {}

// NotKeptError says that a generation cannot be pinned because the history does
// not hold it: it was evicted, or never recorded.
type NotKeptError struct {
	// Number is the generation that was asked for.
	Number uint64
}

// Error names the generation.
func (e *NotKeptError) Error() string {
	return fmt.Sprintf("generation %d is not in the history", e.Number)
}

// AlreadyPinnedError says that a pin is held already, by the generation that was
// asked for or by another. It must be released first.
type AlreadyPinnedError struct {
	// Pinned is the generation that holds the pin.
	Pinned uint64
}

// Error names the generation that is pinned.
func (e *AlreadyPinnedError) Error() string {
	return fmt.Sprintf("generation %d is already pinned: release it first", e.Pinned)
}
