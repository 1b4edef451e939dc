package connect

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"ramjet.dev/ingress/internal/kube/pace"
)

// mostVerbose is how much of what the library could log is taken. Where it says more, it
// says the bodies of requests and answers too, and those have private keys in them.
const mostVerbose = slog.LevelInfo

// RouteLibraryLog sends what the client library logs to log, at level debug: what of
// it matters to people is said in our own words where it is known what it means. It
// works for the whole process and belongs at its start.
func RouteLibraryLog(log *slog.Logger) {
	klog.LogToStderr(false)
	klog.SetSlogLogger(slog.New(&demoted{
		to:    log.With("source", "client-go").Handler(),
		state: &demotion{bucket: pace.Bucket{Burst: 20, Every: time.Second}},
	}))
}

// demoted writes every record at level debug, as far as the rate allows.
type demoted struct {
	to    slog.Handler
	state *demotion
}

// demotion is what all handlers that were derived from one share.
type demotion struct {
	mu     sync.Mutex
	bucket pace.Bucket
}

func (d *demoted) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= mostVerbose && d.to.Enabled(ctx, slog.LevelDebug)
}

func (d *demoted) Handle(ctx context.Context, r slog.Record) error {
	// The library does not ask Enabled before it logs an error.
	if !d.to.Enabled(ctx, slog.LevelDebug) || !d.state.admit(r.Time) {
		return nil
	}
	r.Level = slog.LevelDebug
	return d.to.Handle(ctx, r)
}

func (d *demotion) admit(now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.bucket.Wait(now) > 0 {
		return false
	}
	d.bucket.Take(now)
	return true
}

func (d *demoted) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &demoted{to: d.to.WithAttrs(attrs), state: d.state}
}

func (d *demoted) WithGroup(name string) slog.Handler {
	return &demoted{to: d.to.WithGroup(name), state: d.state}
}
