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
	err     error     // why it is not up; nil = it was not asked yet
	last    time.Time // of err
}

// forbidden reports whether the kind may not be read, and not just for a moment: it was
// refused for as long as that takes to believe, all of it since the rest was read. When
// rights come late they come for all kinds, and some of them ask before others.
func (c Condition) forbidden(read time.Time) bool {
	since := c.Since
	if since.Before(read) {
		since = read
	}
	return !c.Up && c.failure == failureForbidden && c.last.Sub(since) >= patience
}

// health is what a source knows about its server. It is safe for concurrent use.
type health struct {
	resource string
	now      func() time.Time
	// changed is called when there is something new to say, with no lock held.
	changed func()
	// allowed is rung when what was refused is allowed: other kinds that are refused may be
	// allowed too.
	allowed *bell

	mu sync.Mutex
	c  Condition
}

func newHealth(resource string, now func() time.Time, changed func()) *health {
	return &health{resource: resource, now: now, changed: changed, allowed: new(bell), c: Condition{Resource: resource, Since: now()}}
}

func (h *health) succeeded() {
	h.mu.Lock()
	news, refused := !h.c.Up, h.c.failure == failureForbidden
	if news {
		h.c = Condition{Resource: h.resource, Up: true, Since: h.now()}
	}
	h.mu.Unlock()
	if news {
		h.changed()
	}
	if news && refused {
		h.allowed.ring()
	}
}

func (h *health) failed(f failure, err error) {
	h.mu.Lock()
	now := h.now()
	if h.c.Up || h.c.failure != f {
		h.c.Since = now
	}
	h.c.Up, h.c.failure, h.c.err, h.c.last = false, f, err, now
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
