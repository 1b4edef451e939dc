package upstream

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server accepts connections and hands them to the test.
type server struct {
	address string
	conns   chan *net.TCPConn
}

func newServer(t testing.TB) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: l.Addr().String(), conns: make(chan *net.TCPConn, 1000)}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.conns <- c.(*net.TCPConn)
		}
	})
	t.Cleanup(func() {
		l.Close()
		accepting.Wait()
		close(s.conns)
		for c := range s.conns {
			c.Close()
		}
	})
	return s
}

// next is the server's end of the connection that was made next.
func (s *server) next(t testing.TB) *net.TCPConn {
	t.Helper()
	select {
	case c := <-s.conns:
		c.SetDeadline(time.Now().Add(30 * time.Second))
		t.Cleanup(func() { c.Close() })
		return c
	case <-time.After(30 * time.Second):
		t.Fatal("nobody connects")
		return nil
	}
}

func newPools(t testing.TB) *Pools {
	t.Helper()
	p := New(Options{ConnectTimeout: 30 * time.Second, IdlePerEndpoint: 3})
	t.Cleanup(p.Close)
	return p
}

// take is a connection that is kept, unless fresh is set, or a new one.
func take(ctx context.Context, p *Pools, address string, fresh bool) (*Conn, error) {
	if !fresh {
		if c := p.Kept(address); c != nil {
			return c, nil
		}
	}
	return p.Dial(ctx, address)
}

// get is take that must succeed.
func get(t testing.TB, p *Pools, address string, fresh bool) *Conn {
	t.Helper()
	c, err := take(context.Background(), p, address, fresh)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ended wants the other side to have closed.
func ended(t testing.TB, c net.Conn, say string) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s: read %d bytes, %v; want the end", say, n, err)
	}
}

// eventually waits for what the kernel does in its own time.
func eventually(t testing.TB, say string, holds func() bool) {
	t.Helper()
	end := time.After(30 * time.Second)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-end:
			t.Fatalf("%s: did not happen", say)
		}
	}
}

func TestReuse(t *testing.T) {
	s, p := newServer(t), newPools(t)
	first, second := get(t, p, s.address, false), get(t, p, s.address, false)
	if first == second || first.Reused() || second.Reused() || p.Idle(s.address) != 0 {
		t.Fatal("two users of one connection")
	}
	first.Put()
	second.Put()
	if got := p.Idle(s.address); got != 2 {
		t.Errorf("%d idle connections, want 2", got)
	}
	if c := get(t, p, s.address, true); c == first || c == second || c.Reused() {
		t.Error("asked for a fresh connection, got a used one")
	} else {
		c.Close()
	}
	if c := get(t, p, s.address, false); c != second || !c.Reused() {
		t.Error("not the one that was used last")
	}
	if c := get(t, p, s.address, false); c != first || !c.Reused() || p.Idle(s.address) != 0 {
		t.Error("not the other one")
	}
	first.Close()
	second.Close()
}

func TestIdleLimit(t *testing.T) {
	s, p := newServer(t), newPools(t)
	var conns []*Conn
	var ends []*net.TCPConn
	for range 5 {
		conns = append(conns, get(t, p, s.address, false))
		ends = append(ends, s.next(t))
	}
	for _, c := range conns {
		c.Put()
	}
	if got := p.Idle(s.address); got != 3 {
		t.Errorf("%d idle connections, want 3", got)
	}
	for _, c := range ends[3:] {
		ended(t, c, "one too many")
	}
}

// TestUnfit has connections that nobody should get: closed, reset, or spoken to
// by their server.
func TestUnfit(t *testing.T) {
	for say, spoil := range map[string]func(*net.TCPConn){
		"closed":      func(c *net.TCPConn) { c.Close() },
		"half-closed": func(c *net.TCPConn) { c.CloseWrite() },
		"reset":       func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"spoken to":   func(c *net.TCPConn) { io.WriteString(c, "x") },
	} {
		s, p := newServer(t), newPools(t)
		c := get(t, p, s.address, false)
		end := s.next(t)
		c.Put()
		if !c.quiet() {
			t.Errorf("%s: unfit before it was", say)
		}
		spoil(end)
		eventually(t, say, func() bool { return !c.quiet() })
		if other := get(t, p, s.address, false); other == c || other.Reused() {
			t.Errorf("%s: it was handed out", say)
		} else {
			other.Close()
		}
		if got := p.Idle(s.address); got != 0 {
			t.Errorf("%s: it is kept", say)
		}
	}
}

func TestRetain(t *testing.T) {
	stays, leaves, p := newServer(t), newServer(t), newPools(t)
	p.Retain([]string{stays.address, leaves.address})
	idle, used, kept := get(t, p, leaves.address, false), get(t, p, leaves.address, false), get(t, p, stays.address, false)
	idleEnd, usedEnd := leaves.next(t), leaves.next(t)
	idle.Put()
	kept.Put()
	p.Retain([]string{stays.address})
	ended(t, idleEnd, "an idle connection to an endpoint that left")
	if got := p.Idle(stays.address); got != 1 {
		t.Errorf("%d connections to the endpoint that stays, want 1", got)
	}
	used.Put()
	ended(t, usedEnd, "one in use, when it came back")

	late := get(t, p, leaves.address, false) // by a request of the table before
	lateEnd := leaves.next(t)
	late.Put()
	ended(t, lateEnd, "one that was made late")
	if got := p.Idle(leaves.address); got != 0 {
		t.Errorf("%d connections are kept for an endpoint that left", got)
	}
}

// TestSweep: time is an argument of what the janitor does.
func TestSweep(t *testing.T) {
	s, p := newServer(t), newPools(t)
	old, dead, good := get(t, p, s.address, false), get(t, p, s.address, false), get(t, p, s.address, false)
	oldEnd, deadEnd := s.next(t), s.next(t)
	for _, c := range []*Conn{old, dead, good} {
		c.Put()
	}
	deadEnd.Close()
	eventually(t, "the end of the dead one", func() bool { return !dead.quiet() })
	old.idleSince = old.idleSince.Add(-time.Hour)
	q := p.of(s.address)
	q.sweep(time.Now())
	if got := p.Idle(s.address); got != 1 {
		t.Errorf("%d idle connections, want the good one", got)
	}
	ended(t, oldEnd, "one that idled for an hour")
	if c := get(t, p, s.address, false); c != good {
		t.Error("the good one is not there")
	}
	good.Put()
	q.sweep(good.idleSince.Add(idleLife))
	if p.Idle(s.address) != 1 {
		t.Error("closed before its time")
	}
	q.sweep(good.idleSince.Add(idleLife + 1))
	if p.Idle(s.address) != 0 {
		t.Error("kept beyond its time")
	}
}

// TestJanitor: nobody has to ask.
func TestJanitor(t *testing.T) {
	s, p := newServer(t), newPools(t)
	get(t, p, s.address, false).Put()
	s.next(t).Close()
	eventually(t, "the janitor", func() bool { return p.Idle(s.address) == 0 })
}

func TestClose(t *testing.T) {
	s, p := newServer(t), newPools(t)
	idle, used := get(t, p, s.address, false), get(t, p, s.address, false)
	idleEnd, usedEnd := s.next(t), s.next(t)
	idle.Put()
	p.Close()
	p.Close()
	ended(t, idleEnd, "an idle connection")
	if _, err := used.raw.Write([]byte("x")); err != nil {
		t.Errorf("one in use was taken from its user: %v", err)
	}
	usedEnd.Read(make([]byte, 1))
	used.Put()
	ended(t, usedEnd, "one that came back after the end")
}

func TestConnectErrors(t *testing.T) {
	s, p := newServer(t), newPools(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	refused := l.Addr().String()
	if _, err := p.Dial(context.Background(), refused); !errors.Is(err, syscall.ECONNREFUSED) || !strings.Contains(err.Error(), "connect to "+refused+": ") {
		t.Errorf("refused: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Dial(ctx, s.address); !errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "canceled") {
		t.Errorf("canceled: %v", err)
	}
	if _, err := p.Dial(context.Background(), "nonsense"); err == nil {
		t.Error("an address without a port was connected to")
	}
}

// TestTogether has everybody at once; at the end nothing is left.
func TestTogether(t *testing.T) {
	s := newServer(t)
	p := New(Options{ConnectTimeout: 30 * time.Second, IdlePerEndpoint: 3})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 100 {
				c, err := take(context.Background(), p, s.address, n%10 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				if n%7 == 0 {
					c.Close()
				} else {
					c.Put()
				}
			}
		})
	}
	all.Go(func() {
		for n := range 100 {
			if n%2 == 0 {
				p.Retain(nil)
			} else {
				p.Retain([]string{s.address})
			}
		}
	})
	all.Wait()
	if got := p.Idle(s.address); got > 3 {
		t.Errorf("%d idle connections, at most 3 are allowed", got)
	}
	p.Close()
	for {
		select {
		case c := <-s.conns:
			c.SetDeadline(time.Now().Add(30 * time.Second))
			ended(t, c, "a connection of closed pools")
			c.Close()
			continue
		default:
		}
		break
	}
}

func TestAllocations(t *testing.T) {
	s, p := newServer(t), newPools(t)
	get(t, p, s.address, false).Put()
	ctx := context.Background()
	if n := testing.AllocsPerRun(100, func() {
		c, _ := take(ctx, p, s.address, false)
		c.Put()
	}); n != 0 {
		t.Errorf("%v allocations for a connection that is there", n)
	}
}
