package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"ramjet.dev/ingress/internal/staticfile"
)

// newLogger writes to w in the form that --log-format asks for.
func newLogger(c config, w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.logLevel}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
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
