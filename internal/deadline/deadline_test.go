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

func TestReach(t *testing.T) {
	start := time.Unix(1000, 0)
	second := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }
	var l Lazy
	for _, s := range []struct {
		say    string
		t, at  time.Time
		change bool
	}{
		{"none to begin with", time.Time{}, time.Time{}, false},
		{"the first is set with its slack", second(10), second(11), true},
		{"one within the slack is reached already", second(10.5), second(11), false},
		{"to the very end of it", second(11), second(11), false},
		{"a later one moves it on", second(11.5), second(12.5), true},
		{"an earlier one moves it back", second(5), second(6), true},
		{"none takes it away", time.Time{}, time.Time{}, true},
	} {
		at, change := l.Reach(s.t, time.Second)
		if !at.Equal(s.at) || change != s.change {
			t.Errorf("%s: got %v, %v; want %v, %v", s.say, at, change, s.at, s.change)
		}
	}
	l.Note(second(20))
	if _, change := l.Reach(second(19.5), time.Second); change {
		t.Error("a deadline that somebody else set was not noted")
	}
}
