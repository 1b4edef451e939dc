package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"ramjet.dev/ingress/internal/soak/config"
	"ramjet.dev/ingress/internal/soak/control"
)

// configHelp is what the commands about a service that runs say about their config.
const configHelp = `CONFIG says which service is supervised and how; examples/soak/soak.yaml has all of
its keys. Every fault of it is reported at once, with its line.
`

// swapped says what was meant where a release was named before the config.
func swapped(path string, rest []string) string {
	if len(rest) == 0 || exists(path) || !exists(rest[0]) {
		return ""
	}
	return fmt.Sprintf("%s is not there, and %s is: the config comes first", path, rest[0])
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// load reads the config, which comes before the rest of the arguments. With a status other than exitOK the faults were printed.
func load(s streams, path string, rest ...string) (*config.Config, int) {
	c, err := config.Load(path)
	if err != nil {
		if hint := swapped(path, rest); hint != "" {
			return nil, s.fail(exitRefused, errors.New(hint))
		}
		fmt.Fprintln(s.err, err) // each line begins with file:line
		return nil, exitRefused
	}
	return c, exitOK
}

// socketOf is where the supervisor of a config listens.
func socketOf(c *config.Config) string { return filepath.Join(c.StateDir, config.SocketName) }

// interruptible is done when the user presses ^C.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
}

// finish prints a result.
func finish(s streams, r control.Result) int {
	if !r.OK {
		return s.fail(exitFailed, errors.New(r.Message))
	}
	return write(s, r.Message+"\n")
}

// unreachable says why the supervisor could not be asked.
func unreachable(s streams, configPath string, err error) int {
	switch {
	case errors.Is(err, control.ErrNobody):
		return s.fail(exitRefused, fmt.Errorf("no supervisor is running for %s: start it with soak run %s", configPath, configPath))
	case errors.Is(err, control.ErrCut):
		return s.fail(exitFailed, fmt.Errorf("%w; what was begun goes on, see soak status %s", err, configPath))
	case errors.Is(err, context.Canceled):
		return s.fail(exitFailed, fmt.Errorf("no longer waiting; what was begun goes on, see soak status %s", configPath))
	}
	return s.fail(exitFailed, err)
}
