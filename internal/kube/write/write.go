// Package write carries changes out to the API server, one after the other and not
// faster than a budget allows.
//
// Guarantees: asking for a change never waits; there is at most one change to be done for
// each name, the newest; nothing is sent while the caller may not write; what failed for
// a reason that may pass is tried again, later each time, unless it was taken back
// meanwhile; what is forbidden is said once and
// tried each minute, behind all others, for an admission policy may refuse one object of
// many; when several in a row are forbidden the next would be no different, and everything
// waits that minute; what was asked of an object that another of its name has followed is
// left; a change that is written again and again, because somebody else undoes it
// each time, has a budget of its own, and that it is used up is said; nothing goes on after
// Run.
//
// The package never knows what is written.
package write

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"ramjet.dev/ingress/internal/kube/backlog"
	"ramjet.dev/ingress/internal/kube/pace"
)

const (
	// requestTimeout bounds one request.
	requestTimeout = 10 * time.Second
	// firstRetry is the wait after the first failure; it doubles up to mostRetry.
	firstRetry = time.Second
	mostRetry  = 30 * time.Second
	// forbiddenRest is how long it is until what was forbidden is tried again.
	forbiddenRest = time.Minute
	// repeatContest is the time between two lines about changes that are undone.
	repeatContest = time.Minute
	// forbiddenRow is how many in a row must be forbidden until everything else waits too.
	forbiddenRow = 10
)

// Options says how a Queue works.
type Options[T any] struct {
	// What is written, in words for the log: "the status of an Ingress".
	What string
	// Budget is how many requests there may be.
	Budget pace.Bucket
	// Each is how often one and the same change may be written. The zero value is no bound.
	Each pace.Bucket
	// Same reports whether two changes under one name are the same to Each. nil = if they
	// are deeply equal.
	Same func(a, b T) bool
	// Do carries one change out. Required.
	Do func(ctx context.Context, name string, todo T) error
	// May is asked before each request. nil = always.
	May func() bool
	// Log takes what there is to say. Required.
	Log *slog.Logger
}

// Queue is the changes to be carried out. Its methods are safe for concurrent use.
type Queue[T any] struct {
	options Options[T]
	news    chan struct{}

	mu        sync.Mutex
	backlog   *backlog.Backlog[T]
	doing     string                 // what is under way, or was last
	dropped   bool                   // that was taken back
	forbidden bool                   // said already
	malformed bool                   // said already
	row       int                    // how many in a row were forbidden
	rests     time.Time              // until when nothing is tried
	written   map[string]*written[T] // lately, by name
	contested time.Time              // when it was last said
}

// written is the last change under a name, with what is left of Each.
type written[T any] struct {
	last T
	each pace.Bucket
}

// New returns an empty queue.
func New[T any](o Options[T]) *Queue[T] {
	if o.Same == nil {
		o.Same = func(a, b T) bool { return reflect.DeepEqual(a, b) }
	}
	return &Queue[T]{options: o, news: make(chan struct{}, 1), backlog: backlog.New[T](), written: map[string]*written[T]{}}
}

// Put asks for a change, in place of what was asked for under that name. What has the
// highest rank is done first.
func (q *Queue[T]) Put(name string, todo T, rank uint64) {
	q.mu.Lock()
	q.backlog.Put(name, todo, rank)
	q.hold(name, todo, time.Now())
	q.mu.Unlock()
	select {
	case q.news <- struct{}{}:
	default:
	}
}

// Drop takes back what was asked for under a name. If it is under way it is not stopped,
// but not tried again either.
func (q *Queue[T]) Drop(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.backlog.Drop(name)
	q.dropped = q.dropped || q.doing == name
}

// Clear takes back everything, like Drop.
func (q *Queue[T]) Clear() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.backlog.Clear()
	q.dropped = true
}

// Len is how many changes wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.backlog.Len()
}

// Run carries changes out until ctx is done. It may be called again after it returned,
// and not twice at a time.
func (q *Queue[T]) Run(ctx context.Context) {
	for {
		taken, wait, ok := q.take(time.Now())
		if ok {
			q.do(ctx, taken)
			if ctx.Err() != nil {
				return
			}
			continue
		}
		if !q.rest(ctx, wait) {
			return
		}
	}
}

// take returns the next change, if there is one and the budget allows it; else how long
// to wait, 0 = until there is news.
func (q *Queue[T]) take(now time.Time) (taken backlog.Taken[T], wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.backlog.Len() == 0 {
		return taken, 0, false
	}
	if wait = max(q.rests.Sub(now), q.options.Budget.Wait(now)); wait > 0 {
		return taken, wait, false
	}
	if taken, wait, ok = q.backlog.Take(now); ok {
		q.options.Budget.Take(now)
		q.doing, q.dropped = taken.Name, false
	}
	return taken, wait, ok
}

// wrote notes what was written, and forgets what was not for a while.
func (q *Queue[T]) wrote(name string, todo T, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.row = 0 // not everything is forbidden
	if q.options.Each.Burst == 0 {
		return
	}
	if q.backlog.Len() == 0 {
		maps.DeleteFunc(q.written, func(_ string, w *written[T]) bool { return w.each.Full(now) })
	}
	w := q.written[name]
	if w == nil || !q.options.Same(w.last, todo) {
		w = &written[T]{last: todo, each: q.options.Each}
		q.written[name] = w
	}
	w.each.Take(now)
}

// hold makes a change wait that was written too often.
func (q *Queue[T]) hold(name string, todo T, now time.Time) {
	w := q.written[name]
	if w == nil || !q.options.Same(w.last, todo) {
		return
	}
	wait := w.each.Wait(now)
	if wait <= 0 {
		return
	}
	q.backlog.Hold(name, now.Add(wait))
	if now.Sub(q.contested) >= repeatContest {
		q.contested = now
		q.options.Log.Warn("somebody undoes again and again what we write: writing it less often; look for another deployment that serves it, or for a tool that puts it back",
			"what", q.options.What, "name", name)
	}
}

// rest waits for news, and for at most d if that is not 0. It is false if ctx ended.
func (q *Queue[T]) rest(ctx context.Context, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-q.news:
	case <-over:
	}
	return true
}

func (q *Queue[T]) do(ctx context.Context, t backlog.Taken[T]) {
	if q.options.May != nil && !q.options.May() {
		q.giveBack(t)
		return
	}
	one, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := q.options.Do(one, t.Name, t.Todo)
	switch {
	case err == nil:
		q.wrote(t.Name, t.Todo, time.Now())
	case ctx.Err() != nil:
		q.giveBack(t) // whoever writes next decides anew
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err) && !recreated(err):
		// A ValidatingAdmissionPolicy that names no reason refuses as what is invalid.
		q.handleForbidden(t, err)
	case passes(err):
		q.options.Log.Debug("could not write "+q.options.What+", will try again", "error", oneLine(err), "tries", t.Tries()+1)
		q.giveBack(t)
	case apierrors.IsBadRequest(err):
		q.handleMalformed(err)
	default:
		// The object is gone or has changed, and then news of that is on its way.
		q.options.Log.Debug("could not write "+q.options.What, "error", oneLine(err))
	}
}

// giveBack keeps a change for another try.
func (q *Queue[T]) giveBack(t backlog.Taken[T]) {
	wait := min(firstRetry<<min(t.Tries(), 10), mostRetry)
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.dropped {
		q.backlog.Return(t, time.Now().Add(wait))
	}
}
