package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
	"ramjet.dev/ingress/internal/soak/ledger"
	"ramjet.dev/ingress/internal/soak/supervise"
)

const statusHelp = configHelp + `
Without a supervisor it says what the ledger says, and the exit status is 1.
`

func statusCommand() command {
	flags := newFlags("status")
	asJSON := flags.Bool("json", false, "print one JSON object")
	return command{
		name: "status", args: "CONFIG", short: "print which release serves, and how its window stands",
		long: statusHelp, least: 1, most: 1, flags: flags,
		run: func(s streams, args []string) int { return status(s, *asJSON, args[0], statusPatience) },
	}
}

// statusPatience is how long a supervisor may take to say how things stand. It answers at
// once, unless it is stopped, or its disk is.
const statusPatience = 10 * time.Second

func status(s streams, asJSON bool, path string, patience time.Duration) int {
	c, code := load(s, path)
	if code != exitOK {
		return code
	}
	ctx, cancel := interruptible()
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, patience)
	defer cancel()
	var st control.Status
	result, err := control.Ask(ctx, socketOf(c), control.Request{Do: control.DoStatus}, func(r control.Reply) {
		if r.Status != nil {
			st = *r.Status
		}
	})
	switch {
	case errors.Is(err, control.ErrNobody):
		code = exitFailed
		if st, err = written(c); err != nil {
			return s.fail(exitFailed, err)
		}
	case errors.Is(err, context.DeadlineExceeded):
		return s.fail(exitFailed, fmt.Errorf("the supervisor does not answer, for %s now: it is stopped, or waits for its disk; soak ledger %s has what it wrote", patience, path))
	case err != nil:
		return unreachable(s, path, err)
	case !result.OK:
		return finish(s, result)
	}
	if asJSON {
		if err := json.NewEncoder(s.out).Encode(st); err != nil {
			return s.fail(exitFailed, fmt.Errorf("print: %w", err))
		}
		return code
	}
	if err := printStatus(s.out, st); err != nil {
		return s.fail(exitFailed, fmt.Errorf("print: %w", err))
	}
	return code
}

// written is the status that the ledger of a config says, without a supervisor.
func written(c *config.Config) (st control.Status, err error) {
	path := filepath.Join(c.StateDir, supervise.LedgerName)
	contents, err := ledger.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return st, fmt.Errorf("no supervisor is running, and there is no ledger in %s: start one with soak run", c.StateDir)
	}
	if err != nil {
		return st, err
	}
	book, err := supervise.Replay(path, contents, probation.DefaultPolicy)
	if err != nil {
		return st, err
	}
	st.Describe(book.State, uint64(max(time.Now().UnixMilli(), 0)))
	st.LedgerLines, st.Processes = book.Lines, []control.Process{}
	return st, nil
}

func printStatus(w io.Writer, st control.Status) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(name, text string) { fmt.Fprintf(t, "%s\t%s\n", name, text) }
	if st.Running {
		row("supervisor", fmt.Sprintf("process %d", st.PID))
	} else {
		row("supervisor", "none is running; this is what the ledger says")
	}
	row("state", stateText(st))
	row("current", orNone(st.Current))
	row("last good", orNone(st.LastGood))
	row("earlier", orNone(strings.Join(st.Earlier, ", ")))
	if st.Starting != "" {
		row("starting", st.Starting)
	}
	for _, p := range st.Processes {
		row("process", fmt.Sprintf("%s  pid %d  port %d  %s", p.Version, p.PID, p.Port, p.Phase))
	}
	row("ledger", lines(st.LedgerLines))
	if st.LedgerError != "" {
		row("ledger error", st.LedgerError)
	}
	_ = t.Flush() // into memory
	_, err := io.WriteString(w, b.String())
	return err
}

func stateText(st control.Status) string {
	ms := func(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }
	switch st.State {
	case "soaking":
		left := ms(st.WindowLeftMS).Round(100 * time.Millisecond)
		return fmt.Sprintf("soaking: %s is on probation, %s of %s left, %d of %d restarts used", st.Candidate, left, ms(st.WindowMS), st.Restarts, st.MaxRestarts)
	case "rolled_back":
		return fmt.Sprintf("rolled_back: %s is back, %s was the last candidate", st.Current, orNone(st.Candidate))
	case "serving":
		return "serving: the baseline, nothing was promoted since"
	}
	return st.State
}

func lines(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
