package daemon

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// Lines collects what a process writes and lets others wait for a line of it.
type Lines struct {
	mu    sync.Mutex
	text  strings.Builder
	ended bool
	grown chan struct{} // closed and replaced at each change
}

func newLines() *Lines { return &Lines{grown: make(chan struct{})} }

// Write adds to the text. It never fails.
func (l *Lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	l.changed()
	return len(b), nil
}

func (l *Lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.changed()
}

func (l *Lines) changed() {
	close(l.grown)
	l.grown = make(chan struct{})
}

// String is all that was written so far.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Wait returns the first whole line that contains a text, without its end. The
// test fails when the process ends without writing one.
func (l *Lines) Wait(t testing.TB, text string) string {
	t.Helper()
	return l.WaitN(t, text, 1)
}

// WaitN is Wait for the n-th such line, counted from 1.
func (l *Lines) WaitN(t testing.TB, text string, n int) string {
	t.Helper()
	late := time.NewTimer(Patience)
	defer late.Stop()
	for {
		line, left, ended, grown := l.find(text, n)
		switch {
		case left == 0:
			return line
		case ended:
			t.Fatalf("the daemon ended and had written %d lines with %q, want %d", n-left, text, n)
		}
		select {
		case <-grown:
		case <-late.C:
			t.Fatalf("the daemon wrote %d lines with %q, want %d", n-left, text, n)
		}
	}
}

// find returns the n-th line with a text, or how many of n are not there yet.
func (l *Lines) find(text string, n int) (line string, left int, ended bool, grown <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		if whole, ok := strings.CutSuffix(line, "\n"); ok && strings.Contains(whole, text) {
			if n--; n == 0 {
				return whole, 0, l.ended, l.grown
			}
		}
	}
	return "", n, l.ended, l.grown
}
