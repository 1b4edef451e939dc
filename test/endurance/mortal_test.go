//go:build endurance

package endurance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// mortal is a backend whose connections end while they are used. Unlike a process that
// is killed it notes what it cuts (see ledger); to the other side it looks the same.
//
// So that nothing gets lost unseen, the end of a connection on which nothing is being
// answered is told first (FIN), and what comes on it nevertheless is still read, noted,
// and answered with a reset, which is what the kernel of a dead process does.
type mortal struct {
	place
	idle time.Duration // how long it keeps a quiet connection; 0 = for ever

	listener *net.TCPListener
	ended    sync.WaitGroup // the accepting, and all connections

	// Guarded by the ledger's lock.
	dead  bool
	lives map[*life]bool
	hard  bool // the next busy connection ends with a reset
}

// life is a connection to a mortal. All but the socket is guarded by the ledger's lock.
type life struct {
	*net.TCPConn
	asked int
	at    *attempt // the last one
	dead  bool
}

func (w *world) mortal(name string, idle time.Duration) *mortal {
	m := &mortal{place: w.place(name), idle: idle}
	if err := m.start(); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (m *mortal) start() error {
	l, err := m.w.net.Listen(m.at)
	if err != nil {
		return fmt.Errorf("start the backend %s: %w", m.name, err)
	}
	m.listener = l.(*net.TCPListener)
	m.w.ledger.update(func() { m.dead, m.lives = false, map[*life]bool{} })
	m.ended.Go(func() {
		for {
			c, err := m.listener.AcceptTCP()
			if err != nil {
				return // kill
			}
			m.live(c)
		}
	})
	return nil
}

// live begins a connection, or its end.
func (m *mortal) live(conn *net.TCPConn) {
	c := &life{TCPConn: conn}
	m.w.ledger.update(func() {
		m.lives[c] = true
		if m.dead {
			m.end(c, false)
		}
	})
	m.ended.Go(func() {
		m.serve(c)
		m.w.ledger.update(func() {
			delete(m.lives, c)
			if c.dead {
				m.w.ledger.dying--
			}
			if c.at != nil {
				c.at.over = true
			}
			c.Close()
		})
	})
}

// kill ends it at once: every second request that it is busy with by a reset. It
// returns when the other side has let go of all its connections.
func (m *mortal) kill() {
	var waiting []*net.TCPConn
	raw, err := m.listener.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { waiting = m.shut(int(fd)) })
	}
	if err != nil {
		m.w.tally.fault("backend", err)
	}
	m.w.ledger.update(func() {
		m.dead = true
		for c := range m.lives {
			busy := c.at != nil && !c.at.over
			m.end(c, busy && m.hard)
			m.hard = m.hard != busy
		}
	})
	for _, c := range waiting {
		m.live(c)
	}
	m.listener.Close()
	m.ended.Wait()
}

// shut ends a listener, and returns the connections that were not accepted yet.
func (m *mortal) shut(fd int) (waiting []*net.TCPConn) {
	for {
		last := time.Now()
		n, _, err := unix.Accept4(fd, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ECONNABORTED) {
			continue
		}
		if err != nil { // EAGAIN: that was all
			_ = unix.Shutdown(fd, unix.SHUT_RDWR) // from here on connections are refused
			m.w.ledger.blinked(last)
			return waiting
		}
		f := os.NewFile(uintptr(n), "connection")
		c, err := net.FileConn(f)
		f.Close()
		if err == nil {
			waiting = append(waiting, c.(*net.TCPConn))
		}
	}
}

// end ends a connection, and with it what is being answered. The caller has the lock.
func (m *mortal) end(c *life, hard bool) {
	if c.dead {
		return
	}
	c.dead = true
	m.w.ledger.dying++
	if c.at != nil && !c.at.over {
		c.at.cut, c.at.reset = true, hard
	}
	if hard {
		c.SetLinger(0)
		c.Close()
		return
	}
	c.SetReadDeadline(time.Now().Add(patience))
	c.CloseWrite()
}

// serve answers what comes on a connection until one of both sides ends it.
func (m *mortal) serve(c *life) {
	in := bufio.NewReader(c)
	for m.await(c, in) {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		a, dead := m.w.ledger.begin(c, r.Header.Get("X-Id"))
		if dead {
			c.SetLinger(0)
			return
		}
		if !m.answer(c, r, a) {
			return
		}
	}
}

// await waits for a request; one that is quiet for too long is not waited for, but its
// connection is, as after kill.
func (m *mortal) await(c *life, in *bufio.Reader) bool {
	if m.idle > 0 {
		m.w.ledger.update(func() {
			if !c.dead {
				c.SetReadDeadline(time.Now().Add(m.idle))
			}
		})
	}
	_, err := in.Peek(1)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		m.w.ledger.update(func() { m.end(c, false) })
		_, err = in.Peek(1)
	}
	if err == nil {
		m.w.ledger.update(func() {
			if !c.dead {
				c.SetReadDeadline(time.Time{})
			}
		})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		m.w.tally.fault("backend", fmt.Errorf("%s: a connection that was ended is kept by the daemon", m.name))
	}
	return err == nil
}

// answer answers a request as a backend does (see backend.serve), do=drip: in pieces,
// and reports whether that went well.
func (m *mortal) answer(c *life, r *http.Request, a *attempt) bool {
	ask, id := r.URL.Query(), r.Header.Get("X-Id")
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, r.Body); err != nil {
		return false
	}
	if want := r.Header.Get("X-Sum"); want != "" && want != fmt.Sprint(sum.Sum32()) {
		m.w.tally.fault("backend", fmt.Errorf("%s got another body with %s %s than was sent: %d, want %s", m.name, r.Method, id, sum.Sum32(), want))
	}
	m.w.ledger.update(func() { a.read = true })
	if ask.Get("do") == "slow" {
		wait(context.Background(), 50*time.Millisecond)
	}
	pieces := m.pieces(r)
	for n, p := range pieces {
		sent, err := c.Write(p)
		last := n == len(pieces)-1
		m.w.ledger.update(func() {
			a.wrote += sent
			if err != nil || last {
				a.whole, a.over = err == nil && !a.reset, true
			}
		})
		if err != nil {
			return false
		}
		if ask.Get("do") == "drip" && !last {
			wait(context.Background(), 10*time.Millisecond)
		}
	}
	return true
}

// pieces is the answer to a request, in the pieces in which it is sent.
func (m *mortal) pieces(r *http.Request) (all [][]byte) {
	ask, id := r.URL.Query(), r.Header.Get("X-Id")
	size, _ := strconv.Atoi(ask.Get("size"))
	head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nX-Backend: %s\r\nX-Id: %s\r\nX-Host: %s\r\n", m.name, id, r.Host)
	chunked := ask.Has("chunked")
	if chunked {
		head = append(head, "Transfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n"...)
	} else {
		head = fmt.Appendf(head, "Content-Length: %d\r\n\r\n", size)
	}
	all = append(all, head)
	if r.Method == http.MethodHead {
		return all
	}
	const parts = 4
	for n := range parts {
		part := content(id, size)[size*n/parts : size*(n+1)/parts]
		switch {
		case len(part) == 0:
			continue
		case chunked:
			part = fmt.Appendf(nil, "%x\r\n%s\r\n", len(part), part)
		}
		all = append(all, part)
	}
	if chunked {
		all = append(all, fmt.Appendf(nil, "0\r\nX-End: %s\r\n\r\n", id))
	}
	return all
}
