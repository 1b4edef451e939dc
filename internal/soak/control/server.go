package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// maxRequest bounds a request, in bytes.
	maxRequest = 4 << 10
	// requestTime is how long a client may take to send its request, and to take one
	// line of the answer.
	requestTime = 5 * time.Second
)

// Handler answers a request: with send, as often as it likes, and at the end with the
// result. It ends soon after ctx is done or send has failed; the zero Result says that
// there is none, and the client finds the connection broken. It is called by several
// goroutines at a time.
type Handler func(ctx context.Context, q Request, send func(Reply) error) Result

// Server is a listening socket.
type Server struct {
	listener net.Listener
	cancel   context.CancelFunc
	served   sync.WaitGroup
}

// Listen takes the socket at a path, also from a predecessor that died: the caller
// holds the lock that says that there is no other. Requests wait until Serve.
func Listen(path string) (*Server, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("make room for the control socket: %w", err)
	}
	mask := syscall.Umask(0o177) // the socket is the owner's from its first moment
	l, err := net.Listen("unix", path)
	syscall.Umask(mask)
	if err != nil {
		return nil, fmt.Errorf("open the control socket: %w", err)
	}
	return &Server{listener: l}, nil
}

// Serve answers requests until Close.
func (s *Server) Serve(h Handler) {
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	s.served.Go(func() {
		for {
			c, err := s.listener.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil { // out of files, say: it will pass
				time.Sleep(100 * time.Millisecond)
				continue
			}
			s.served.Go(func() { answer(ctx, c, h) })
		}
	})
}

// Close stops listening, lets go of the clients and waits until nobody is served.
func (s *Server) Close() {
	s.listener.Close()
	if s.cancel != nil {
		s.cancel()
	}
	s.served.Wait()
}

// answer serves one connection.
func answer(ctx context.Context, c net.Conn, h Handler) {
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(requestTime))
	heard := context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Now()) }) // who says nothing holds up no end
	in := bufio.NewReaderSize(c, maxRequest)
	line, err := in.ReadSlice('\n')
	heard()
	if err != nil {
		return
	}
	send := func(r Reply) error {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_ = c.SetWriteDeadline(time.Now().Add(requestTime))
		_, err = c.Write(append(text, '\n'))
		return err
	}
	var q Request
	if err := json.Unmarshal(line, &q); err != nil {
		_ = send(Reply{Result: &Result{Message: "this is no request: " + err.Error()}}) // it may be gone
		return
	}
	// A client says nothing more; what can be read is its end.
	_ = c.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watched sync.WaitGroup
	watched.Go(func() {
		_, _ = in.ReadByte()
		cancel()
	})
	if result := h(ctx, q, send); result != (Result{}) {
		_ = send(Reply{Result: &result}) // it may be gone
	}
	c.Close()
	watched.Wait()
}
