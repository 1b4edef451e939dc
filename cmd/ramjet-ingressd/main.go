// Command ramjet-ingressd is the daemon: control plane and data plane in one
// process. This package reads flags, wires the parts together and handles
// signals; the rules are in the packages below internal/.
package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// Exit statuses, as --help lists them.
const (
	exitOK      = 0 // drained, also when the grace was over
	exitEnded   = 1 // ended at once by a second signal
	exitRefused = 2 // a flag, the route file or a port was refused: nothing was started
)

func main() {
	os.Exit(run(os.Args[1:], os.LookupEnv, os.Environ(), os.Stdout, os.Stderr))
}

// run is main with its surroundings as arguments.
func run(args []string, getenv func(string) (string, bool), environ []string, stdout, stderr io.Writer) int {
	c, err := parseFlags(args, getenv, stdout)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "ramjet-ingressd:", err)
		return exitRefused
	case c.help:
		return exitOK
	case c.version:
		fmt.Fprintf(stdout, "ramjet-ingressd %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		return exitOK
	}
	if c.workerThreads > 0 {
		runtime.GOMAXPROCS(c.workerThreads)
	}
	defer takeSlack()()
	logger, sink := newLogger(c, stderr)
	defer flush(sink)
	for _, w := range unknownVariables(environ) {
		logger.Warn(w)
	}
	// A log collector that dies closes our standard output; the write then fails, and
	// must not end the process as it would by default.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	d, err := start(c, logger, stdout)
	if err != nil {
		refuse(stderr, err)
		return exitRefused
	}
	s := untilStopped(signals, logger)
	settle(signals)
	logger.Info("draining: new connections are refused, requests in flight may finish", "signal", s.String(), "grace", c.shutdownGrace.String())
	grace, cancel := context.WithTimeout(context.Background(), c.shutdownGrace)
	defer cancel()
	go func() {
		s := untilStopped(signals, logger)
		logger.Warn("ended by a second signal", "signal", s.String())
		flush(sink)
		os.Exit(exitEnded)
	}()
	d.stop(grace)
	logger.Info("stopped")
	return exitOK
}

// settle takes the repetitions of a signal that was sent to the process and to its
// group, as some supervisors do, for the one signal that they are.
func settle(signals <-chan os.Signal) {
	over := time.NewTimer(20 * time.Millisecond)
	defer over.Stop()
	for {
		select {
		case <-signals:
		case <-over.C:
			return
		}
	}
}

// untilStopped waits for a signal that asks to stop. SIGHUP, which makes other proxies
// reload, does not: a habit must not cost a replica its connections.
func untilStopped(signals <-chan os.Signal, logger *slog.Logger) os.Signal {
	for s := range signals {
		if s != syscall.SIGHUP {
			return s
		}
		logger.Info("SIGHUP changes nothing: there is nothing to reload; SIGTERM stops")
	}
	return nil // never: the channel is not closed
}
