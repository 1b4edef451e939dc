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
	answering     bool // the answer has begun: from here on something has to move
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
	t.mu.Lock()
	defer t.mu.Unlock()
	t.moved()
}

// moved is touch under the lock.
func (t *idleTimer) moved() {
	if t.within <= 0 {
		return
	}
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

// answer says that the answer has begun.
func (t *idleTimer) answer() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.answering = true
	t.moved()
}

// rest stops the timer until the next touch, if the answer has not begun: how long it
// may be waited for is a time of its own.
func (t *idleTimer) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.answering {
		t.moved()
		return
	}
	t.quiet()
}

func (t *idleTimer) quiet() {
	t.at, t.resting = deadline.Lazy{}, true
	if t.timer != nil {
		t.timer.Stop()
	}
}

// stop ends it.
func (t *idleTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.quiet()
}
