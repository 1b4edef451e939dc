package reactor

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/upstream"
)

// sock is a socket of a loop and what is known of it. Who embeds it is its owner.
type sock struct {
	timer
	fd  int32 // -1 = closed
	gen uint32
	// readable and writable are true until a call blocked. hup is set once the peer has
	// ended its direction or the connection is broken, broken in the second case.
	readable, writable, hup, broken bool
	again                           bool // the loop comes back without an event
}

// whose is the owner of an open socket, nil of one that is closed or none.
func (s *sock) whose() owner {
	if s == nil || s.fd < 0 {
		return nil
	}
	return s.of
}

// loop is one event loop. All of it but inbox and conns belongs to its goroutine.
//
// A turn: wait; the safepoint; the clock; what has happened to which socket is noted; the
// inbox; those whose work was cut short in the turn before; the events, each socket told
// once; the timers that are due. Work per turn is bounded: so many events, and for each
// so many moves (see moves); who has more to do comes again in the next turn, which does
// not wait.
type loop struct {
	engine *Engine
	poll   poller
	events [maxEvents]event
	socks  []*sock // by descriptor
	gen    uint32
	wheel  wheel
	buffers
	scratch             []byte
	pools               map[string]*endpoint
	exchanges           []*exchange
	serial              uint64 // of the uses of their memory
	unfinished, working []*sock

	origin time.Time // of the loop's clock
	clock  time.Time
	now    int64 // nanoseconds since origin, above 0

	draining bool
	inflight int // exchanges that a drain waits for
	over     bool

	conns atomic.Int64 // client connections dealt to this loop

	inbox struct {
		sync.Mutex
		calls  []func()
		closed bool
	}
	calls   []func()
	named   map[string]bool // endpoints of the table; nil = not known yet
	done    chan struct{}
	drained chan struct{} // closed when draining and nothing is in flight
}

const (
	maxEvents = 256
	// moves bounds what one socket may do in a turn, in rounds of reading and writing.
	moves = 16
	// hold is how long a loop that has nothing to do keeps its processor while it waits.
	hold = 2 * time.Millisecond
)

func newLoop(e *Engine) (*loop, error) {
	p, err := newEpoll(maxEvents)
	if err != nil {
		return nil, err
	}
	l := &loop{
		engine:  e,
		poll:    p,
		scratch: make([]byte, large),
		pools:   map[string]*endpoint{},
		done:    make(chan struct{}),
		drained: make(chan struct{}),
		origin:  time.Now().Add(-time.Second),
	}
	l.tell()
	l.wheel.now = l.now / tick
	return l, nil
}

// tell asks for the time.
func (l *loop) tell() {
	l.clock = time.Now()
	l.now = int64(l.clock.Sub(l.origin))
}

// post has the loop call f in its next turn. Any goroutine may. False means that the
// loop has ended: nobody will call f.
func (l *loop) post(f func()) bool {
	l.inbox.Lock()
	defer l.inbox.Unlock()
	if l.inbox.closed {
		return false
	}
	l.inbox.calls = append(l.inbox.calls, f)
	if len(l.inbox.calls) == 1 {
		l.poll.wake()
	}
	return true
}

// closeInbox takes no more calls; what waits is done as far as it can be.
func (l *loop) closeInbox() {
	l.inbox.Lock()
	l.inbox.closed = true
	l.poll.close()
	l.inbox.Unlock()
	l.receive()
}

// run is the loop's goroutine.
func (l *loop) run() {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	defer close(l.done)
	held := false
	for !l.over {
		timeout := l.patience()
		if held && (timeout < 0 || timeout > hold) {
			timeout = hold
		}
		n := l.poll.wait(l.events[:], timeout, held)
		safepoint()
		l.tell()
		l.note(n)
		busy := n > 0
		busy = l.receive() || busy
		busy = l.resume() || busy
		l.dispatch(n)
		l.due()
		held = busy
	}
	l.closeInbox()
}

// patience is how long the loop may wait; < 0 = for ever.
func (l *loop) patience() time.Duration {
	if len(l.unfinished) > 0 {
		return 0
	}
	next := l.wheel.next()
	if next == 0 {
		return -1
	}
	return max(time.Duration(next-l.now), 0)
}

// receive does what others have asked for.
func (l *loop) receive() bool {
	l.inbox.Lock()
	l.calls, l.inbox.calls = l.inbox.calls, l.calls[:0]
	l.inbox.Unlock()
	for i, f := range l.calls {
		l.calls[i] = nil
		l.guarded(nil, f)
	}
	return len(l.calls) > 0
}

// note keeps what has happened to sockets, before anybody is told of anything: nobody
// takes an idle connection whose end is known already.
func (l *loop) note(n int) {
	for i := range n {
		e := &l.events[i]
		s := l.sock(e)
		if s == nil {
			continue
		}
		s.readable = s.readable || e.readable
		s.writable = s.writable || e.writable
		s.hup = s.hup || e.hup
		s.broken = s.broken || e.broken
	}
}

// dispatch tells the owners of sockets that something has happened to them.
func (l *loop) dispatch(n int) {
	for i := 0; i < n; {
		i = l.someEvents(i, n)
	}
}

// someEvents is dispatch as far as it goes without a panic; it returns where to go on.
func (l *loop) someEvents(from, n int) (i int) {
	var s *sock
	defer func() {
		if fault := recover(); fault != nil {
			l.caught(s.whose(), fault)
			i++
		}
	}()
	for i = from; i < n; i++ {
		if s = l.sock(&l.events[i]); s != nil {
			s.of.ready()
		}
	}
	return i
}

// sock is the socket that an event is about; nil = it was closed since.
func (l *loop) sock(e *event) *sock {
	if int(e.fd) >= len(l.socks) {
		return nil
	}
	if s := l.socks[e.fd]; s != nil && s.gen == e.gen {
		return s
	}
	return nil
}

// resume goes on with those who had more to do than a turn allows.
func (l *loop) resume() bool {
	if len(l.unfinished) == 0 {
		return false
	}
	l.working, l.unfinished = l.unfinished, l.working[:0]
	for i, s := range l.working {
		l.working[i] = nil
		s.again = false
		if s.fd >= 0 {
			l.guarded(s, s.of.ready)
		}
	}
	return true
}

// due tells those whose time is over.
func (l *loop) due() {
	for next := l.wheel.next(); next != 0 && next <= l.now; next = l.wheel.next() {
		l.advance()
	}
	if l.wheel.nextSlot() == 0 {
		l.wheel.now = l.now / tick
	}
}

// advance tells timers that are due, up to the first one whose owner panics.
func (l *loop) advance() {
	defer func() {
		if fault := recover(); fault != nil {
			l.wheel.now-- // the rest of its slot has not been told
			l.caught(l.wheel.told, fault)
		}
	}()
	l.wheel.advance(l.now)
}

// guarded calls f and survives its panic, which is the end of s.
func (l *loop) guarded(s *sock, f func()) {
	defer func() {
		if fault := recover(); fault != nil {
			l.caught(s.whose(), fault)
		}
	}()
	f()
}

// caught ends what a fault of ours has hit; everything else goes on. nil = nobody.
func (l *loop) caught(of owner, fault any) {
	l.engine.log.Error("a request made the proxy panic: please report this", "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
	if of != nil {
		of.kill()
	}
}

// later makes the loop come back to s in the next turn.
func (l *loop) later(s *sock) {
	if !s.again {
		s.again = true
		l.unfinished = append(l.unfinished, s)
	}
}

// watch begins to look after a socket.
func (l *loop) watch(s *sock, fd int32, of owner) error {
	l.gen++
	s.fd, s.gen, s.of = fd, l.gen, of
	for int(fd) >= len(l.socks) {
		l.socks = append(l.socks, make([]*sock, max(64, len(l.socks)/2))...)
	}
	if err := l.poll.add(fd, s.gen); err != nil {
		s.fd = -1
		return err
	}
	l.socks[fd] = s
	return nil
}

// forget ends that and leaves the socket open.
func (l *loop) forget(s *sock) (fd int32) {
	fd = s.fd
	l.poll.remove(fd)
	l.socks[fd] = nil
	l.wheel.remove(&s.timer)
	s.fd = -1
	return fd
}

// shut closes a socket.
func (l *loop) shut(s *sock) {
	if s.fd < 0 {
		return
	}
	l.socks[s.fd] = nil
	l.wheel.remove(&s.timer)
	sysClose(s.fd)
	s.fd = -1
}

// in is a time from now on the loop's clock; 0 = never.
func (l *loop) in(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return l.now + int64(d)
}

// drain ends who is idle, now and from now on.
func (l *loop) drain() {
	l.draining = true
	for _, s := range l.socks {
		if s == nil {
			continue
		}
		if c, ok := s.of.(*conn); ok && c.idle() {
			c.close()
		}
	}
	l.settle()
}

// settle says that a drain has nothing to wait for any more.
func (l *loop) settle() {
	if !l.draining || l.inflight > 0 {
		return
	}
	select {
	case <-l.drained:
	default:
		close(l.drained)
	}
}

// end closes everything. Exchanges that are under way are booked as cut.
func (l *loop) end() {
	l.draining, l.over = true, true
	for _, s := range l.socks {
		if s == nil {
			continue
		}
		if c, ok := s.of.(*conn); ok {
			c.cut()
		}
	}
	for _, s := range l.socks {
		if s != nil {
			s.of.kill()
		}
	}
	l.settle()
}

// retain closes the idle connections to endpoints that the table does not name.
func (l *loop) retain(named map[string]bool) {
	l.named = named
	for address, p := range l.pools {
		if !named[address] {
			delete(l.pools, address)
			p.retire()
		}
	}
}

var _ upstream.Keeper = (*Engine)(nil)
