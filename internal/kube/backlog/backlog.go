// Package backlog holds what is still to be done, by name: at most one thing for each
// name, the newest.
//
// Guarantees: it is never larger than the number of names; what was put in with the
// highest rank comes out first, so that somebody who has just changed something does not
// wait behind a thousand others who have not; among equals what failed less often comes
// first, then the smaller name; what failed waits for its time without being in the way of
// others.
//
// The package never knows what it is that has to be done, and no clock.
package backlog

import (
	"cmp"
	"strings"
	"time"
)

// Backlog is the list. Make it with New. It belongs to one goroutine at a time.
type Backlog[T any] struct {
	waiting map[string]entry[T]
}

type entry[T any] struct {
	todo  T
	rank  uint64
	after time.Time // not before; zero = now
	tries int
}

// New returns an empty list.
func New[T any]() *Backlog[T] {
	return &Backlog[T]{waiting: make(map[string]entry[T])}
}

// Len is how many names there are.
func (b *Backlog[T]) Len() int { return len(b.waiting) }

// Put notes what is to be done for a name, in place of what was.
func (b *Backlog[T]) Put(name string, todo T, rank uint64) {
	b.waiting[name] = entry[T]{todo: todo, rank: rank}
}

// Hold keeps what is to be done for a name until the given time.
func (b *Backlog[T]) Hold(name string, until time.Time) {
	if e, ok := b.waiting[name]; ok {
		e.after = until
		b.waiting[name] = e
	}
}

// Drop forgets what was to be done for a name.
func (b *Backlog[T]) Drop(name string) { delete(b.waiting, name) }

// Clear forgets everything.
func (b *Backlog[T]) Clear() { clear(b.waiting) }

// Taken is what Take took.
type Taken[T any] struct {
	Name string
	Todo T

	entry entry[T]
}

// Tries is how often it has failed.
func (t Taken[T]) Tries() int { return t.entry.tries }

// Take removes and returns what comes first. If nothing can be done at now it returns
// false and how long it is until something can, 0 = nothing is there.
func (b *Backlog[T]) Take(now time.Time) (taken Taken[T], wait time.Duration, ok bool) {
	for name, e := range b.waiting {
		if until := e.after.Sub(now); until > 0 {
			if wait == 0 || until < wait {
				wait = until
			}
			continue
		}
		if next := (Taken[T]{Name: name, Todo: e.todo, entry: e}); !ok || next.before(taken) {
			taken, ok = next, true
		}
	}
	if ok {
		delete(b.waiting, taken.Name)
		wait = 0
	}
	return taken, wait, ok
}

// before reports whether t comes out before o when both can be done.
func (t Taken[T]) before(o Taken[T]) bool {
	return cmp.Or(cmp.Compare(o.entry.rank, t.entry.rank), cmp.Compare(t.entry.tries, o.entry.tries), strings.Compare(t.Name, o.Name)) < 0
}

// Demote puts back what could not be done like Return, and takes its rank away: it may
// never succeed, and whoever waits comes first from now on.
func (b *Backlog[T]) Demote(t Taken[T], at time.Time) {
	t.entry.rank = 0
	b.Return(t, at)
}

// Return puts back what could not be done, to be tried again at the given time, unless
// something newer has come for the same name.
func (b *Backlog[T]) Return(t Taken[T], at time.Time) {
	if _, newer := b.waiting[t.Name]; newer {
		return
	}
	t.entry.after, t.entry.tries = at, t.entry.tries+1
	b.waiting[t.Name] = t.entry
}
