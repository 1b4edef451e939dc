package events

import (
	"fmt"
	"time"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/kube/pace"
)

// The reasons of Events about the configuration.
const (
	ReasonApplied = "ConfigApplied"
	ReasonPinned  = "ConfigPinned"
	ReasonResumed = "ConfigResumed"
)

const (
	// trailBurst Events about the configuration are written at once, then one each
	// trailEvery.
	trailBurst = 30
	trailEvery = 2 * time.Second
	// laterEvery is the time between two looks at who leads while something waits for it.
	laterEvery = 5 * time.Second
	// trailLength is how many wait at most; beyond it the oldest are counted only.
	trailLength = 64
)

// trail decides which changes of the configuration become Events, and when. Within its
// budget each does. What is beyond it waits, and of several changes that wait in a row
// the newest stands for all, with their number. It belongs to one goroutine at a time.
type trail struct {
	instance string // the pod, which a note names where only that pod is meant
	budget   pace.Bucket
	waiting  []waiting // the oldest first
}

type waiting struct {
	reason, note string
	time         time.Time
	held         int // how many before it have no Event of their own
}

func newTrail(instance string) *trail {
	return &trail{instance: instance, budget: pace.Bucket{Burst: trailBurst, Every: trailEvery}}
}

// add takes an event of the audit trail. What a pin held back is not applied and is left
// to log and history.
func (t *trail) add(e audit.Event, now time.Time) {
	w := waiting{note: e.Message(), time: now}
	switch e := e.(type) {
	case audit.Config:
		if !e.Published {
			return
		}
		w.reason = ReasonApplied
		if e.Warning != "" {
			w.note += "; " + audit.Escape(e.Warning) + " on " + t.instance // another replica has other numbers
		}
	case audit.Pin:
		w.reason, w.note = ReasonPinned, w.note+" on "+t.instance
	case audit.Resume:
		w.reason, w.note = ReasonResumed, w.note+" on "+t.instance
	default:
		return
	}
	t.waiting = append(t.waiting, w)
	if len(t.waiting) > trailLength {
		t.shorten()
	}
}

// shorten lets the newest of several changes in a row stand for all, or drops the oldest
// entry where there are none.
func (t *trail) shorten() {
	var short []waiting
	for _, w := range t.waiting {
		if n := len(short); n > 0 && w.reason == ReasonApplied && short[n-1].reason == ReasonApplied {
			w.held += short[n-1].held + 1
			short[n-1] = w
			continue
		}
		short = append(short, w)
	}
	if len(short) > trailLength {
		short[1].held += short[0].held + 1
		short = short[1:]
	}
	t.waiting = short
}

// next returns what to write now, and takes it from the budget. Of changes that were
// applied only whoever leads tells: where another does they wait, until it is known to have
// told or to be gone, while the rest goes ahead. If there is nothing, wait is how long until
// there may be, 0 = not before something changes.
func (t *trail) next(now time.Time, leads bool) (w waiting, wait time.Duration, ok bool) {
	if len(t.waiting) == 0 {
		return w, 0, false
	}
	if wait = t.budget.Wait(now); wait > 0 {
		t.shorten()
		return w, wait, false
	}
	for i, w := range t.waiting {
		if w.reason != ReasonApplied || leads {
			t.waiting = append(t.waiting[:i:i], t.waiting[i+1:]...)
			t.budget.Take(now)
			return w, 0, true
		}
	}
	return waiting{}, laterEvery, false
}

// leave leaves the changes that were applied before a time to another replica, which tells
// of them.
func (t *trail) leave(before time.Time) {
	var rest []waiting
	for _, w := range t.waiting {
		if w.reason != ReasonApplied || !w.time.Before(before) {
			rest = append(rest, w)
		}
	}
	t.waiting = rest
}

// back puts an entry in front again that could not be written.
func (t *trail) back(w waiting) {
	t.waiting = append([]waiting{w}, t.waiting...)
}

// text is the note with the number of those that have no Event.
func (w waiting) text() string {
	switch w.held {
	case 0:
		return w.note
	case 1:
		return w.note + "; 1 change before it has no Event of its own"
	}
	return fmt.Sprintf("%s; %d changes before it have no Events of their own", w.note, w.held)
}
