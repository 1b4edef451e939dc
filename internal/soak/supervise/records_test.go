//go:build linux

package supervise

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// until looks until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for start := time.Now(); !so(); <-time.After(5 * time.Millisecond) {
		if time.Since(start) > 30*time.Second {
			t.Errorf("%s did not come about", what)
			return
		}
	}
}

// said is a log of which one message is waited for.
type said struct {
	slog.Handler
	message string
	once    *sync.Once
	heard   chan struct{}
}

// awaitLog returns what is closed once a supervisor has logged a message.
func awaitLog(o *Options, message string) <-chan struct{} {
	h := said{Handler: slog.NewTextHandler(io.Discard, nil), message: message, once: new(sync.Once), heard: make(chan struct{})}
	o.Log = slog.New(h)
	return h.heard
}

func (s said) Handle(_ context.Context, r slog.Record) error {
	if r.Message == s.message {
		s.once.Do(func() { close(s.heard) })
	}
	return nil
}

// TestRecordsAreTriedAgain: what could not be written down as it happened is, as soon as
// it can be, although nothing more happens: a successor believes it.
func TestRecordsAreTriedAgain(t *testing.T) {
	c := service(t)
	path := filepath.Join(c.StateDir, recordsName)
	inTheWay := path + ".next"
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	o := options(c)
	ready := awaitLog(&o, "ready")
	go func() { ended <- Run(ctx, o) }()
	<-ready
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("it was written: %v", err)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	until(t, "the record of a process that is ready", func() bool {
		r, err := loadRecords(path)
		return err == nil && len(r.Processes) == 1 && r.Processes[0].Ready
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
