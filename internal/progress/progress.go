// Package progress writes to a connection for as long as bytes move.
//
// A deadline on a write bounds all of it: a large buffer to a slow but living
// reader would be cut in the middle. Here a write is given up only when nothing
// moved for the whole idle time, whatever its size; and every second of waiting is
// an opportunity to ask whether the write is still worth its while.
//
// It knows nothing of what the bytes mean.
package progress

import (
	"errors"
	"os"
	"time"

	"ramjet.dev/ingress/internal/deadline"
)

// Conn is what a Writer needs of a connection.
type Conn interface {
	Write([]byte) (int, error)
	SetWriteDeadline(time.Time) error
}

// slice is how long a write is left alone.
const slice = time.Second

// Writer keeps the write deadline of one connection. The zero value is ready. It is
// not safe for concurrent use.
type Writer struct {
	deadline deadline.Lazy
}

// Write writes b. It ends with os.ErrDeadlineExceeded when nothing moved for idle (0
// = any time), and when given says, at most a second late, that it should be given
// up, with what given returned. given may be nil.
func (w *Writer) Write(c Conn, b []byte, idle time.Duration, given func() error) (n int, err error) {
	piece := slice
	if idle > 0 {
		piece = min(slice, idle)
	}
	var since time.Time // of silence; zero = bytes moved
	for {
		now := time.Now()
		if at, change := w.deadline.Next(now, piece); change {
			if err := c.SetWriteDeadline(at); err != nil {
				return n, err
			}
		}
		m, err := c.Write(b[n:])
		n += m
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		w.deadline = deadline.Lazy{}
		if given != nil {
			if err := given(); err != nil {
				return n, err
			}
		}
		switch {
		case m > 0:
			since = time.Time{}
		case since.IsZero():
			since = now
		}
		// A kernel that has room for a little wakes nobody, but takes it when asked.
		if m == 0 && idle > 0 && time.Since(since) >= idle {
			return n, os.ErrDeadlineExceeded
		}
	}
}
