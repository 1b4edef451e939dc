package reactor

import (
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// acceptor takes connections off a listening socket and deals them to the loops.
//
// One goroutine accepts for all loops. Loops that accept for themselves from one
// socket take what they happen to see first: a few busy connections all end up with
// one of them. A socket for each loop (SO_REUSEPORT) is dealt to by the kernel, by a
// hash that is even only for many, and what waits in the queue of a socket that is
// closed is reset, so that a drain would lose connections. The goroutine costs a
// wake-up for each connection, and nothing for each request.
type acceptor struct {
	engine   *Engine
	listener net.Listener
	file     *os.File // the same socket
	secure   bool
	turn     int
}

// acceptPause follows a failed accept (out of descriptors): trying again at once would
// only burn a core.
const acceptPause = 50 * time.Millisecond

func (e *Engine) accept(l net.Listener, secure bool) {
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		e.log.Error("a listener cannot be used", "address", l.Addr().String(), "error", err)
		return
	}
	a := &acceptor{engine: e, listener: l, file: f, secure: secure}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		a.close()
		return
	}
	e.listeners = append(e.listeners, a)
	e.beside.Go(a.run)
}

func (a *acceptor) close() {
	a.listener.Close()
	a.file.Close()
}

// run accepts until the listener is closed.
func (a *acceptor) run() {
	raw, err := a.file.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { keepAlive(int(fd)) })
	inherited := false // connections may have been made before the listener was told
	err = raw.Read(func(fd uintptr) (done bool) {
		for {
			c, from, err := unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			switch err {
			case nil:
				if !inherited {
					keepAlive(c)
				}
				a.deal(int32(c), addressOf(from).Addr())
				if a.engine.draining.Load() {
					return true // who comes all the time must not keep the port open
				}
			case syscall.EAGAIN:
				inherited = true
				return false // until there is another one
			case syscall.EINTR, syscall.ECONNABORTED:
			default:
				a.engine.log.Warn("accepting a connection failed", "error", err)
				if a.pause() {
					return true
				}
			}
		}
	})
	_ = err // the listener is closed
}

// pause waits a little and reports whether the engine has been shut down meanwhile.
func (a *acceptor) pause() (over bool) {
	time.Sleep(acceptPause)
	a.engine.mu.Lock()
	defer a.engine.mu.Unlock()
	return a.engine.closed
}

// deal gives a connection to the loop that has the fewest, in turn among equals.
func (a *acceptor) deal(fd int32, peer netip.Addr) {
	loops := a.engine.loops
	a.turn++
	best := loops[a.turn%len(loops)]
	for i := range loops {
		if l := loops[(a.turn+i)%len(loops)]; l.conns.Load() < best.conns.Load() {
			best = l
		}
	}
	best.conns.Add(1)
	a.engine.metrics.ActiveConnections.Add(1)
	secure := a.secure
	if !best.post(func() { best.accepted(fd, peer, secure) }) {
		best.conns.Add(-1)
		a.engine.metrics.ActiveConnections.Add(-1)
		sysClose(fd)
	}
}
