package mirror

import (
	"net/http"
	"sync"
)

// Draft is a copy in the making. The request itself is streamed to the primary as
// ever; what the upload reads is added here until the body has ended, or is longer
// than may be copied. Then it waits to be released, once the answer of the primary is
// on its way: making and sending a copy is work, and the request comes first.
//
// A nil Draft makes no copy. It is safe for concurrent use: an upload adds while the
// exchange releases.
type Draft struct {
	q    *Queue
	most int64 // bytes that a body may have

	mu    sync.Mutex
	copy  *Copy
	whole bool // the body has ended
	free  bool // nobody waits for it to be sent later
	over  bool // sent, or given up
}

// Draft begins a copy whose endpoint Admit chose. bodiless says that no body follows;
// one of more than most bytes is not copied.
func (q *Queue) Draft(c *Copy, bodiless bool, most int64) *Draft {
	return &Draft{q: q, copy: c, whole: bodiless, most: most}
}

// SetHeader gives the copy its fields, which it owns from here on. It comes before
// Release.
func (d *Draft) SetHeader(h http.Header) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.over {
		d.copy.Header = h
	}
}

// Add keeps a piece of the body; last is its end.
func (d *Draft) Add(piece []byte, last bool) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.over:
	case int64(len(d.copy.Body)+len(piece)) > d.most && len(piece) > 0:
		d.q.metrics.MirrorSkipped.Inc()
		d.drop()
	case !d.q.Reserve(len(piece)):
		d.q.metrics.MirrorDropped.Inc()
		d.drop()
	default:
		d.copy.Body = append(d.copy.Body, piece...)
		d.whole = last
		d.offer()
	}
}

// Release lets the copy be sent as soon as it is whole.
func (d *Draft) Release() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = true
	d.offer()
}

// End sends the copy, or gives it up when the request ended before its body did.
func (d *Draft) End() {
	if d == nil {
		return
	}
	d.Release()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drop()
}

// offer sends the copy if it is time. The caller holds the lock.
func (d *Draft) offer() {
	if d.whole && d.free && !d.over {
		d.over = true
		d.q.Offer(d.copy)
	}
}

// drop gives the copy up. The caller holds the lock.
func (d *Draft) drop() {
	if d.over {
		return
	}
	d.over = true
	d.q.Release(len(d.copy.Body))
	d.copy = nil
}
