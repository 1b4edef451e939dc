//go:build endurance

package endurance

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// ledger is what mortals know of the requests that came to them: which they have
// answered, and which they have cut. With it a failure is explained by what happened
// to that very request, not by its time.
type ledger struct {
	mu     sync.Mutex
	of     map[string][]*attempt
	dying  int // connections that were ended here, and not yet there
	blinks []blink
}

// attempt is a request that came to a mortal.
type attempt struct {
	first bool // of its connection
	read  bool // the request came to its end
	wrote int  // bytes of the answer that the kernel took
	whole bool // all of it was taken, and will arrive
	cut   bool // the connection was ended by the mortal, before or during it
	reset bool // and what was written may be lost
	over  bool // it is known how it ended
}

// blink is a moment at which a connection could be lost that nobody has seen: between
// the last look at those that wait to be accepted, and the end of the listener.
type blink struct{ from, to time.Time }

// begin notes a request, and whether its connection was ended before.
func (l *ledger) begin(c *life, id string) (a *attempt, dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.asked++
	a = &attempt{first: c.asked == 1, cut: c.dead, over: c.dead}
	c.at = a
	l.of[id] = append(l.of[id], a)
	return a, c.dead
}

// update changes what is known of an attempt.
func (l *ledger) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// blinked notes the end of a listener.
func (l *ledger) blinked(from time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blinks = append(l.blinks, blink{from, time.Now()})
	if len(l.blinks) > 100 {
		l.blinks = l.blinks[1:]
	}
}

// since reports whether there was a blink after a moment.
func (l *ledger) since(begun time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.blinks, func(b blink) bool { return b.to.After(begun) })
}

// settled reports whether all is known that there is to know about a request which the
// client has the answer to.
func (l *ledger) settled(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dying == 0 && !slices.ContainsFunc(l.of[id], func(a *attempt) bool { return !a.over })
}

// forget returns what is known of a request, and forgets it. What came on a connection
// that had served before comes first, as it must: it may have been noticed later.
func (l *ledger) forget(id string) (all []attempt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range l.of[id] {
		all = append(all, *a)
	}
	delete(l.of, id)
	slices.SortStableFunc(all, func(a, b attempt) int {
		switch {
		case a.first == b.first:
			return 0
		case b.first:
			return -1
		}
		return 1
	})
	return all
}

// askMortals asks a Service of mortals, and judges the answer by what they know.
func (v *visitor) askMortals(q query) error {
	id, begun := v.id(), time.Now()
	err := v.askAs(q, id)
	if late := v.until(func() error {
		if !v.ledger.settled(id) {
			return errors.New("the daemon keeps a connection that its backend has ended")
		}
		return nil
	}); late != nil {
		return errors.Join(err, late)
	}
	seen := v.ledger.forget(id)
	if err := judged(q, seen, err, v.ledger.since(begun)); err != nil {
		return fmt.Errorf("%s %s: %w: %+v", q.method, id, err, seen)
	}
	return nil
}

// judged is the error with which a request ended, excused or not, or what is wrong with
// how often it came to a backend. blinked: one could be lost unseen.
func judged(q query, seen []attempt, err error, blinked bool) error {
	if wrong := mayCome(q, seen); wrong != nil {
		return errors.Join(wrong, err)
	}
	if err == nil {
		return cameWhole(seen)
	}
	if wrong := mayFail(q, seen, err, blinked); wrong != nil {
		return errors.Join(wrong, err)
	}
	return excused{err}
}

// repeats reports whether a request may be sent again: it has no body, and twice is as
// good as once.
func (q query) repeats() bool { return q.body == nil }

// mayCome says what is wrong with how often a request was sent: once, but that one
// which may be repeated is sent again, on a new connection, when one that was kept
// ended before there was a byte of an answer.
func mayCome(q query, seen []attempt) error {
	switch {
	case len(seen) < 2:
		return nil
	case !q.repeats():
		return errors.New("sent twice")
	case len(seen) > 2:
		return errors.New("repeated twice")
	}
	a := seen[0]
	switch {
	case a.first:
		return errors.New("repeated after a new connection had failed")
	case !a.cut || a.wrote > 0 && !a.reset:
		return errors.New("repeated without need")
	case !seen[1].first:
		return errors.New("repeated on a connection that was kept")
	}
	return nil
}

// cameWhole says what is wrong with a request that was answered.
func cameWhole(seen []attempt) error {
	if n := len(seen); n == 0 || !seen[n-1].read || !seen[n-1].whole && !seen[n-1].reset {
		return errors.New("answered to the end, but not by the backend")
	}
	return nil
}

// mayFail says why a request had no reason to fail as it did.
func mayFail(q query, seen []attempt, err error, blinked bool) error {
	if !explained(err) {
		return errors.New("that does not come of a backend's end")
	}
	n := len(seen)
	if n == 0 {
		if blinked {
			return nil
		}
		return errors.New("it never came to a backend")
	}
	switch a := seen[n-1]; {
	case a.whole:
		return errors.New("the backend had answered to the end")
	case !a.cut:
		return errors.New("the backend was alive")
	case q.repeats() && n == 1 && !a.first && a.wrote == 0:
		return errors.New("it had to be repeated")
	}
	return nil
}

// explained reports whether an error is one of those that a backend leads to that
// went away: 502, or an answer without its end.
func explained(err error) bool {
	var w wrong
	var b broken
	return errors.As(err, &b) || errors.As(err, &w) && w.status == http.StatusBadGateway
}
