// Package logsink puts a log's destination at a distance: whoever logs never waits
// for who reads.
//
// A pipe that nobody empties blocks its writer for ever. The single writer of the
// configuration logs each change, and an operator who rolls back at night must not
// wait for a log collector. So lines are copied into bounded memory and written by a
// goroutine; what finds no room is dropped, counted, and told of in the log itself
// once there is room again.
package logsink

import (
	"context"
	"io"
	"sync"
)

// room is how many bytes of lines wait at most.
const room = 1 << 20

// quiet is how much memory is kept between two writes.
const quiet = 64 << 10

// Sink is an io.Writer that never waits. Each Write is one or more whole lines. It is
// safe for concurrent use; its owner calls Close.
type Sink struct {
	to   io.Writer
	lost func(lines uint64) []byte

	mu      sync.Mutex
	waiting []byte
	dropped uint64
	closed  bool

	wake chan struct{} // holds one
	done chan struct{} // closed when the goroutine has ended
}

// New starts the goroutine. lost makes the line, line feed included, that tells of
// lines that were dropped.
func New(to io.Writer, lost func(lines uint64) []byte) *Sink {
	s := &Sink{to: to, lost: lost, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go s.run()
	return s
}

// Write takes lines, or drops them. It always reports success: there is nobody to
// whom a log could complain.
func (s *Sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	if s.closed || len(s.waiting)+len(b) > room {
		s.dropped++
	} else {
		s.waiting = append(s.waiting, b...)
	}
	s.mu.Unlock()
	s.rouse()
	return len(b), nil
}

func (s *Sink) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close writes what waits and ends the goroutine. When ctx is done first, what still
// waits is lost, and a write that hangs ends with the process.
func (s *Sink) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.rouse()
	select {
	case <-s.done:
	case <-ctx.Done():
	}
}

func (s *Sink) run() {
	defer close(s.done)
	var spare []byte
	for range s.wake {
		for {
			lines, dropped, closed := s.take(spare)
			if dropped > 0 {
				lines = append(lines, s.lost(dropped)...)
			}
			if len(lines) > 0 {
				_, _ = s.to.Write(lines) // a destination that is gone takes nothing any more
			} else if closed {
				return
			}
			idle := len(lines) == 0
			if spare = lines[:0]; cap(spare) > quiet {
				spare = nil
			}
			if idle {
				break
			}
		}
	}
}

// take exchanges what waits for empty memory.
func (s *Sink) take(empty []byte) (lines []byte, dropped uint64, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines, s.waiting = s.waiting, empty
	dropped, s.dropped = s.dropped, 0
	return lines, dropped, s.closed
}
