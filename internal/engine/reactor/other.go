//go:build !linux

package reactor

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/nethttp"
	"ramjet.dev/ingress/internal/upstream"
)

// Available says whether this platform has what the engine needs.
const Available = false

// Engine cannot be made on this platform.
type Engine struct{}

// New says that this platform lacks epoll(7).
func New(engine.Options, nethttp.Source, *upstream.Pools, *engine.Metrics, *slog.Logger, int) (*Engine, error) {
	return nil, errors.New("this engine needs epoll, which only Linux has")
}

// Serve is never called.
func (*Engine) Serve(net.Listener) {}

// ServeTLS is never called.
func (*Engine) ServeTLS(net.Listener) {}

// Shutdown is never called.
func (*Engine) Shutdown(context.Context) error { return nil }
