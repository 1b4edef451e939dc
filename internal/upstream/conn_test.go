package upstream

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// TestQuiet: asking takes nothing away, also while others use the connection.
func TestQuiet(t *testing.T) {
	s, p := newServer(t), newPools(t)
	c := get(t, p, s.address, false)
	defer c.Close()
	end := s.next(t)
	io.WriteString(end, "hello")
	eventually(t, "something waits", c.Waiting)
	for range 3 {
		if !c.Waiting() {
			t.Error("asked a second time, nothing waits")
		}
	}
	b := make([]byte, 10)
	if n, err := c.Read(b); string(b[:n]) != "hello" || err != nil {
		t.Errorf("then read %q, %v", b[:n], err)
	}
	if c.Waiting() {
		t.Error("something waits that was read")
	}
	if n := testing.AllocsPerRun(100, func() { c.Waiting() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAbort: an abort ends what is going on and what comes, and the connection
// is not used again.
func TestAbort(t *testing.T) {
	s, p := newServer(t), newPools(t)
	c := get(t, p, s.address, false)
	end := s.next(t)
	var reading sync.WaitGroup
	reading.Go(func() {
		var timeout net.Error
		if _, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("the read ended with %v", err)
		}
	})
	c.Abort()
	reading.Wait()
	c.ReadWithin(time.Hour)
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a deadline undid the abort")
	}
	c.Put()
	ended(t, end, "an aborted connection, given back")
	if p.Idle(s.address) != 0 {
		t.Error("it is kept")
	}
}

func TestReadWithin(t *testing.T) {
	s, p := newServer(t), newPools(t)
	c := get(t, p, s.address, false)
	defer c.Close()
	s.next(t)
	const d = 50 * time.Millisecond
	began := time.Now()
	c.ReadWithin(d)
	_, err := c.Read(make([]byte, 1))
	var timeout net.Error
	if took := time.Since(began); !errors.As(err, &timeout) || !timeout.Timeout() || took < d {
		t.Errorf("%v after %v", err, took)
	}
}

// TestHTTP10 is a trait of the endpoint, not of a connection.
func TestHTTP10(t *testing.T) {
	s, other, p := newServer(t), newServer(t), newPools(t)
	a, b, c := get(t, p, s.address, false), get(t, p, s.address, false), get(t, p, other.address, false)
	a.Spoke(true)
	if !a.HTTP10() || !b.HTTP10() || c.HTTP10() {
		t.Errorf("%v, %v, %v", a.HTTP10(), b.HTTP10(), c.HTTP10())
	}
	for _, one := range []*Conn{a, b, c} {
		one.Close()
	}
}

func TestBuffers(t *testing.T) {
	if small, large := GetSmall(), GetLarge(); len(*small) != Small || len(*large) != Large {
		t.Errorf("%d and %d bytes", len(*small), len(*large))
	}
	grown := make([]byte, 3*Small)
	PutBuffer(&grown)
	for range 100 {
		if b := GetSmall(); len(*b) != Small {
			t.Fatalf("a buffer of %d bytes", len(*b))
		}
		if b := GetLarge(); len(*b) != Large {
			t.Fatalf("a buffer of %d bytes", len(*b))
		}
	}
}
