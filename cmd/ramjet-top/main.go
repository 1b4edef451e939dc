// Command ramjet-top is a terminal cockpit for one daemon or all its replicas. This
// package reads flags and wires a terminal to internal/top; what is shown is decided
// there.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"github.com/charmbracelet/x/term"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top"
	"ramjet.dev/ingress/internal/top/tally"
)

// Exit statuses, as --help lists them.
const (
	exitOK          = 0
	exitUnreachable = 1 // a daemon did not answer, the terminal broke, or the program had a fault
	exitRefused     = 2 // a flag, a variable or the terminal was refused: nothing was asked
)

// version is what --version says; a release build sets it with
// -ldflags "-X main.version=…".
var version = "0.1.0-dev"

func main() {
	os.Exit(run(os.Args[1:], os.LookupEnv, os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments.
func run(args []string, getenv func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	c, err := parseFlags(args, getenv)
	if err == nil && !c.help && !c.version {
		err = c.prepare(stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "ramjet-top:", err)
		return exitRefused
	case c.help:
		fmt.Fprint(stdout, helpText)
		return exitOK
	case c.version:
		fmt.Fprintf(stdout, "ramjet-top %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return exitOK
	}
	clock := newClock()
	var clients []*adminclient.Client
	for _, t := range c.targets {
		client := adminclient.New(adminclient.Options{Target: t, Token: c.token, Now: clock.elapsed, Raw: c.json})
		defer client.Close()
		clients = append(clients, client)
	}
	if c.once || c.json {
		return once(c, clients, stdout, stderr)
	}
	return watch(c, clients, clock, stdin, stdout, stderr)
}

// prepare reads the token and looks whether there is a terminal where one is needed.
func (c *config) prepare(stdout io.Writer) (err error) {
	if !c.once && !c.json {
		if !isTerminal(stdout) {
			return errors.New("standard output is no terminal: use --once for a table or --json for the numbers")
		}
	}
	if c.tokenFile == "" {
		return nil
	}
	if c.token, err = admin.LoadToken(c.tokenFile); err != nil {
		return fmt.Errorf("%s: %w", c.tokenSource, err)
	}
	return nil
}

func isTerminal(stream any) bool {
	f, ok := stream.(term.File)
	return ok && term.IsTerminal(f.Fd())
}

// watch shows the cockpit until somebody leaves it.
func watch(c config, clients []*adminclient.Client, clock *clock, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := top.Options{Interval: c.interval, ReadOnly: c.readOnly, TokenFile: c.tokenFile, Clock: clock}
	for _, client := range clients {
		o.Sources = append(o.Sources, client)
	}
	if !isTerminal(stdin) {
		stdin = nil // keys are wanted, not what a pipe holds
	}
	m := top.New(ctx, o)
	if err := top.Run(ctx, m, stdin, stdout, os.Environ()); err != nil {
		fmt.Fprintln(stderr, "ramjet-top:", err)
		if errors.Is(err, top.ErrFault) || m.Asked() {
			return exitUnreachable
		}
		return exitRefused
	}
	if !m.Answered() {
		return exitUnreachable
	}
	return exitOK
}

// once asks each daemon a single time and writes what it says.
func once(c config, clients []*adminclient.Client, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	readings := make([]*adminclient.Reading, len(clients))
	errs := make([]error, len(clients))
	var asked sync.WaitGroup
	for i, client := range clients {
		asked.Go(func() { readings[i], errs[i] = client.Read(ctx) })
	}
	asked.Wait()
	status := exitOK
	var all []*adminclient.Reading
	for i, err := range errs {
		if err != nil {
			fmt.Fprintf(stderr, "ramjet-top: %v: is the daemon up, and is this its --admin port?\n", err)
			status = exitUnreachable
			continue
		}
		all = append(all, readings[i])
		if c.json {
			if _, err := stdout.Write(tally.JSON(clients[i].Target().Name, readings[i])); err != nil {
				return unwritten(stderr, err)
			}
		}
	}
	if !c.json && len(all) > 0 {
		if _, err := io.WriteString(stdout, tally.Table(all)); err != nil {
			return unwritten(stderr, err)
		}
	}
	return status
}

// unwritten is the end of a program whose output nobody takes.
func unwritten(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "ramjet-top: write to standard output: %v\n", err)
	return exitUnreachable
}
