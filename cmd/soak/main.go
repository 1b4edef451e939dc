// Command soak keeps a promoted release on probation until its soak window closes.
// This package has the commands, a table of them in commands.go and each in a file
// of its own; the rules are in the packages below internal/.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"ramjet.dev/ingress/internal/nearest"
)

// version is what --version says; a release build sets it with
// -ldflags "-X main.version=…".
var version = "0.1.0-dev"

// Exit statuses that all commands share, as --help lists them.
const (
	exitOK      = 0
	exitFailed  = 1 // it could not be finished: the reason is on standard error
	exitRefused = 2 // arguments or a file were refused: nothing was done or printed
)

// streams are the surroundings of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// fail says in one line why a command ends, and returns the status given.
func (s streams) fail(status int, err error) int {
	fmt.Fprintln(s.err, "soak: "+oneLine(err.Error()))
	return status
}

func main() {
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// run is main with its surroundings as arguments.
func run(args []string, s streams) int {
	name, args := split(args)
	all := commands()
	switch name {
	case "help":
		return help(s, args, all)
	case "--help", "-h":
		return write(s, helpText())
	case "--version", "version":
		return write(s, fmt.Sprintf("soak %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
	}
	i := index(all, name)
	if i < 0 {
		return unknownCommand(s, name, all)
	}
	return all[i].dispatch(s, args)
}

// index is where a command stands in the table, -1 if it does not.
func index(all []command, name string) int {
	return slices.IndexFunc(all, func(c command) bool { return c.name == name })
}

// help is soak help, or soak help COMMAND.
func help(s streams, args []string, all []command) int {
	if len(args) == 0 {
		return write(s, helpText())
	}
	i := index(all, args[0])
	if i < 0 {
		return unknownCommand(s, args[0], all)
	}
	return write(s, all[i].help())
}

// unknownCommand answers a word that is no command: with the one that was meant if that
// is about a service that runs, else with the usage line of plans, as the original does.
func unknownCommand(s streams, name string, all []command) int {
	var known []string
	for _, c := range all {
		known = append(known, c.name)
	}
	near, ok := nearest.Word(name, known)
	if !ok || near == "apply" || near == "report" {
		return wrongUse(s, planUsage)
	}
	return s.fail(exitRefused, fmt.Errorf("unknown command %s, did you mean %s? See soak --help", name, near))
}

// split takes the command out of the arguments. Flags may stand before it.
func split(args []string) (name string, rest []string) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		if !isKnob(a) {
			return a, slices.Concat(args[:i], args[i+1:])
		}
		if !strings.Contains(a, "=") {
			i++ // its value
		}
	}
	return "", args
}

// dispatch reads the flags of a command and runs it.
func (c command) dispatch(s streams, args []string) int {
	c.flags.SetOutput(io.Discard)
	c.flags.Usage = func() {}
	switch err := c.flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return write(s, c.help())
	case err != nil:
		return s.fail(exitRefused, c.explain(err))
	case c.flags.NArg() < c.least || c.flags.NArg() > c.most:
		return wrongUse(s, c.usage())
	}
	return c.run(s, c.flags.Args())
}

// explain turns a complaint of pflag into one that says what to do.
func (c command) explain(err error) error {
	var unknown *pflag.NotExistError
	var value *pflag.InvalidValueError
	switch {
	case errors.As(err, &value):
		return fmt.Errorf("--%s: %w", value.GetFlag().Name, errors.Unwrap(value))
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var known []string
		c.flags.VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		name := "--" + unknown.GetSpecifiedName()
		if near, ok := nearest.Word(name, known); ok {
			return fmt.Errorf("unknown flag %s, did you mean %s?", name, near)
		}
		return fmt.Errorf("unknown flag %s, see soak %s --help", name, c.name)
	}
	return fmt.Errorf("%w, see soak %s --help", err, c.name)
}

// wrongUse prints the line that says what the arguments should have been.
func wrongUse(s streams, usage string) int {
	fmt.Fprintln(s.err, "usage: "+usage)
	return exitRefused
}

// write prints what was asked for.
func write(s streams, text string) int {
	if _, err := io.WriteString(s.out, text); err != nil {
		return s.fail(exitFailed, fmt.Errorf("print: %w", err))
	}
	return exitOK
}

// oneLine makes a text fit for one line of a terminal.
func oneLine(text string) string {
	printable := func(r rune) bool { return strconv.IsPrint(r) }
	if !slices.ContainsFunc([]rune(text), func(r rune) bool { return !printable(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if printable(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}
