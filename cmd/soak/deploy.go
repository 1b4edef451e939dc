package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/decide"
)

const deployHelp = configHelp + `
The candidate is started beside the release that serves. Once it is ready it takes
over, and its soak window opens; a candidate that does not become ready is not
promoted. The command follows it to the end of the window.

Exit status: 0 when it is confirmed (with --detach: when it took over), 1 when it was
not promoted or was rolled back, 2 when nothing was begun because an argument or the
config is wrong, or no supervisor is running.
`

func deployCommand() command {
	flags := newFlags("deploy")
	detach := flags.Bool("detach", false, "return once the candidate has taken over")
	return command{
		name: "deploy", args: "CONFIG VERSION", short: "promote a release and follow its window",
		long: deployHelp, least: 2, most: 2, flags: flags,
		run: func(s streams, args []string) int { return deploy(s, *detach, args[0], args[1]) },
	}
}

// returning is how long a supervisor that went away may take to come back.
const returning = 30 * time.Second

// deploy asks for a deploy and follows it, also beyond a change of the supervisor: the
// window goes on, so the command does.
func deploy(s streams, detach bool, path, version string) int {
	c, status := load(s, path, version)
	if status != exitOK {
		return status
	}
	if err := config.CheckVersion(version); err != nil {
		return s.fail(exitRefused, err)
	}
	ctx, cancel := interruptible()
	defer cancel()
	f := &following{version: version, detach: detach, progress: newProgress(s, version)}
	defer f.progress.end()
	q := control.Request{Do: control.DoDeploy, Version: version}
	result, err := f.ask(ctx, socketOf(c), q)
	for lost := time.Now(); err != nil && f.line > 0 && time.Since(lost) < returning && ctx.Err() == nil; {
		if errors.Is(err, control.ErrCut) {
			f.progress.say("the supervisor went away; waiting for it to come back")
			lost = time.Now()
		}
		pause(ctx, 200*time.Millisecond)
		result, err = f.ask(ctx, socketOf(c), control.Request{Do: control.DoFollow, Version: version, Line: f.line})
	}
	f.progress.end()
	if err != nil {
		if f.line > 0 && errors.Is(err, control.ErrNobody) {
			err = fmt.Errorf("the supervisor did not come back; what became of %s is in its ledger, see soak status", version)
			return s.fail(exitFailed, err)
		}
		return unreachable(s, path, err)
	}
	return finish(s, result)
}

// following is a deploy that is being followed.
type following struct {
	version  string
	detach   bool
	line     int // of the ledger, where it began; 0 until that is known
	progress *progress
}

// ask sends a request and shows what comes, until the result or, if nobody wants to
// wait longer, the promotion.
func (f *following) ask(ctx context.Context, socket string, q control.Request) (control.Result, error) {
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	var promoted *control.Result
	result, err := control.Ask(ctx, socket, q, func(r control.Reply) {
		switch {
		case r.Line > 0:
			f.line = r.Line
		case r.Status != nil:
			f.progress.status(*r.Status)
			if f.detach && r.Status.Current == f.version && r.Status.Starting != f.version {
				promoted = &control.Result{OK: true, Message: f.version + " serves, and is on probation"}
				enough()
			}
		case r.Entry != nil:
			f.entry(r.Entry.Entry)
		}
	})
	if promoted != nil {
		return *promoted, nil
	}
	return result, err
}

// entry shows a line of the ledger, in words. Those that end the deploy come again as
// its result.
func (f *following) entry(e probation.Entry) {
	switch verdict, why := decide.Judge(f.version, e); verdict {
	case decide.Confirmed, decide.Failed:
		return
	case decide.Promoted:
		f.progress.say(why)
		return
	}
	switch e.Kind {
	case probation.EntryRestarting:
		f.progress.say(fmt.Sprintf("%s died and is started again: restart %d of %d", e.Version, e.Attempt, e.Policy.MaxRestarts))
	case probation.EntryRestarted, probation.EntryRestartedPostSoak:
		f.progress.say(fmt.Sprintf("%s died and is started again", e.Version))
	case probation.EntryRolledBack:
		f.progress.say(fmt.Sprintf("%s was rolled back to %s", e.Version, e.To))
	case probation.EntryConfirmed:
		f.progress.say(e.Version + " is confirmed")
	}
}

// pause waits, but not longer than ctx.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
