package reactor

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// idleLife is how long a connection to an endpoint may idle before it is closed, as in
// package upstream.
const idleLife = 90 * time.Second

// endpoint is a loop's idle connections to one address.
type endpoint struct {
	loop    *loop
	address string
	to      netip.AddrPort // the zero value: the address has to be looked up
	idle    []*upconn      // most recently used last
	count   atomic.Int32   // of idle, for others to see
	// http10 is set while the endpoint's latest answer was one of HTTP/1.0: such a server
	// never sends 100 (RFC 9110 section 15.2).
	http10  bool
	retired bool // the table does not name it any more: nothing is kept
}

// endpoint returns the pool of an address.
func (l *loop) endpoint(address string) *endpoint {
	if p, ok := l.pools[address]; ok {
		return p
	}
	p := &endpoint{loop: l, address: address}
	p.to, _ = netip.ParseAddrPort(address)
	if l.named != nil && !l.named[address] {
		p.retired = true // a request that began before the table changed
		return p
	}
	l.pools[address] = p
	l.engine.idle.add(p)
	return p
}

func (p *endpoint) retire() {
	p.retired = true
	for len(p.idle) > 0 {
		p.idle[len(p.idle)-1].close()
	}
	p.loop.engine.idle.remove(p)
}

// take returns the idle connection that was used last, nil if there is none. One that
// something has happened to is left alone: it will be told of that in this turn.
func (p *endpoint) take() *upconn {
	for i := len(p.idle) - 1; i >= 0; i-- {
		u := p.idle[i]
		if u.readable || u.hup {
			continue
		}
		p.idle = slices.Delete(p.idle, i, i+1)
		p.count.Store(int32(len(p.idle)))
		u.reused = true
		return u
	}
	return nil
}

// put keeps a connection whose last exchange ended well, or closes it.
func (p *endpoint) put(u *upconn) {
	u.x = nil
	if p.retired || p.loop.draining || len(p.idle) >= p.loop.engine.idlePerLoop || !u.quiet() {
		u.close()
		return
	}
	p.idle = append(p.idle, u)
	p.count.Store(int32(len(p.idle)))
	p.loop.wheel.set(&u.timer, p.loop.in(idleLife))
}

// remove takes a connection that is being closed out of the idle ones.
func (p *endpoint) remove(u *upconn) {
	if i := slices.Index(p.idle, u); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		p.count.Store(int32(len(p.idle)))
	}
}

// upconn is a connection to an endpoint: idle, or of one exchange.
type upconn struct {
	sock
	home       *endpoint
	x          *exchange // nil = idle
	connecting bool
	reused     bool // served an exchange before
}

// connect begins a connection for x. The error is of the kind that the next endpoint
// may not have. A nil upconn without an error: x is told later (see looked up).
func (p *endpoint) connect(x *exchange) (*upconn, error) {
	if !p.to.IsValid() {
		p.lookUp(x)
		return nil, nil
	}
	fd, err := sysConnect(p.to)
	if err != nil {
		return nil, err
	}
	u := &upconn{home: p, x: x, connecting: true}
	if err := p.loop.watch(&u.sock, fd, u); err != nil {
		sysClose(fd)
		return nil, err
	}
	return u, nil
}

// lookUp connects to an endpoint that has a name, off the loop. The exchange may have
// ended, and its memory serve another one, by the time that is done.
func (p *endpoint) lookUp(x *exchange) {
	l, serial, lookup := p.loop, x.serial, x.lookup
	ctx, cancel := context.WithCancel(context.Background())
	x.cancel = cancel
	l.engine.beside.Go(func() {
		defer cancel()
		d := net.Dialer{Timeout: l.engine.connectTimeout}
		c, err := d.DialContext(ctx, "tcp", p.address)
		fd := -1
		if err == nil {
			fd, err = detach(c)
		}
		posted := l.post(func() {
			if x.serial != serial || x.lookup != lookup || l.over {
				if fd >= 0 {
					unix.Close(fd)
				}
				return
			}
			x.cancel = nil
			l.guarded(&x.c.sock, func() { x.lookedUp(p, int32(fd), err) })
		})
		if !posted && fd >= 0 {
			unix.Close(fd)
		}
	})
}

// detach takes the descriptor out of a connection of package net.
func detach(c net.Conn) (fd int, err error) {
	defer c.Close()
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return -1, err
	}
	defer f.Close()
	fd, err = unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("fcntl", err)
	}
	return fd, unix.SetNonblock(fd, true)
}

// adopt makes a connected socket x's.
func (p *endpoint) adopt(x *exchange, fd int32) (*upconn, error) {
	u := &upconn{home: p, x: x}
	if err := p.loop.watch(&u.sock, fd, u); err != nil {
		sysClose(fd)
		return nil, err
	}
	return u, nil
}

// read reads what has come; moved means at least one byte.
func (u *upconn) read(b []byte) (int, transfer) { return u.sock.read(b) }

// quiet reports whether nothing has come and the endpoint has not hung up.
func (u *upconn) quiet() bool {
	if u.hup {
		return false
	}
	if !u.readable {
		return true
	}
	_, how := u.read(u.home.loop.scratch[:1])
	return how == blocked
}

// ready is called when something has happened to the socket.
func (u *upconn) ready() {
	if u.x == nil {
		// It said something unasked, which would be taken for an answer, or hung up.
		if !u.quiet() {
			u.close()
		}
		return
	}
	u.x.upstreamReady()
}

// expire: it has idled for long enough.
func (u *upconn) expire() {
	if u.x == nil {
		u.close()
	}
}

// kill closes it, with the client of an exchange that it serves.
func (u *upconn) kill() {
	if x := u.x; x != nil && x.up == u {
		x.c.kill()
	}
	u.close()
}

func (u *upconn) close() {
	if u.fd < 0 {
		return
	}
	if u.x == nil {
		u.home.remove(u)
	}
	u.home.loop.shut(&u.sock)
}
