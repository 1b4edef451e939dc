package nethttp

import (
	"errors"
	"net"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/deadline"
)

// deadlines are those of a gate's connection.
//
// net/http moves the read deadline six times for each request, and reads a byte in
// the background while a request is served, to notice a client that goes away.
// Taken literally that is a failing read, two wake-ups and six timer updates for
// each request, a tenth of its whole cost. So what net/http wants is noted and takes
// effect when the connection is really read, and the background read waits for a
// moment before it begins: most requests are over by then.
type deadlines struct {
	conn  net.Conn
	slack time.Duration // how late what net/http wants may come

	mu      sync.Mutex
	want    time.Time // what net/http asked for; zero = none
	read    deadline.Lazy
	reading bool // somebody is in conn.Read
	direct  bool // everything takes effect at once: the bytes are nobody's we know
	aborted bool
	parked  bool // a background read waits
	wake    chan struct{}
	patient *time.Timer
}

// patience is how long a background read waits before it begins, and so how much
// later than possible a client that goes away is noticed.
const patience = 5 * time.Millisecond

// past is before every deadline that means a time to come.
var past = time.Unix(1e6, 0)

func isPast(t time.Time) bool { return !t.IsZero() && t.Before(past) }

// park waits for a while in the middle of a background read. It reports whether to
// go on; false means that net/http has called the read off.
func (d *deadlines) park(while time.Duration) bool {
	d.mu.Lock()
	if isPast(d.want) {
		d.mu.Unlock()
		return false
	}
	if d.patient == nil {
		d.patient, d.wake = time.NewTimer(while), make(chan struct{}, 1)
	} else {
		d.patient.Reset(while)
	}
	d.parked = true
	d.mu.Unlock()

	called := false
	select {
	case <-d.wake:
		called = true
	case <-d.patient.C:
	}
	d.patient.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parked = false
	select {
	case <-d.wake:
		called = true
	default:
	}
	return !called && !isPast(d.want)
}

// beginRead readies the connection for a read, which endRead follows. head says
// that what net/http wants is in force, and by when a head that has begun must be
// there (zero = at any time).
func (d *deadlines) beginRead(head bool, by time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reading = true
	if !head || d.aborted {
		return
	}
	want := d.want
	if !by.IsZero() && (want.IsZero() || by.Before(want)) {
		want = by
	}
	if isPast(want) {
		_ = d.setRead(want)
	} else if at, change := d.read.Reach(want, d.slack); change {
		d.conn.SetReadDeadline(at)
	}
}

func (d *deadlines) endRead() {
	d.mu.Lock()
	d.reading = false
	d.mu.Unlock()
}

func (d *deadlines) setRead(t time.Time) error {
	d.read.Note(t)
	return d.conn.SetReadDeadline(t)
}

// takeEffect makes what net/http wants the connection's, now and from now on.
func (d *deadlines) takeEffect() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.direct = true
	if !d.aborted {
		_ = d.setRead(d.want)
	}
}

// readWithin gives reads from now on at least t, and at most an eighth more.
func (d *deadlines) readWithin(t time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, change := d.read.Next(time.Now(), t); change && !d.aborted {
		d.conn.SetReadDeadline(at)
	}
}

// abortRead ends a read of the body that is going on, and all later ones.
func (d *deadlines) abortRead() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aborted = true
	d.conn.SetReadDeadline(time.Unix(1, 0))
}

// readAborted reports whether abortRead was called: an upload may have read the last of
// its body at that moment, and the connection ends all the same.
func (d *deadlines) readAborted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.aborted
}

// abort ends reads and writes that are going on, and all later ones.
func (d *deadlines) abort() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.aborted = true
	d.conn.SetDeadline(time.Unix(1, 0))
}

// SetReadDeadline is net/http's: for heads, idling and its background read.
func (d *deadlines) SetReadDeadline(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.want = t
	if d.parked && isPast(t) {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
	if d.aborted || !d.reading && !d.direct {
		return nil
	}
	return d.setRead(t)
}

// SetWriteDeadline is the connection's own: see counted.
func (d *deadlines) SetWriteDeadline(t time.Time) error { return d.conn.SetWriteDeadline(t) }

// SetDeadline sets both.
func (d *deadlines) SetDeadline(t time.Time) error {
	return errors.Join(d.SetReadDeadline(t), d.SetWriteDeadline(t))
}
