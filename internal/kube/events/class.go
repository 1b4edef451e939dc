package events

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ramjet.dev/ingress/internal/audit"
)

const (
	// tellTimeout bounds one request.
	tellTimeout = 5 * time.Second
	// retryEvery is the wait after a request that failed.
	retryEvery = 5 * time.Second
	// telling is how long another replica that leads must have been there after a change, so
	// that we believe that it told of it: it sees the change in its own time.
	telling = 2 * time.Second
)

// ClassOptions says where the changes of the configuration are told.
type ClassOptions struct {
	// Teller writes. Required.
	Teller *Teller
	// Class returns the IngressClass, by name at least. Required.
	Class func() corev1.ObjectReference
	// Leads reports whether this replica leads. Required.
	Leads func() bool
	// OthersAt is when another is known to have been there to lead, zero = never. Required.
	OthersAt func() time.Time
	// Log takes what there is to say. Required.
	Log *slog.Logger
}

// Class tells of each change of the configuration on the IngressClass. It is an
// audit.Sink. Its methods are safe for concurrent use.
type Class struct {
	options ClassOptions
	news    chan struct{}

	mu    sync.Mutex
	trail *trail
}

// NewClass returns a Class that writes nothing before Run.
func NewClass(o ClassOptions) *Class {
	return &Class{options: o, news: make(chan struct{}, 1), trail: newTrail(o.Teller.instance)}
}

// Record takes an event. It never waits.
func (c *Class) Record(e audit.Event) {
	c.mu.Lock()
	c.trail.add(e, time.Now())
	c.mu.Unlock()
	c.Nudge()
}

// Nudge makes it look at who leads again.
func (c *Class) Nudge() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// Run writes until ctx is done; what waits then is not written.
func (c *Class) Run(ctx context.Context) {
	for {
		w, wait, ok := c.next()
		if ok && !c.tell(ctx, w) {
			wait = retryEvery
		} else if ok {
			continue
		}
		if !rest(ctx, c.news, wait) {
			return
		}
	}
}

func (c *Class) next() (waiting, time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trail.leave(c.options.OthersAt().Add(-telling))
	return c.trail.next(time.Now(), c.options.Leads())
}

// tell writes one Event. It is false if that has to be tried again.
func (c *Class) tell(ctx context.Context, w waiting) (done bool) {
	one, cancel := context.WithTimeout(ctx, tellTimeout)
	defer cancel()
	err := c.options.Teller.Tell(one, Event{
		Regarding: c.options.Class(), Reason: w.reason, Action: "Publish", Note: w.text(), Time: w.time,
	})
	switch {
	case err == nil:
		return true
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsNotFound(err):
		c.options.Log.Debug("could not write an Event", "error", oneLine(err))
		return true
	}
	c.options.Log.Debug("could not write an Event, will try again", "error", oneLine(err))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trail.back(w)
	return false
}

// rest waits for news, and for at most d if that is not 0. It is false if ctx ended.
func rest(ctx context.Context, news <-chan struct{}, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-news:
	case <-over:
	}
	return true
}
