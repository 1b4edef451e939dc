// Package deadline decides when a connection's deadline has to be moved.
//
// Moving one costs a timer update for every request; most moves are by less
// than anybody cares about. A Lazy deadline is therefore set an eighth later
// than asked and left alone until it would come too early. It knows no clock
// and no connection: time is an argument, the move is the caller's.
package deadline

import "time"

// Lazy is the deadline that was last set on something. The zero value is none.
type Lazy struct {
	at time.Time
}

// Next returns the deadline to set so that at least within passes from now, and
// at most an eighth more. change is false when the present one does. within 0
// asks for none (the zero time).
func (l *Lazy) Next(now time.Time, within time.Duration) (at time.Time, change bool) {
	if within == 0 {
		change = !l.at.IsZero()
		l.at = time.Time{}
		return l.at, change
	}
	slack := within / 8
	if left := l.at.Sub(now); !l.at.IsZero() && left >= within && left <= within+slack {
		return l.at, false
	}
	l.at = now.Add(within + slack)
	return l.at, true
}

// Reach returns the deadline to set so that it comes at t, or at most slack later.
// change is false when the present one does. The zero t asks for none.
func (l *Lazy) Reach(t time.Time, slack time.Duration) (at time.Time, change bool) {
	if t.IsZero() {
		change = !l.at.IsZero()
		l.at = t
		return t, change
	}
	if late := l.at.Sub(t); !l.at.IsZero() && late >= 0 && late <= slack {
		return l.at, false
	}
	l.at = t.Add(slack)
	return l.at, true
}

// Note says that the deadline was set to t by somebody else.
func (l *Lazy) Note(t time.Time) { l.at = t }
