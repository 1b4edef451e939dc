package probation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ParseEntry reads one line of a ledger, without its newline. It takes what
// AppendJSON writes, to the byte, and nothing else: whatever differs was not written
// by this program, or not to its end.
func ParseEntry(line []byte) (Entry, error) {
	var in struct {
		Kind     EntryKind `json:"event"`
		TS       uint64    `json:"ts"`
		Version  string    `json:"version"`
		Reason   Reason    `json:"reason"`
		To       string    `json:"to"`
		Attempt  uint64    `json:"attempt"`
		Restarts uint64    `json:"restarts"`
		Exits    uint64    `json:"exits_in_window"`
		Max      uint64    `json:"max"`
		WindowMS uint64    `json:"window_ms"`
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return Entry{}, fmt.Errorf("no entry of a ledger: %w", err)
	}
	if _, known := fields[in.Kind]; !known {
		return Entry{}, fmt.Errorf("no entry of a ledger: unknown event %q: a newer program may have written it", in.Kind)
	}
	e := Entry{
		Kind: in.Kind, TS: in.TS, Version: in.Version, Reason: in.Reason, To: in.To,
		Attempt: in.Attempt, Restarts: in.Restarts, Exits: in.Exits,
		Policy: Policy{SoakMS: in.WindowMS, MaxRestarts: in.Max},
	}
	if want := e.String(); want != string(line) {
		return Entry{}, fmt.Errorf("no entry of a ledger: it was edited; its values would be written as %s", want)
	}
	return e, nil
}

// errForeign is an entry that the kernel would not have made.
var errForeign = errors.New("does not follow from the entries before it")

// Apply is the state after an entry of the ledger: the one in which Step left it
// when it made the entry. The knobs of a window come from the entry that opened it.
//
// An entry that Step would not have made in this state is an error; the state is
// then returned as it was.
func Apply(s State, e Entry) (State, error) {
	under := s
	if e.Kind == EntryPromoted {
		under = s.Under(e.Policy)
	}
	next, entries := Step(under, e.cause())
	if len(entries) != 1 || entries[0] != e {
		return s, fmt.Errorf("%s of %q at %d %w", e.Kind, e.Version, e.TS, errForeign)
	}
	return next, nil
}

// ParseLedger reads a whole ledger. whole is how many bytes of it are sound: what
// comes after them is a last line that was not written to its end, to be cut off
// before anything is appended. A last line that only lacks its newline is sound.
// The error names the first line that cannot be read and is not the last.
func ParseLedger(ledger []byte) (entries []Entry, whole int, err error) {
	for n := 1; whole < len(ledger); n++ {
		line, _, ended := bytes.Cut(ledger[whole:], []byte("\n"))
		e, err := ParseEntry(line)
		if err != nil {
			if !ended {
				break
			}
			return entries, whole, fmt.Errorf("line %d: %w", n, err)
		}
		entries = append(entries, e)
		whole += len(line)
		if ended {
			whole++
		}
	}
	return entries, whole, nil
}

// Replay applies entries to a new state. The error names the entry, counted from 1.
func Replay(p Policy, entries []Entry) (State, error) {
	s := New(p)
	for i, e := range entries {
		var err error
		if s, err = Apply(s, e); err != nil {
			return s, fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return s, nil
}

// cause is the event that an entry tells of.
func (e Entry) cause() Event {
	event := Event{TS: e.TS, Version: e.Version}
	switch e.Kind {
	case EntryServing:
		event.Kind = Serving
	case EntryStarting, EntryDeployRefused:
		event.Kind = Deploy
	case EntryReadinessFailed:
		event.Kind, event.Reason = ReadinessFailed, e.Reason
	case EntryAbandoned:
		event.Kind, event.Reason = Abandoned, e.Reason
	case EntryPromoted:
		event.Kind = Promoted
	case EntryRestarting, EntryRestarted, EntryRestartedPostSoak, EntryExited:
		event.Kind = Exited
	case EntryConfirmed:
		event.Kind = Tick
	case EntryRolledBack:
		event.Kind = Exited
		if e.Reason == ReasonOperator {
			event.Kind, event.Version = Operator, e.To
		}
	case EntryRollbackRefused:
		event.Kind = Operator
	}
	return event
}
