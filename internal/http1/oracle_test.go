package http1

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"
	"time"
)

// oracle is net/http's server, fed from memory: what it makes of the bytes that we
// accepted is what a request passed on by us will mean to it.
type oracle struct {
	conns chan net.Conn
	done  chan struct{}
}

// newOracle starts a server that ends with the test.
func newOracle(t testing.TB) *oracle {
	o := &oracle{conns: make(chan net.Conn), done: make(chan struct{})}
	server := &http.Server{
		Handler:        http.HandlerFunc(observe),
		MaxHeaderBytes: 2 * DefaultHeadBytes,
		ErrorLog:       log.New(io.Discard, "", 0),
		// Else it answers OPTIONS * itself.
		DisableGeneralOptionsHandler: true,
	}
	ended := make(chan struct{})
	go func() {
		server.Serve(o)
		close(ended)
	}()
	t.Cleanup(func() {
		server.Close()
		<-ended
	})
	return o
}

func (o *oracle) Accept() (net.Conn, error) {
	select {
	case c := <-o.conns:
		return c, nil
	case <-o.done:
		return nil, net.ErrClosed
	}
}

func (o *oracle) Close() error {
	close(o.done)
	return nil
}

func (o *oracle) Addr() net.Addr { return memAddr{} }

// serve gives the server the bytes of a request and then the end of input. It
// returns what the handler saw, or what was answered without the handler.
func (o *oracle) serve(input []byte) (seen *observed, answer string) {
	c := &memConn{input: bytes.NewReader(input), seen: make(chan *observed, 1), closed: make(chan struct{})}
	o.conns <- c
	select {
	case seen = <-c.seen:
	case <-c.closed:
		select { // the handler came first, and both were ready
		case seen = <-c.seen:
		default:
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return seen, c.answer.String()
}

// observed is a request as a handler sees it.
type observed struct {
	method, uri, path, query, host, proto string
	header, trailer                       http.Header
	length                                int64
	coding                                []string
	close                                 bool
	body                                  string
	bodyErr                               error
}

// observe is the handler. The connection comes with the context, by its address:
// memConn is its own.
func observe(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(http.LocalAddrContextKey).(*memConn)
	body, err := io.ReadAll(r.Body)
	c.seen <- &observed{
		method: r.Method, uri: r.RequestURI, path: r.URL.EscapedPath(), query: r.URL.RawQuery,
		host: r.Host, proto: r.Proto, header: r.Header, trailer: r.Trailer,
		length: r.ContentLength, coding: r.TransferEncoding, close: r.Close,
		body: string(body), bodyErr: err,
	}
}

// memConn is a connection whose peer has sent everything.
type memConn struct {
	input  *bytes.Reader
	seen   chan *observed // one request at most is sent
	closed chan struct{}
	once   sync.Once

	mu     sync.Mutex
	answer strings.Builder
}

func (c *memConn) Read(b []byte) (int, error) { return c.input.Read(b) }

func (c *memConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answer.Write(b)
}

func (c *memConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *memConn) LocalAddr() net.Addr              { return c }
func (c *memConn) RemoteAddr() net.Addr             { return c }
func (c *memConn) Network() string                  { return "mem" }
func (c *memConn) String() string                   { return "mem" }
func (c *memConn) SetDeadline(time.Time) error      { return nil }
func (c *memConn) SetReadDeadline(time.Time) error  { return nil }
func (c *memConn) SetWriteDeadline(time.Time) error { return nil }

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem" }

// headerOf makes of fields what net/http makes of them.
func headerOf(fields []Field) http.Header {
	h := make(http.Header)
	for _, f := range fields {
		key := textproto.CanonicalMIMEHeaderKey(string(f.Name))
		h[key] = append(h[key], string(f.Value))
	}
	return h
}

// normalHeader takes out of a header what net/http takes out or puts in.
func normalHeader(h http.Header) http.Header {
	h = h.Clone()
	if h == nil {
		h = make(http.Header)
	}
	for _, name := range []string{"Host", "Transfer-Encoding", "Trailer"} {
		delete(h, name)
	}
	if p := h["Pragma"]; len(p) > 0 && p[0] == "no-cache" {
		delete(h, "Cache-Control")
	}
	return h
}

func sameHeader(a, b http.Header) bool {
	return fmt.Sprint(normalHeader(a)) == fmt.Sprint(normalHeader(b))
}
