package reactor

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// session is the TLS of a connection: crypto/tls above memory, whose bytes the loop
// moves. During the handshake a goroutine of its own stands in crypto/tls and waits for
// the loop to bring what the client sends; after it the loop itself calls crypto/tls,
// which then reads the socket directly and never waits.
type session struct {
	c   *conn
	tls *tls.Conn
	dry bool // everything that has come was read

	mu       sync.Mutex // until shaken
	arrived  sync.Cond
	shaken   bool   // the handshake has ended: from here all belongs to the loop
	over     bool   // nothing comes any more
	incoming []byte // what the client has sent; after the handshake, what is left of it
	sealed   []byte // what goes to the client, from sent on
	sent     int
	lent     bool // sealed is a buffer of the loop's

	// passed on, reads and writes go to this connection: see handover.
	to net.Conn
}

// errDry says that a read would have to wait. To crypto/tls it is an error that
// passes.
var errDry net.Error = dry{}

type dry struct{}

func (dry) Error() string   { return "nothing has come" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }

func newSession(c *conn, config *tls.Config, hello []byte) *session {
	s := &session{c: c, incoming: hello}
	s.arrived.L = &s.mu
	s.tls = tls.Server(wire{s, c.peer}, config)
	return s
}

// wire is the connection that crypto/tls sees.
type wire struct {
	*session
	peer netip.Addr
}

func (w wire) Read(p []byte) (int, error) {
	s := w.session
	if s.to != nil {
		return s.to.Read(p)
	}
	if s.shaken {
		return s.readSocket(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.incoming) == 0 && !s.over {
		s.arrived.Wait()
	}
	if len(s.incoming) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.incoming)
	s.incoming = s.incoming[n:]
	return n, nil
}

// readSocket is Read after the handshake.
func (s *session) readSocket(p []byte) (int, error) {
	if len(s.incoming) > 0 {
		n := copy(p, s.incoming)
		if s.incoming = s.incoming[n:]; len(s.incoming) == 0 {
			s.incoming = nil
		}
		return n, nil
	}
	if s.over {
		return 0, io.EOF
	}
	if !s.c.readable {
		return 0, errDry
	}
	n, how := s.c.sock.read(p)
	switch how {
	case moved:
		return n, nil
	case blocked:
		return 0, errDry
	case ended:
		return 0, io.EOF
	}
	return 0, unix.ECONNRESET
}

func (w wire) Write(p []byte) (int, error) {
	s := w.session
	if s.to != nil {
		return s.to.Write(p)
	}
	if s.shaken {
		s.seal(p)
		return len(p), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return 0, net.ErrClosed
	}
	if len(s.sealed) > 0 {
		s.sealed = append(s.sealed, p...)
		return len(p), nil
	}
	// The socket is open: whoever closes it says over first. A handshake fits into an
	// empty socket, so the loop is seldom needed for the rest.
	n, e := sysSend(s.c.fd, p)
	if e != 0 {
		n = 0
	}
	if n < len(p) {
		s.sealed = append(s.sealed, p[n:]...)
		s.c.loop.post(s.c.shaking)
	}
	return len(p), nil
}

// seal keeps bytes to be sent.
func (s *session) seal(p []byte) {
	if s.sealed == nil {
		s.sealed, s.lent = s.c.loop.large()[:0], true
	}
	s.sealed = append(s.sealed, p...)
}

func (w wire) Close() error {
	if w.to != nil {
		return w.to.Close()
	}
	return nil
}

func (w wire) LocalAddr() net.Addr  { return &net.TCPAddr{} }
func (w wire) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.AddrPortFrom(w.peer, 0)) }

// The deadlines are the loop's business, unless the session was passed on.
func (w wire) SetDeadline(t time.Time) error {
	if w.to != nil {
		return w.to.SetDeadline(t)
	}
	return nil
}

func (w wire) SetReadDeadline(t time.Time) error {
	if w.to != nil {
		return w.to.SetReadDeadline(t)
	}
	return nil
}

func (w wire) SetWriteDeadline(t time.Time) error {
	if w.to != nil {
		return w.to.SetWriteDeadline(t)
	}
	return nil
}

// shake begins the handshake and has done called on the loop when it has ended.
func (s *session) shake(done func(error)) {
	l := s.c.loop
	l.engine.beside.Go(func() {
		deepen()
		err := s.tls.Handshake()
		l.post(func() { l.guarded(&s.c.sock, func() { done(err) }) })
	})
}

// bring hands what the client sent to the handshake, and reports whether it may need
// more: what follows the last message of a client waits in the socket.
func (s *session) bring(b []byte) (more bool) {
	s.mu.Lock()
	s.incoming = append(s.incoming, b...)
	more = len(s.incoming) < mostHello
	s.mu.Unlock()
	s.arrived.Signal()
	return more
}

// stop ends a handshake that is going on.
func (s *session) stop() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.arrived.Signal()
}

// flush sends what is sealed; blocked means that some of it has to wait.
func (s *session) flush() transfer {
	if !s.shaken {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	for s.sent < len(s.sealed) {
		n, how := s.c.sock.send(s.sealed[s.sent:], nil)
		s.sent += n
		if x := s.c.x; n > 0 && x != nil {
			x.moved = s.c.loop.now
		}
		if how != moved {
			return how
		}
	}
	s.unseal()
	return moved
}

func (s *session) unseal() {
	s.sent = 0
	if s.lent {
		s.c.loop.put(s.sealed)
	}
	s.sealed, s.lent = nil, false
}

// mostAnswers is how much may wait for a client before nothing more is read from it: what
// it sends can ask for answers of TLS itself, new keys, which nobody sees to be bounded.
const mostAnswers = 2 * large

// read opens what has come.
func (s *session) read(b []byte) (int, transfer) {
	if s.dry {
		return 0, blocked
	}
	if len(s.sealed)-s.sent > mostAnswers && s.flush() == blocked {
		s.dry = true // until it takes what we have to say
		return 0, blocked
	}
	n, err := s.tls.Read(b)
	if len(s.sealed) > 0 { // an alert, or the answer to a change of keys
		s.flush()
	}
	switch {
	case n > 0:
		return n, moved
	case err == nil || errors.Is(err, errDry):
		s.dry = true
		return 0, blocked
	case err == io.EOF:
		return 0, ended
	}
	return 0, failed
}

// mostSealed is how much is sealed at once: with its records it fits into a buffer.
const mostSealed = 3 * 16 << 10

// send seals two pieces, as one record if they are short, and sends what it can. What
// was sealed counts as sent; blocked says that some of that is still on its way.
func (s *session) send(a, b []byte) (int, transfer) {
	if how := s.flush(); how != moved {
		return 0, how
	}
	whole := a
	switch {
	case len(a) == 0:
		whole = b
	case len(b) > 0:
		whole = append(s.c.loop.scratch[:0], a[:min(len(a), mostSealed)]...)
		whole = append(whole, b[:min(len(b), mostSealed-len(whole))]...)
	}
	whole = whole[:min(len(whole), mostSealed)]
	if _, err := s.tls.Write(whole); err != nil {
		return 0, failed
	}
	return len(whole), s.flush()
}

// close gives back what the session holds; a handshake that is going on ends.
func (s *session) close(shaking bool) {
	if shaking {
		s.stop()
		return
	}
	if !s.shaken || s.to != nil {
		return
	}
	if !s.c.broken {
		_ = s.tls.CloseWrite() // so that the client knows that this is the end
		s.flush()
	}
	s.unseal()
}

// depth makes a stack of 16 KiB, in which a handshake fits; it is the largest kind that
// the runtime keeps free ones of.
const depth = 7 << 10

// deepen grows the stack of a goroutine at once to what a handshake needs. It would else
// be copied at each of three doublings, with ever more on it: a twentieth of a handshake.
//
//go:noinline
func deepen() {
	var room [depth]byte
	fill(&room)
}

//go:noinline
func fill(room *[depth]byte) { room[0]++ }
