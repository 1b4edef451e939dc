package upstream

import (
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"ramjet.dev/ingress/internal/deadline"
	"ramjet.dev/ingress/internal/progress"
)

// Conn is a connection to an endpoint, owned by one exchange at a time. Read
// belongs to one goroutine and Write to one (perhaps another); Abort may be
// called from any.
type Conn struct {
	raw       *net.TCPConn
	control   syscall.RawConn
	home      *pool
	reused    bool
	idleSince time.Time
	probe     probe

	mu      sync.Mutex // guards the deadlines
	aborted bool
	read    deadline.Lazy

	write progress.Writer // belongs to the goroutine that writes
}

func newConn(raw *net.TCPConn, home *pool) *Conn {
	c := &Conn{raw: raw, home: home}
	c.control, _ = raw.SyscallConn() // fails only on a nil connection
	c.probe.init()
	return c
}

// Reused reports whether the connection served an exchange before this one.
func (c *Conn) Reused() bool { return c.reused }

// Spoke notes that the endpoint answered as HTTP/1.0 or not.
func (c *Conn) Spoke(http10 bool) {
	if c.home.http10.Load() != http10 {
		c.home.http10.Store(http10)
	}
}

// HTTP10 reports whether the endpoint's latest answer was one of HTTP/1.0.
func (c *Conn) HTTP10() bool { return c.home.http10.Load() }

// Read reads from the endpoint under the deadline set by ReadWithin.
func (c *Conn) Read(b []byte) (int, error) { return c.raw.Read(b) }

// Write writes to the endpoint. It is given up when nothing moved for idle (0 = any
// time), with os.ErrDeadlineExceeded, or when given says so, which is asked about
// once a second and may be nil.
func (c *Conn) Write(b []byte, idle time.Duration, given func() error) (int, error) {
	return c.write.Write(c.raw, b, idle, func() error {
		if c.isAborted() {
			return os.ErrDeadlineExceeded
		}
		if given != nil {
			return given()
		}
		return nil
	})
}

// CloseWrite sends FIN and leaves the other direction open.
func (c *Conn) CloseWrite() error { return c.raw.CloseWrite() }

// ReadWithin gives reads from now on at least d, and at most an eighth more;
// 0 takes the deadline away.
func (c *Conn) ReadWithin(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, change := c.read.Next(time.Now(), d); change && !c.aborted {
		c.raw.SetReadDeadline(at)
	}
}

// Abort ends reads and writes that are going on, and all later ones. The
// connection must then be closed by its owner.
func (c *Conn) Abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aborted = true
	c.raw.SetDeadline(time.Unix(1, 0))
}

// Put gives the connection back for the next request. The caller has read the
// last response to its end and has nothing left in its buffers.
func (c *Conn) Put() {
	if c.isAborted() {
		c.Close()
		return
	}
	c.home.put(c)
}

func (c *Conn) isAborted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aborted
}

// Close closes the connection; it is not used again.
func (c *Conn) Close() { c.raw.Close() }

// Waiting reports whether something can be read without waiting: bytes, or the
// end of the stream. It belongs to the goroutine that reads.
func (c *Conn) Waiting() bool { return !c.quiet() }

// quiet reports whether an idle connection is open and its server has sent
// nothing. Bytes that come unasked would be taken for the answer to the next
// request, so they disqualify it as much as a FIN does.
func (c *Conn) quiet() bool {
	return c.control.Control(c.probe.run) == nil && c.probe.quiet
}
