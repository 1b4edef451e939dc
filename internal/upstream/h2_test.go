package upstream

import (
	"context"
	"testing"
)

// An endpoint that has left the table serves late requests without keeping
// anything; when it comes back its connections are kept as ever.
func TestEndpointComesBack(t *testing.T) {
	s, p := newServer(t), newPools(t)
	for _, step := range []struct {
		named []string
		idle  int
	}{{[]string{s.address}, 1}, {nil, 0}, {[]string{s.address}, 1}} {
		p.Retain(step.named)
		get(t, p, s.address, false).Put()
		if got := p.Idle(s.address); got != step.idle {
			t.Errorf("with %v in the table: %d idle connections, want %d", step.named, got, step.idle)
		}
	}
}

// The end of the pools is the end of HTTP/2 connections, also of those that are
// asked for later.
func TestHTTP2EndsWithPools(t *testing.T) {
	s, p := newServer(t), newPools(t)
	p.Retain([]string{s.address})
	p.HTTP2(s.address)
	h := p.of(s.address).h2
	if _, err := h.dial(context.Background(), "tcp", s.address); err != nil {
		t.Fatal(err)
	}
	p.Close()
	ended(t, s.next(t), "after Close")
	if _, err := h.dial(context.Background(), "tcp", s.address); err == nil {
		t.Error("a connection was made after the end")
	}
}

// A request that comes too late for its endpoint finds a transport all the same.
func TestHTTP2Late(t *testing.T) {
	s, p := newServer(t), newPools(t)
	p.Retain(nil)
	if p.HTTP2(s.address) == nil {
		t.Fatal("there is no transport")
	}
	if n := len(p.leavers.list()); n != 1 {
		t.Errorf("%d are being watched, want 1", n)
	}
}

// What clients read slowly is not collected here.
func TestHTTP2Streams(t *testing.T) {
	if n := newHTTP2(Options{}).transport.HTTP2.MaxReceiveBufferPerStream; n == 0 || n > 1<<20 {
		t.Errorf("a stream may fill %d bytes", n)
	}
}

// A gRPC server takes pings of HTTP/2 on a silent stream for abuse: what notices a
// dead peer must be TCP.
func TestNoPings(t *testing.T) {
	if c := newHTTP2(Options{}).transport.HTTP2; c != nil && c.SendPingTimeout != 0 {
		t.Errorf("pings after %v of silence", c.SendPingTimeout)
	}
}
