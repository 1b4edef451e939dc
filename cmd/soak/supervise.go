package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"ramjet.dev/ingress/internal/logsink"
	"ramjet.dev/ingress/internal/soak/process"
	"ramjet.dev/ingress/internal/soak/supervise"
)

const runHelp = configHelp + `
It starts the release that serves, restarts it when it dies, keeps a candidate on
probation, and goes back to the last good release when the candidate breaks its
budget. What it does is in DIR/ledger.jsonl first, DIR being stateDir of the config.
It stays in the foreground and logs to standard error.

SIGTERM or SIGINT stops the release, and then the supervisor, with status 0; a second
one kills what has not stopped yet. SIGHUP changes nothing. Status 2: it did not
begin, and no process was touched. When the supervisor is killed, the release goes on;
the next supervisor takes it over and stands where the ledger ends.
`

func runCommand() command {
	flags := newFlags("run")
	format := flags.String("log-format", "text", "form of the log: text or json")
	return command{
		name: "run", args: "CONFIG", short: "supervise a service: the deployer",
		long: runHelp, least: 1, most: 1, flags: flags,
		run: func(s streams, args []string) int { return supervised(s, *format, args[0]) },
	}
}

// supervised runs the supervisor until it is asked to stop.
func supervised(s streams, format, path string) int {
	if format != "text" && format != "json" {
		return s.fail(exitRefused, fmt.Errorf("--log-format: %q is neither text nor json", format))
	}
	c, status := load(s, path)
	if status != exitOK {
		return status
	}
	sink := logsink.New(s.err, func(lines uint64) []byte {
		var b bytes.Buffer
		logHandler(format, &b).Warn("log lines were lost: they were not read as fast as they came", "lines", lines)
		return b.Bytes()
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		sink.Close(ctx)
	}()
	// Neither a log collector that dies nor a terminal that is closed must take the
	// supervisor along. The signals are taken and dropped: if they were ignored, releases
	// would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE, syscall.SIGHUP)
	ctx, hurry := asked()
	err := supervise.Run(ctx, supervise.Options{
		Config: c,
		Output: process.Output{FilesDir: c.OutputDir, Stdout: s.out, Stderr: s.err},
		Log:    logHandler(format, sink),
		Hurry:  hurry,
	})
	if err != nil {
		return s.fail(exitRefused, err)
	}
	return exitOK
}

// asked watches the signals that ask to stop: the first ends ctx, the second closes
// hurry. It does so until the process ends.
func asked() (ctx context.Context, hurry <-chan struct{}) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	now := make(chan struct{})
	go func() {
		<-signals
		cancel()
		<-signals
		close(now)
	}()
	return ctx, now
}

func logHandler(format string, w io.Writer) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
