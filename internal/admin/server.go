package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout = 10 * time.Second // for the header of a request
	readTimeout   = 30 * time.Second // for all of a request
	writeTimeout  = time.Minute      // for an answer; /admin/routes can be megabytes
	idleTimeout   = 2 * time.Minute  // between two requests of a connection
	maxHeader     = 16 << 10         // bytes
)

// Server listens for the interface. It owns the goroutines of its connections, and
// has left none behind when Serve and Shutdown have returned.
type Server struct {
	http *http.Server
}

// NewServer returns a server for a handler that NewHandler made. Faults of
// connections are logged as warnings.
func NewServer(handler http.Handler, log *slog.Logger) *Server {
	return &Server{http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
}

// Serve answers on the listener until Shutdown, then returns nil. It closes the
// listener. It may be called once.
func (s *Server) Serve(l net.Listener) error {
	if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the admin interface on %s: %w", l.Addr(), err)
	}
	return nil
}

// Shutdown stops listening and waits for the answers that are under way. When ctx is
// done before them, their connections are closed and the error is that of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		_ = s.http.Close() // all that could be lost is lost already
	}
	return err
}
