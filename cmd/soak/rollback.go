package main

import (
	"fmt"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/control"
)

const rollbackHelp = configHelp + `
While a release is being started: it is given up. While a window is open: the
candidate's probation ends, and the last good release comes back. After that: the
release that was confirmed before the current one comes back, or the one that is
named; it needs no new probation. Releases that were rolled back, or never confirmed,
are refused.

What serves is stopped only once what comes instead is ready; --now does not wait for
that. The command returns when the release that was gone back to is ready: with
status 0; with 1 if it does not come up (it is tried again) or the rollback was refused.
`

func rollbackCommand() command {
	flags := newFlags("rollback")
	now := flags.Bool("now", false, "stop what serves at once, whether or not the other one is ready")
	return command{
		name: "rollback", args: "CONFIG [VERSION]", short: "the brake: go back to a confirmed release",
		long: rollbackHelp, least: 1, most: 2, flags: flags,
		run: func(s streams, args []string) int { return rollback(s, *now, args) },
	}
}

func rollback(s streams, now bool, args []string) int {
	c, status := load(s, args[0], args[1:]...)
	if status != exitOK {
		return status
	}
	q := control.Request{Do: control.DoRollback, Now: now}
	if len(args) > 1 {
		q.Version = args[1]
	}
	ctx, cancel := interruptible()
	defer cancel()
	result, err := control.Ask(ctx, socketOf(c), q, func(r control.Reply) {
		if r.Entry != nil && r.Entry.Kind == probation.EntryRolledBack {
			fmt.Fprintf(s.out, "%s is rolled back to %s, which is being started\n", r.Entry.Version, r.Entry.To)
		}
	})
	if err != nil {
		return unreachable(s, args[0], err)
	}
	return finish(s, result)
}
