//go:build linux

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
