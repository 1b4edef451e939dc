// Package supervise is the supervisor of one service: the loop that feeds the kernel
// with what happens, writes down what it decides, and carries it out.
//
// Guarantees: what is done is in the ledger first, on the disk; its state is what the
// ledger says and nothing else, so that a successor of a supervisor that was killed
// stands where it stood; a process that runs is taken over and not started a second
// time; while the ledger cannot be written nothing is begun, and what serves keeps
// running.
//
// It never knows by which rules a release is good (that is probation) or what the
// next move is (decide).
//
// It is for Linux, as process is. What a ledger says can be read everywhere.
package supervise

import (
	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/decide"
	"ramjet.dev/ingress/internal/soak/ledger"
)

// LedgerName is the ledger in the state folder.
const LedgerName = "ledger.jsonl"

// Replay is the book of a ledger; p holds for the next window. The error is a
// ledger.Error.
func Replay(path string, c ledger.Contents, p probation.Policy) (decide.Book, error) {
	book := decide.New(p)
	for i, e := range c.Entries {
		err := nameable(e)
		if err == nil {
			book, err = book.Add(e)
		}
		if err != nil {
			return book, ledger.Error{Path: path, Line: i + 1, Err: err}
		}
	}
	book.State = book.State.Under(p)
	return book, nil
}

// nameable reports an entry by which a release would be started whose name may not be
// in commands and paths.
func nameable(e probation.Entry) error {
	if e.Kind == probation.EntryServing || e.Kind == probation.EntryStarting {
		return config.CheckVersion(e.Version)
	}
	return nil
}
