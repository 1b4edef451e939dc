package logsink

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func lost(n uint64) []byte { return fmt.Appendf(nil, "lost %d\n", n) }

func closeIn(t *testing.T, s *Sink, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	s.Close(ctx)
}

func TestLinesArriveInOrder(t *testing.T) {
	var to bytes.Buffer
	s := New(&to, lost)
	var want strings.Builder
	for i := range 1000 {
		fmt.Fprintf(s, "line %d\n", i)
		fmt.Fprintf(&want, "line %d\n", i)
	}
	closeIn(t, s, 20*time.Second)
	if to.String() != want.String() {
		t.Errorf("got %d bytes, want %d", to.Len(), want.Len())
	}
}

// gate is a destination that takes nothing until it is opened.
type gate struct {
	entered chan struct{}
	open    chan struct{}
	bytes.Buffer
}

func (g *gate) Write(b []byte) (int, error) {
	select {
	case g.entered <- struct{}{}:
	default:
	}
	<-g.open
	return g.Buffer.Write(b)
}

func TestNobodyWaitsForAReader(t *testing.T) {
	g := &gate{entered: make(chan struct{}, 1), open: make(chan struct{})}
	s := New(g, lost)
	io.WriteString(s, "first\n")
	<-g.entered
	line := strings.Repeat("x", 1<<10-1) + "\n"
	const lines = 3 << 10 // three times the room
	for range lines {
		io.WriteString(s, line)
	}
	close(g.open)
	closeIn(t, s, 20*time.Second)
	kept := strings.Count(g.String(), line)
	if kept != room>>10 {
		t.Errorf("%d lines were kept, there is room for %d", kept, room>>10)
	}
	if want := fmt.Sprintf("lost %d\n", lines-kept); !strings.HasSuffix(g.String(), want) {
		t.Errorf("the log ends in %q, want %q", g.String()[max(0, g.Len()-20):], want)
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	g := &gate{entered: make(chan struct{}, 1), open: make(chan struct{})}
	s := New(g, lost)
	io.WriteString(s, "stuck\n")
	<-g.entered
	closeIn(t, s, time.Millisecond)
	close(g.open) // so that the test leaves nothing behind
	<-s.done
}
