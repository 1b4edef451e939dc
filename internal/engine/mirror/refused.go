package mirror

import (
	"errors"
	"net"
	"sync"
	"time"
)

// retryAfter is how long an endpoint that could not be connected to gets no copies.
// The first copy after it tries again.
const retryAfter = time.Second

// refused knows the endpoints that could not be connected to lately. A connection
// that is refused costs as much processor time as a copy that arrives, and a mirror
// that is down refuses all of them. It is safe for concurrent use.
type refused struct {
	until sync.Map // address → time.Time
}

// passes reports whether a copy for the address is worth making at the time now. Of
// many that ask once the time is over one is told so, until success or failure.
func (r *refused) passes(address string, now time.Time) bool {
	until, found := r.until.Load(address)
	if !found {
		return true
	}
	return !now.Before(until.(time.Time)) && r.until.CompareAndSwap(address, until, now.Add(retryAfter))
}

// note learns from the fate of a copy; a nil err is an answer.
func (r *refused) note(address string, err error, now time.Time) {
	var op *net.OpError
	switch {
	case err == nil:
		r.until.Delete(address)
	case errors.As(err, &op) && op.Op == "dial":
		r.until.Store(address, now.Add(retryAfter))
		r.forget(now)
	}
}

// forget lets go of endpoints that nobody asks for any more.
func (r *refused) forget(now time.Time) {
	r.until.Range(func(address, until any) bool {
		if now.Sub(until.(time.Time)) > 10*retryAfter {
			r.until.CompareAndDelete(address, until)
		}
		return true
	})
}
