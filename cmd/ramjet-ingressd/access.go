package main

import (
	"io"
	"log/slog"

	"ramjet.dev/ingress/internal/accesslog"
	"ramjet.dev/ingress/internal/engine"
)

// newAccessLog returns the access log that --access-log asks for, nil for none.
func newAccessLog(c config, stdout io.Writer, logger *slog.Logger) *accesslog.Log {
	format, err := accesslog.ParseFormat(c.accessLog)
	if err != nil { // "off"; the flag lets nothing else through
		return nil
	}
	return accesslog.New(accesslog.Options{Sink: stdout, Format: format, Logger: logger})
}

// recordTo turns the record of an exchange into a line of the log.
func recordTo(l *accesslog.Log) func(*engine.Record) {
	return func(r *engine.Record) {
		e := accesslog.Entry{
			Time:            r.Start,
			Client:          r.Client,
			Method:          r.Method,
			Path:            r.Target,
			Protocol:        r.Proto,
			Host:            r.Host,
			Status:          r.Status,
			BytesIn:         r.BytesIn,
			BytesOut:        r.BytesOut,
			Duration:        r.Duration,
			UpstreamLatency: r.Latency,
			Answered:        r.Answered,
			Canary:          r.Plan.Canary,
			Truncated:       r.Cut,
			RequestID:       r.RequestID,
			UserAgent:       r.UserAgent,
			Referer:         r.Referer,
		}
		if r.Endpoint != nil {
			e.UpstreamAddr = r.Endpoint.Address
		}
		if r.Plan.Route != nil {
			e.RouteHost, e.RoutePath = r.Plan.Route.Host, r.Plan.Route.Path
			e.Backend = r.Plan.Backend.Name
		}
		l.Record(&e)
	}
}
