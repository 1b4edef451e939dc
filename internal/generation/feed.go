package generation

import "sync/atomic"

// Feed hands compiled generations to the one who records them: the latest value,
// never a queue. A compiler that is faster than the recorder, or a recorder that
// is busy, makes values in between disappear; it never makes anybody wait.
//
// Any number of goroutines may offer, one takes.
type Feed struct {
	latest atomic.Pointer[Compiled]
	ready  chan struct{}
}

// NewFeed returns an empty feed.
func NewFeed() *Feed { return &Feed{ready: make(chan struct{}, 1)} }

// Offer replaces the value in the feed. It never blocks.
func (f *Feed) Offer(c Compiled) {
	f.latest.Store(&c)
	select {
	case f.ready <- struct{}{}:
	default: // a signal is waiting already, and Take will find the value above
	}
}

// C receives after an Offer. One signal may stand for several offers, and a signal
// may outlive its value by one Take: always look at what Take says.
func (f *Feed) C() <-chan struct{} { return f.ready }

// Take removes and returns the value in the feed, if there is one.
func (f *Feed) Take() (Compiled, bool) {
	c := f.latest.Swap(nil)
	if c == nil {
		return Compiled{}, false
	}
	return *c, true
}
