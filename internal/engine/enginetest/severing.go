package enginetest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"testing"
)

// cut is the end of a connection in the middle of a request or of its answer.
type cut struct {
	used   bool   // of a connection that has served a request before; else of a new one
	after  int    // bytes of the request that are read, at least one; 0 = all
	answer string // is sent before the end
	reset  bool   // the end is a reset
}

// severing is an origin that serves requests, and ends a connection where it is told to.
type severing struct {
	address string
	keeps   bool // connections after an answer

	monitor      // guards the following
	next    *cut // waits for a request on a connection of its kind
	came    int  // requests of which a byte came since the cut was ordered
	size    int  // of the last whole request
	open    map[net.Conn]bool
}

func newSevering(t testing.TB, keeps bool) *severing {
	t.Helper()
	l := listen(t)
	s := &severing{address: l.Addr().String(), keeps: keeps, open: map[net.Conn]bool{}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.change(func() { s.open[c] = true })
			go func() {
				s.serve(c.(*net.TCPConn))
				c.Close()
				s.change(func() { delete(s.open, c) })
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
		s.closeAll(t)
	})
	return s
}

// order arranges for the next cut.
func (s *severing) order(c cut) {
	s.change(func() { s.next, s.came = &c, 0 })
}

// happened waits until the cut that was ordered has been made.
func (s *severing) happened(t testing.TB) {
	t.Helper()
	s.wait(t, "the cut", func() bool { return s.next == nil })
}

// closeAll ends all connections.
func (s *severing) closeAll(t testing.TB) {
	t.Helper()
	s.read(func() {
		for c := range s.open {
			c.Close()
		}
	})
	s.wait(t, "the end of all connections to the origin", func() bool { return len(s.open) == 0 })
}

// counting counts the bytes read.
type counting struct {
	io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

func (s *severing) serve(c *net.TCPConn) {
	for used := false; ; used = true {
		in := &counting{Reader: c}
		first := make([]byte, 1)
		if _, err := io.ReadFull(in, first); err != nil {
			return
		}
		var now *cut
		s.change(func() {
			s.came++
			if s.next != nil && s.next.used == used {
				now = s.next
			}
		})
		if now != nil && now.after > 0 {
			_, _ = io.CopyN(io.Discard, in, int64(now.after-1))
			s.sever(c, now)
			return
		}
		m, err := readMessage(bufio.NewReader(io.MultiReader(bytes.NewReader(first), in)), func(*message) bool { return false })
		if err != nil || m.cut {
			return
		}
		if now != nil {
			s.sever(c, now)
			return
		}
		s.change(func() { s.size = in.n })
		answer := "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
		if !s.keeps {
			answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
		}
		if _, err := io.WriteString(c, answer); err != nil || !s.keeps {
			return
		}
	}
}

// sever makes a cut.
func (s *severing) sever(c *net.TCPConn, now *cut) {
	_, _ = io.WriteString(c, now.answer)
	if now.reset {
		c.SetLinger(0)
	}
	c.Close()
	s.change(func() { s.next = nil })
}
