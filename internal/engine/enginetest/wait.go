package enginetest

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen. No test passes by
// waiting this long.
const patience = time.Minute

// quick is what takes less than this when it waits for nobody, however busy the machine.
const quick = patience / 10

// monitor guards some state and wakes those who wait for it to change.
type monitor struct {
	mu      sync.Mutex
	changed chan struct{}
}

// change changes the state.
func (m *monitor) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// read looks at the state.
func (m *monitor) read(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// wait waits until the state is such that holds reports true.
func (m *monitor) wait(t testing.TB, what string, holds func() bool) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	for {
		m.mu.Lock()
		if holds() {
			m.mu.Unlock()
			return
		}
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		changed := m.changed
		m.mu.Unlock()
		select {
		case <-changed:
		case <-end.C:
			t.Fatalf("%s: did not happen in time", what)
		}
	}
}

// eventually waits for something that announces itself to nobody: a counter, a
// socket option.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-end.C:
			t.Fatalf("%s: did not happen in time", what)
		}
	}
}

// await waits for a signal.
func await[V any](t testing.TB, what string, signal <-chan V) V {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	select {
	case v := <-signal:
		return v
	case <-end.C:
		t.Fatalf("%s: did not happen in time", what)
		panic("unreachable")
	}
}

// silent reports, after d, whether a peer has said nothing meanwhile: it is how
// a test lets time pass.
func silent(c net.Conn, in io.ByteScanner, d time.Duration) bool {
	c.SetReadDeadline(time.Now().Add(d))
	defer c.SetReadDeadline(time.Now().Add(patience))
	_, err := in.ReadByte()
	if err == nil {
		in.UnreadByte()
	}
	return errors.Is(err, os.ErrDeadlineExceeded)
}

func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}
