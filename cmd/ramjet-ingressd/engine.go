package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/nethttp"
	"ramjet.dev/ingress/internal/engine/reactor"
	"ramjet.dev/ingress/internal/upstream"
)

// dataPlane is what the daemon asks of an engine.
type dataPlane interface {
	Serve(net.Listener)
	ServeTLS(net.Listener)
	Shutdown(context.Context) error
}

// newEngine makes the engine that c names.
func newEngine(c config, options engine.Options, source nethttp.Source, pools *upstream.Pools, metrics *engine.Metrics, logger *slog.Logger) (dataPlane, error) {
	if c.engine != "reactor" {
		return nethttp.New(options, source, pools, metrics, logger), nil
	}
	e, err := reactor.New(options, source, pools, metrics, logger, c.workerThreads)
	if err != nil {
		return nil, fmt.Errorf("--engine reactor: %w", err)
	}
	return e, nil
}
