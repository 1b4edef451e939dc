package nethttp

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"ramjet.dev/ingress/internal/engine"
)

// streamBody reads the client's body for the transport, which may close it but
// must not close the client's: a body of which nothing was read can be sent to
// another endpoint. The transport may read on after the response; end stops that.
type streamBody struct {
	x       *exchange
	idle    *idleTimer
	trailer http.Header // announced; gets its values at the end of the body
	taken   atomic.Bool
	waiting atomic.Bool // a read of the client's body is going on
	fault   atomic.Pointer[bodyFault]

	mu   sync.Mutex // held while the client's body is read
	ask  func()     // asks the client for it, before the first read; nil = no need
	over bool
	turn int  // numbers the tries of the transport
	read bool // or tried to be
}

// bodyTurn is the body for one try of the transport.
type bodyTurn struct {
	*streamBody
	turn int
}

// errBegun is why a try is not repeated.
var errBegun = errors.New("the body of the request has been read from")

// again is the body for a further try, if nothing has been read of it: the transport
// closes a body, and would not send it any more, when the connection that it chose had
// just been told to end. A try of before reads no more.
func (b *streamBody) again() (io.ReadCloser, error) {
	if !b.mu.TryLock() {
		return nil, errBegun
	}
	defer b.mu.Unlock()
	if b.read {
		return nil, errBegun
	}
	b.turn++
	return &bodyTurn{b, b.turn}, nil
}

// bodyFault is what a client did to its body: it broke off, or what the reply says.
type bodyFault struct {
	reply *engine.Reply
	gone  bool
}

// errOver is what the transport reads once the exchange has ended.
var errOver = errors.New("the exchange is over")

// Read belongs to the transport.
func (t *bodyTurn) Read(p []byte) (int, error) {
	b := t.streamBody
	b.mu.Lock()
	defer b.mu.Unlock()
	if t.turn != b.turn {
		return 0, errOver
	}
	b.read = true
	b.waiting.Store(true)
	defer b.waiting.Store(false)
	if b.over || b.idle.fired.Load() {
		return 0, errOver
	}
	if ask := b.ask; ask != nil {
		b.ask = nil
		ask()
	}
	n, err := b.x.readBody(p)
	if n > 0 || err == io.EOF {
		b.taken.Store(true)
		b.x.bytesIn.Add(int64(n))
		b.x.shadow.Add(p[:n], err == io.EOF)
	}
	switch {
	case err == io.EOF:
		b.x.allRead.Store(true)
		b.idle.rest() // the backend may take until --response-timeout to answer
		for name := range b.trailer {
			b.trailer[name] = b.x.r.Trailer[name]
		}
	case err == nil:
		b.idle.touch()
	case !b.over && !b.idle.fired.Load():
		reply, gone := clientFault(err)
		b.fault.Store(&bodyFault{reply, gone})
	}
	return n, err
}

// Close does nothing; see end.
func (b *streamBody) Close() error { return nil }

// clientFault says what the client did wrong: see the function of that name.
func (b *streamBody) clientFault() (reply *engine.Reply, gone bool) {
	if b == nil {
		return nil, false
	}
	if f := b.fault.Load(); f != nil {
		return f.reply, f.gone
	}
	return nil, false
}

// end makes this attempt's body end: no read is going on when it returns, and none
// will be. The client's connection is of no further use if one was.
func (b *streamBody) end() {
	if b == nil {
		return
	}
	if b.taken.Load() && !b.x.allRead.Load() || !b.mu.TryLock() {
		b.x.stopReading()
		b.mu.Lock()
	}
	b.over = true
	b.mu.Unlock()
}

// announcedTrailer is the trailer that a request announces, as far as it goes
// upstream and without its values.
func (x *exchange) announcedTrailer() http.Header {
	var h http.Header
	for name := range x.r.Trailer {
		if x.trailerPasses(name) {
			if h == nil {
				h = make(http.Header)
			}
			h[name] = nil
		}
	}
	return h
}
