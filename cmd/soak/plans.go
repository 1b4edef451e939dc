package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ramjet.dev/ingress/internal/probation"
	"ramjet.dev/ingress/internal/probation/plan"
)

// planUsage answers wrong arguments of the commands that read plans, and every word
// that is no command.
const planUsage = "soak apply|report PLAN"

const planHelp = `A plan has one event as JSON on each line; - reads standard input:

  {"ts":0,"event":"serving","version":"v1"}      the baseline, good by definition
  {"ts":1000,"event":"promoted","version":"v2"}  v2 takes over; its window opens
  {"ts":3000,"event":"exited","version":"v2"}    a process of v2 died
  {"ts":31000,"event":"tick"}                    time passes, as with any other event

ts is in milliseconds, an integer from 0 to 18446744073709551615. Other fields are
ignored, and empty lines are. The plan is read to its end before anything is
printed: if a line is wrong, that is all that is said, and the exit status is 2.
`

func applyCommand() command {
	policy := probation.DefaultPolicy
	return command{
		name: "apply", args: "PLAN", short: "print the ledger of a plan, one JSON object a line",
		long: planHelp, wrong: planUsage, least: 1, most: 1,
		flags: knobs("apply", &policy),
		run:   func(s streams, args []string) int { return apply(s, policy, args[0]) },
	}
}

func reportCommand() command {
	policy := probation.DefaultPolicy
	return command{
		name: "report", args: "PLAN", short: "print where a plan leaves the deploy, in seven lines",
		long: planHelp, wrong: planUsage, least: 1, most: 1,
		flags: knobs("report", &policy),
		run:   func(s streams, args []string) int { return report(s, policy, args[0]) },
	}
}

// apply prints the decisions that a plan leads to.
func apply(s streams, policy probation.Policy, path string) int {
	var out spill
	defer out.close()
	_, err := follow(s.in, policy, path, func(e probation.Entry) error {
		if !e.Kind.Decision() {
			return nil
		}
		return out.add(e)
	})
	if err == nil {
		err = out.copyTo(s.out)
	}
	switch {
	case out.failed != nil:
		return s.fail(exitFailed, out.failed)
	case err != nil:
		return s.fail(exitRefused, err)
	}
	return exitOK
}

// report prints the state that a plan leads to.
func report(s streams, policy probation.Policy, path string) int {
	state, err := follow(s.in, policy, path, func(probation.Entry) error { return nil })
	if err != nil {
		return s.fail(exitRefused, err)
	}
	return write(s, state.Report())
}

// follow feeds a plan to the kernel and hands on what it answers. The error names the
// plan, and the line if it is one that is wrong.
func follow(stdin io.Reader, policy probation.Policy, path string, each func(probation.Entry) error) (probation.State, error) {
	state := probation.New(policy)
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return state, about(path, err)
		}
		defer f.Close()
		in = f
	}
	reader := plan.NewReader(in)
	for {
		event, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return state, nil
		}
		if err != nil {
			return state, about(path, err)
		}
		var entries []probation.Entry
		state, entries = probation.Step(state, event)
		for _, e := range entries {
			if err := each(e); err != nil {
				return state, err
			}
		}
	}
}

// about puts the place in front of the reason of an error.
func about(path string, err error) error {
	var line *plan.LineError
	var file *fs.PathError
	switch {
	case errors.As(err, &line):
		return fmt.Errorf("%s:%d: %w", path, line.Line, line.Reason)
	case errors.As(err, &file):
		return fmt.Errorf("%s: %w", path, file.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// knobs are the flags that change the policy.
func knobs(name string, p *probation.Policy) *pflag.FlagSet {
	set := newFlags(name)
	set.Var((*number)(&p.SoakMS), "soak-ms", "how long a window is, in milliseconds")
	set.Var((*number)(&p.MaxRestarts), "max-restarts", "how many restarts a window grants; the next exit is one too many")
	return set
}

// isKnob reports whether an argument is a flag of knobs.
func isKnob(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return name == "--soak-ms" || name == "--max-restarts"
}

// number is a flag whose value is a whole number that is not negative.
type number uint64

func (n *number) String() string { return strconv.FormatUint(uint64(*n), 10) }
func (n *number) Type() string   { return "N" }
func (n *number) Set(text string) error {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not a whole number from 0 to 18446744073709551615", text)
	}
	*n = number(v)
	return nil
}
