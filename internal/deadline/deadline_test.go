package deadline

import (
	"testing"
	"time"
)

func TestLazy(t *testing.T) {
	start := time.Unix(1000, 0)
	var l Lazy
	steps := []struct {
		say    string
		after  time.Duration // since start
		within time.Duration
		change bool
		left   time.Duration // of the deadline, seen from `after`; 0 = none
	}{
		{"none to begin with: nothing to take away", 0, 0, false, 0},
		{"the first is set with its slack", 0, 8 * time.Second, true, 9 * time.Second},
		{"it still does half a second later", 500 * time.Millisecond, 8 * time.Second, false, 8500 * time.Millisecond},
		{"and to the very end of its slack", time.Second, 8 * time.Second, false, 8 * time.Second},
		{"past the slack it moves", 1001 * time.Millisecond, 8 * time.Second, true, 9 * time.Second},
		{"a shorter one moves it back", 1100 * time.Millisecond, time.Second, true, 1125 * time.Millisecond},
		{"a longer one moves it on", 1100 * time.Millisecond, time.Minute, true, 67500 * time.Millisecond},
		{"none takes it away", 2 * time.Second, 0, true, 0},
		{"once", 2 * time.Second, 0, false, 0},
	}
	for _, s := range steps {
		now := start.Add(s.after)
		at, change := l.Next(now, s.within)
		if change != s.change {
			t.Errorf("%s: change = %v, want %v", s.say, change, s.change)
		}
		if s.left == 0 {
			if !at.IsZero() {
				t.Errorf("%s: deadline %v, want none", s.say, at)
			}
		} else if left := at.Sub(now); left != s.left {
			t.Errorf("%s: %v left, want %v", s.say, left, s.left)
		}
	}
}
