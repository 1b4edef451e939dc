//go:build linux

package supervise

import (
	"context"
	"fmt"
	"os"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/decide"
	"ramjet.dev/ingress/internal/soak/ledger"
)

// followerBuffer is how many updates a client may be behind before it is let go.
const followerBuffer = 256

// follower is a client that is told of every entry and every change of the status.
type follower struct {
	updates chan control.Reply // closed when it is let go
}

// handle answers a request.
func (s *supervisor) handle(ctx context.Context, q control.Request, send func(control.Reply) error) control.Result {
	switch q.Do {
	case control.DoStatus:
		st, ok := ask(s, s.status)
		if !ok {
			return control.Result{Message: errEnding.Error()}
		}
		_ = send(control.Reply{Status: &st}) // it may be gone
		return control.Result{OK: true}
	case control.DoDeploy, control.DoFollow:
		if err := config.CheckVersion(q.Version); err != nil {
			return control.Result{Message: err.Error()}
		}
		return s.deploy(ctx, q, send)
	case control.DoRollback:
		if q.Version != "" {
			if err := config.CheckVersion(q.Version); err != nil {
				return control.Result{Message: err.Error()}
			}
		}
		return s.rollback(ctx, q, send)
	}
	return control.Result{Message: fmt.Sprintf("%q is not known here: is soak newer than its supervisor?", q.Do)}
}

// ask has the loop answer a question; false if it has ended.
func ask[T any](s *supervisor, question func() T) (answer T, ok bool) {
	answered := make(chan T, 1)
	s.post(func() { answered <- question() })
	select {
	case answer = <-answered:
		return answer, true
	case <-s.ended:
		return answer, false
	}
}

// beginning is what the loop says to a request that is followed.
type beginning struct {
	f       *follower
	line    int               // the entry that it began with
	past    []probation.Entry // what was written since, for one that comes later
	already string            // it has come about already
	refused string
}

// deploy begins a deploy, or finds one that is under way, and follows it.
func (s *supervisor) deploy(ctx context.Context, q control.Request, send func(control.Reply) error) control.Result {
	b, ok := ask(s, func() beginning {
		if q.Do == control.DoFollow {
			return s.beginAgain(q.Line)
		}
		return s.begin(q.Version)
	})
	switch {
	case !ok:
		return control.Result{Message: errEnding.Error()}
	case b.refused != "":
		return control.Result{Message: b.refused}
	case b.already != "":
		return control.Result{OK: true, Message: b.already}
	}
	defer s.post(func() { s.drop(b.f) })
	if err := send(control.Reply{Line: b.line}); err != nil {
		return control.Result{}
	}
	for _, e := range b.past {
		if v, why := decide.Judge(q.Version, e); v == decide.Confirmed || v == decide.Failed {
			return control.Result{OK: v == decide.Confirmed, Message: why}
		}
		if send(control.Reply{Entry: &control.Entry{Entry: e}}) != nil {
			return control.Result{}
		}
	}
	return follow(ctx, b.f, send, func(r control.Reply) *control.Result {
		if st := r.Status; st != nil && st.LedgerError != "" && st.Starting == q.Version { // it is given up
			return &control.Result{Message: fmt.Sprintf("%s is not deployed: %s; %s serves on", q.Version, st.LedgerError, st.Current)}
		}
		if r.Entry == nil {
			return nil
		}
		switch v, why := decide.Judge(q.Version, r.Entry.Entry); v {
		case decide.Confirmed, decide.Failed:
			return &control.Result{OK: v == decide.Confirmed, Message: why}
		}
		return nil
	})
}

// begin puts a deploy to the kernel, unless the release is under way already: asking
// twice is then the same as asking once.
func (s *supervisor) begin(version string) beginning {
	if s.closing {
		return beginning{refused: errEnding.Error()}
	}
	if _, err := s.news(); err != nil {
		return beginning{refused: notDeployed(version, err)}
	}
	k := s.book.State
	switch {
	case version == k.Starting:
		return beginning{f: s.follow(), line: s.book.StartingLine}
	case version == k.Current && k.Phase == probation.PhaseSoaking:
		return beginning{f: s.follow(), line: s.book.Lines}
	case version == k.Current && k.Starting != "":
		return beginning{refused: fmt.Sprintf("%s serves already, and %s is being started to take its place; to keep %s, end that with soak rollback", version, k.Starting, version)}
	case version == k.Current:
		return beginning{already: version + " serves already, and is confirmed"}
	}
	if err := startable(s.Config, version); err != nil {
		return beginning{refused: notDeployed(version, err)}
	}
	entries, err := s.tell(probation.Event{TS: s.clock.now(), Kind: probation.Deploy, Version: version})
	if err != nil {
		return beginning{refused: notDeployed(version, err)}
	}
	if refused := decide.Refusal(k, entries[len(entries)-1]); refused != "" {
		return beginning{refused: refused}
	}
	return beginning{f: s.follow(), line: s.book.Lines}
}

func notDeployed(version string, err error) string {
	return fmt.Sprintf("%s is not deployed: %v", version, err)
}

// beginAgain follows from a line on: that is in the file, which is read again.
func (s *supervisor) beginAgain(line int) beginning {
	c, err := ledger.Read(s.path(LedgerName))
	if err != nil {
		return beginning{refused: err.Error()}
	}
	if line < 1 || line > len(c.Entries) {
		return beginning{refused: fmt.Sprintf("the ledger has no line %d", line)}
	}
	return beginning{f: s.follow(), line: line, past: c.Entries[line:]}
}

// rollback pulls the brake and waits until what is gone back to is ready.
func (s *supervisor) rollback(ctx context.Context, q control.Request, send func(control.Reply) error) control.Result {
	b, ok := ask(s, func() beginning { return s.brake(q) })
	switch {
	case !ok:
		return control.Result{Message: errEnding.Error()}
	case b.refused != "":
		return control.Result{Message: b.refused}
	case b.already != "":
		return control.Result{OK: true, Message: b.already}
	}
	defer s.post(func() { s.drop(b.f) })
	for _, e := range b.past {
		if send(control.Reply{Entry: &control.Entry{Entry: e}}) != nil {
			return control.Result{}
		}
	}
	to := b.past[len(b.past)-1].To
	return follow(ctx, b.f, send, func(r control.Reply) *control.Result {
		switch {
		case r.Entry != nil && (r.Entry.Kind == probation.EntryRestarted || r.Entry.Kind == probation.EntryStopped):
			message := to + " was gone back to, and does not come up: it is tried again, see soak status"
			if err := startable(s.Config, to); err != nil {
				message += ": " + err.Error()
			}
			return &control.Result{Message: message}
		case r.Status == nil:
			return nil
		case r.Status.Current != to:
			return &control.Result{Message: "meanwhile something else took over: " + r.Status.Current}
		}
		return returned(*r.Status, to)
	})
}

// returned is the result of a rollback once the release that was gone back to is ready,
// or has ended and that cannot be written.
func returned(st control.Status, to string) *control.Result {
	comes := false
	for _, p := range st.Processes {
		if p.Version == to && p.Phase == decide.Ready.String() {
			return &control.Result{OK: true, Message: to + " is ready and serves"}
		}
		comes = comes || p.Version == to && p.Phase == decide.Starting.String()
	}
	if !comes && st.LedgerError != "" {
		return &control.Result{Message: fmt.Sprintf("%s was gone back to and does not run, and it is not started before there is a line for it: %s", to, st.LedgerError)}
	}
	return nil
}

// brake puts the will of an operator to the kernel.
func (s *supervisor) brake(q control.Request) beginning {
	if s.closing {
		return beginning{refused: errEnding.Error()}
	}
	_, err := s.news()
	before := s.book.State
	var entries []probation.Entry
	if err == nil {
		entries, err = s.tell(probation.Event{TS: s.clock.now(), Kind: probation.Operator, Version: q.Version, Now: q.Now})
	}
	if err != nil {
		return beginning{refused: fmt.Sprintf("not rolled back: %v", err)}
	}
	last := entries[len(entries)-1]
	if refused := decide.Refusal(before, last); refused != "" {
		return beginning{refused: refused}
	}
	if last.Kind == probation.EntryAbandoned {
		return beginning{already: fmt.Sprintf("%s is not deployed: it was being started; %s still serves", last.Version, s.book.State.Current)}
	}
	return beginning{f: s.follow(), past: entries}
}

// follow hands updates on until one of them brings the result. When the supervisor
// ends, what it has done to its last line is still handed on; without a result then,
// there is none: a successor has it.
func follow(ctx context.Context, f *follower, send func(control.Reply) error, result func(control.Reply) *control.Result) control.Result {
	for {
		var r control.Reply
		var ok bool
		select {
		case r, ok = <-f.updates:
		case <-ctx.Done():
			select {
			case r, ok = <-f.updates:
			default:
				return control.Result{}
			}
		}
		if !ok {
			return control.Result{Message: "this client did not read fast enough: see soak status"}
		}
		if end := result(r); end != nil {
			_ = send(r) // the result follows, and fails if this does
			return *end
		}
		if send(r) != nil {
			return control.Result{}
		}
	}
}

// follow adds a follower, which begins with the status.
func (s *supervisor) follow() *follower {
	f := &follower{updates: make(chan control.Reply, followerBuffer)}
	s.followers[f] = true
	st := s.status()
	f.updates <- control.Reply{Status: &st}
	return f
}

func (s *supervisor) drop(f *follower) { delete(s.followers, f) }

// tellFollowers passes an entry on.
func (s *supervisor) tellFollowers(e probation.Entry) {
	s.update(control.Reply{Entry: &control.Entry{Entry: e}})
}

// publish passes the status on.
func (s *supervisor) publish() {
	if len(s.followers) > 0 {
		st := s.status()
		s.update(control.Reply{Status: &st})
	}
}

// update never waits: a client that does not read is let go.
func (s *supervisor) update(r control.Reply) {
	for f := range s.followers {
		select {
		case f.updates <- r:
		default:
			close(f.updates)
			delete(s.followers, f)
		}
	}
}

// status is how things stand.
func (s *supervisor) status() control.Status {
	st := control.Status{Running: true, PID: os.Getpid(), LedgerLines: s.book.Lines, Processes: []control.Process{}}
	st.Describe(s.book.State, s.clock.now())
	if s.writeError != nil {
		st.LedgerError = s.writeError.Error()
	}
	for _, line := range s.lines() {
		if r := s.running[line]; r.process != nil {
			st.Processes = append(st.Processes, control.Process{Version: r.Version, Line: line, PID: r.process.ID.PID, Port: r.Port, Phase: r.Phase.String()})
		}
	}
	return st
}
