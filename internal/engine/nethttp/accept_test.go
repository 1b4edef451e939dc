package nethttp

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"

	"ramjet.dev/ingress/internal/engine"
)

// short is a listener that fails so often before it takes a connection.
type short struct {
	net.Listener
	errors []error
}

func (s *short) Accept() (net.Conn, error) {
	if len(s.errors) == 0 {
		return s.Listener.Accept()
	}
	err := s.errors[0]
	s.errors = s.errors[1:]
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
}

// TestAcceptGoesOn: a listener ends when it is closed, and at no other error.
func TestAcceptGoesOn(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{metrics: new(engine.Metrics), log: slog.New(slog.DiscardHandler)}
	g := newGateListener(&short{l, []error{syscall.ENOBUFS, syscall.EMFILE, syscall.EPROTO, syscall.ECONNABORTED}}, e)
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	taken, err := g.Accept()
	if err != nil {
		t.Fatal(err)
	}
	taken.Close()
	g.Close()
	if _, err := g.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
