package probation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// ParseEntry reads one line of a ledger, without its newline. What a newer program
// may have added is taken: members that are unknown are passed over, and an event
// that is unknown becomes an entry that leaves every state as it is. A member that is
// known and not there is an error: no default stands for it, or a window whose length
// was cut out would be one of no length. Whether the values are those that the kernel
// would have written is for Apply to say.
func ParseEntry(line []byte) (Entry, error) {
	if !utf8.Valid(line) {
		// encoding/json would put another character there, and another release.
		return Entry{}, errors.New("no entry of a ledger: the line is not UTF-8")
	}
	var in struct {
		Kind     EntryKind `json:"event"`
		TS       *uint64   `json:"ts"`
		Version  *string   `json:"version"`
		Reason   *Reason   `json:"reason"`
		From     *string   `json:"from"`
		To       *string   `json:"to"`
		Attempt  *uint64   `json:"attempt"`
		Restarts *uint64   `json:"restarts"`
		Now      bool      `json:"now"` // absent in most
		Exits    *uint64   `json:"exits_in_window"`
		Max      *uint64   `json:"max"`
		WindowMS *uint64   `json:"window_ms"`
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return Entry{}, fmt.Errorf("no entry of a ledger: %w", plain(err))
	}
	if in.Kind == "" || in.TS == nil {
		return Entry{}, errors.New("no entry of a ledger: event or ts is missing")
	}
	e := Entry{Kind: in.Kind, TS: *in.TS}
	has, known := fields[in.Kind]
	var missing string
	take(&e.Version, in.Version, known, "version", &missing)
	take(&e.Reason, in.Reason, has&hasReason != 0, "reason", &missing)
	take(&e.To, in.To, has&hasRollback != 0, "to", &missing)
	take(&e.Now, &in.Now, has&hasRollback != 0, "now", &missing)
	take(&e.Exits, in.Exits, has&hasRollback != 0, "exits_in_window", &missing)
	take(&e.Attempt, in.Attempt, has&hasAttempt != 0, "attempt", &missing)
	take(&e.Restarts, in.Restarts, has&hasRestarts != 0, "restarts", &missing)
	take(&e.Policy.MaxRestarts, in.Max, has&hasMax != 0, "max", &missing)
	take(&e.Policy.SoakMS, in.WindowMS, has&hasWindow != 0, "window_ms", &missing)
	var from string
	take(&from, in.From, has&hasRollback != 0, "from", &missing)
	switch {
	case missing != "":
		return Entry{}, fmt.Errorf("%s has no %s", e.Kind, missing)
	case has&hasRollback != 0 && from != e.Version:
		return Entry{}, fmt.Errorf("%s is of %q and from %q: one has been changed", e.Kind, e.Version, from)
	case !known && in.Version != nil:
		e.Version = *in.Version
	}
	return e, nil
}

// plain says what JSON would have been right where encoding/json names a type of Go.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Field == "" {
		return fmt.Errorf("the line is JSON, and not an object but a value of the kind %s", wrong.Value)
	}
	want := "a text"
	switch wrong.Type.Kind() {
	case reflect.Uint64:
		want = "a whole number from 0 to 18446744073709551615"
	case reflect.Bool:
		want = "true or false"
	}
	return fmt.Errorf("%s has the value %s and must have %s", wrong.Field, wrong.Value, want)
}

// take sets a field to a member that its kind of entry has; missing becomes the name
// of one that is not there.
func take[T any](field, member *T, has bool, name string, missing *string) {
	switch {
	case !has:
	case member == nil:
		*missing = name
	default:
		*field = *member
	}
}

// errForeign is an entry that the kernel would not have made.
var errForeign = errors.New("does not follow from the entries before it")

// Apply is the state after an entry of the ledger: the one in which Step left it
// when it made the entry. The knobs of a window come from the entry that opened it.
//
// An entry that Step would not have made in this state is an error; the state is
// then returned as it was. Notes, and entries of a kind that is unknown, change
// nothing: not even time passes with them, or the window would close unwritten.
func Apply(s State, e Entry) (State, error) {
	if !e.Kind.Known() || e.Kind.note() {
		return s, nil
	}
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
			event.Kind, event.Version, event.Now = Operator, e.To, e.Now
		}
	case EntryRollbackRefused:
		event.Kind = Operator
	}
	return event
}
