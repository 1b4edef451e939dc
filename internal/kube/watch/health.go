package watch

import (
	"sync"
	"time"
)

// patience is how long a refusal must last until it is believed: an API server that has
// just started refuses for moments what it allows.
const patience = 5 * time.Second

// Condition is how it stands with one kind of object.
type Condition struct {
	// Resource is the kind, as in "ingresses".
	Resource string
	// Synced reports whether the whole list was there once.
	Synced bool
	// Up reports whether the last request succeeded.
	Up bool
	// Since is when Up became what it is.
	Since time.Time

	failure failure
	err     error // why it is not up; nil = it was not asked yet
}

// forbidden reports whether the kind may not be read, and not just for a moment.
func (c Condition) forbidden(now time.Time) bool {
	return !c.Up && c.failure == failureForbidden && now.Sub(c.Since) >= patience
}

// health is what a source knows about its server. It is safe for concurrent use.
type health struct {
	resource string
	now      func() time.Time
	// changed is called when there is something new to say, with no lock held.
	changed func()

	mu sync.Mutex
	c  Condition
}

func newHealth(resource string, now func() time.Time, changed func()) *health {
	return &health{resource: resource, now: now, changed: changed, c: Condition{Resource: resource, Since: now()}}
}

func (h *health) succeeded() {
	h.mu.Lock()
	news := !h.c.Up
	if news {
		h.c = Condition{Resource: h.resource, Up: true, Since: h.now()}
	}
	h.mu.Unlock()
	if news {
		h.changed()
	}
}

func (h *health) failed(f failure, err error) {
	h.mu.Lock()
	if h.c.Up || h.c.failure != f {
		h.c.Since = h.now()
	}
	h.c.Up, h.c.failure, h.c.err = false, f, err
	h.mu.Unlock()
	h.changed()
}

// condition is how it stands now.
func (h *health) condition(synced bool) Condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.c
	c.Synced = synced
	return c
}
