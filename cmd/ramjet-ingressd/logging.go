package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/logsink"
	"ramjet.dev/ingress/internal/staticfile"
)

// newLogger writes to w in the form that --log-format asks for, through a sink that
// lets nobody wait for w. The sink is the caller's to close.
func newLogger(c config, w io.Writer) (*slog.Logger, *logsink.Sink) {
	sink := logsink.New(w, func(lines uint64) []byte {
		var b bytes.Buffer
		handlerFor(c, &b).Warn("log lines were lost: they were not read as fast as they came", "lines", lines)
		return b.Bytes()
	})
	return handlerFor(c, sink), sink
}

func handlerFor(c config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.logLevel}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// logPatience is how long the end of the process waits for the log to be written.
const logPatience = time.Second

func flush(sink *logsink.Sink) {
	ctx, cancel := context.WithTimeout(context.Background(), logPatience)
	defer cancel()
	sink.Close(ctx)
}

// refuse prints why nothing was started: one line a fault. Those of a route file
// begin with file:line, so that an editor can follow them.
func refuse(w io.Writer, err error) {
	var faults staticfile.Errors
	if errors.As(err, &faults) {
		fmt.Fprintln(w, faults)
		return
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(w, "ramjet-ingressd:", strings.TrimRight(line, "\n"))
	}
}
