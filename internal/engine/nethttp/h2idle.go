package nethttp

import (
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/deadline"
)

// idleTimer gives up a stream to an HTTP/2 endpoint on which no byte of a body
// moved for a while, in either direction. It runs from the first touch on, and not
// while it rests.
type idleTimer struct {
	within time.Duration // 0 = it never fires
	fired  atomic.Bool
	giveUp func() // is not called any more once stop has returned

	mu    sync.Mutex // both directions touch
	at    deadline.Lazy
	timer *time.Timer // nil before the first touch
	// resting is set by rest until the next touch, over by stop: a timer that has
	// expired already must do nothing then.
	resting, over bool
}

func newIdleTimer(within time.Duration, giveUp func()) *idleTimer {
	return &idleTimer{within: within, giveUp: giveUp}
}

func (t *idleTimer) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || t.resting {
		return
	}
	t.fired.Store(true)
	t.giveUp()
}

// touch says that something moved.
func (t *idleTimer) touch() {
	if t.within <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resting = false
	_, change := t.at.Next(time.Now(), t.within)
	switch {
	case t.over || !change || t.fired.Load():
	case t.timer == nil:
		t.timer = time.AfterFunc(t.within+t.within/8, t.fire)
	default:
		t.timer.Reset(t.within + t.within/8)
	}
}

// rest stops the timer until the next touch.
func (t *idleTimer) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at, t.resting = deadline.Lazy{}, true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// stop ends it.
func (t *idleTimer) stop() {
	t.rest()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}
