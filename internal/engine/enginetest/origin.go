package enginetest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/route"
)

// Handler answers one request at an Origin; an error closes the connection.
type Handler func(*Exchange) error

// Origin is an upstream that answers as a function says and remembers the heads
// that it got.
type Origin struct {
	Address string

	monitor          // guards the following
	heads   []string // one per request head, in order of arrival
	conns   int
	open    map[net.Conn]bool // whether it waits for a request
	settled bool

	wg sync.WaitGroup
}

// Exchange is one request as an Origin sees it.
type Exchange struct {
	// Head is the request head, line ends included.
	Head string
	// In reads what follows the head, Out is the connection to answer on.
	In  *bufio.Reader
	Out *net.TCPConn
	// Number counts the requests of the origin from 1, OfConn those of this connection.
	Number, OfConn int

	listener net.Listener
}

// Refuse ends the origin's listening: further connections are refused.
func (e *Exchange) Refuse() { e.listener.Close() }

// Field returns the values of a header of the request, by any spelling.
func (e *Exchange) Field(name string) []string { return HeadField(e.Head, name) }

// Method and Target are those of the request line.
func (e *Exchange) Method() string { return strings.SplitN(e.Head, " ", 3)[0] }

// Target is the request target as it came.
func (e *Exchange) Target() string { return strings.SplitN(e.Head, " ", 3)[1] }

// HeadField returns the values of a field in a raw head.
func HeadField(head, name string) []string {
	var values []string
	for _, line := range strings.Split(head, "\r\n")[1:] {
		k, v, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(k, name) {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// message reads the rest of the request and returns all of it.
func (e *Exchange) message() (*message, error) {
	m := newMessage(e.Head)
	if err := m.readBody(e.In); err != nil {
		m.cut = true
		return m, errCut
	}
	return m, nil
}

// Body reads the whole body that the head announces, decoded.
func (e *Exchange) Body() (string, error) {
	m, err := e.message()
	if err != nil {
		return "", err
	}
	return m.body, nil
}

// Await waits for a signal of the test.
func (e *Exchange) Await(signal <-chan struct{}) error {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-signal:
		return nil
	case <-t.C:
		return errors.New("no signal in time")
	}
}

// Gone waits until the proxy gives the request up; an error says that it did
// something else.
func (e *Exchange) Gone() error {
	e.Out.SetReadDeadline(time.Now().Add(patience))
	b, err := e.In.ReadByte()
	if err == io.EOF || isReset(err) {
		return nil
	}
	return fmt.Errorf("instead of the end came byte %q, error %v", b, err)
}

// ErrClose, returned by a handler, closes the connection without more ado.
var ErrClose = errors.New("close")

// NewOrigin starts an origin until the end of the test.
func NewOrigin(t testing.TB, handle Handler) *Origin {
	t.Helper()
	l := listen(t)
	o := &Origin{Address: l.Addr().String(), open: map[net.Conn]bool{}}
	o.wg.Go(func() { o.accept(l, handle) })
	t.Cleanup(func() {
		l.Close()
		o.CloseAll()
		o.wg.Wait()
	})
	return o
}

// Text is a handler that answers 200 with this body and keeps the connection.
func Text(body string) Handler {
	return func(e *Exchange) error {
		if _, err := e.Body(); err != nil {
			return err
		}
		return e.Reply("200 OK", body)
	}
}

// Reply writes a response with a Content-Length.
func (e *Exchange) Reply(status, body string) error {
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 " + status + "\r\nContent-Type: text/plain\r\nContent-Length: ")
	b.WriteString(strconv.Itoa(len(body)))
	b.WriteString("\r\n\r\n")
	if e.Method() != "HEAD" {
		b.WriteString(body)
	}
	_, err := e.Out.Write(b.Bytes())
	return err
}

// Raw writes bytes as they are.
func (e *Exchange) Raw(s string) error {
	_, err := io.WriteString(e.Out, s)
	return err
}

func (o *Origin) accept(l net.Listener, handle Handler) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		o.change(func() {
			o.conns++
			o.open[c] = true
		})
		o.wg.Go(func() { o.serve(c.(*net.TCPConn), l, handle) })
	}
}

func (o *Origin) serve(c *net.TCPConn, l net.Listener, handle Handler) {
	defer func() {
		c.Close()
		o.change(func() { delete(o.open, c) })
	}()
	in := bufio.NewReader(c)
	for n := 1; ; n++ {
		head, err := readHead(in)
		if err != nil {
			return
		}
		if head == settleRequest {
			o.change(func() { o.settled = true })
			return
		}
		e := &Exchange{Head: head, In: in, Out: c, OfConn: n, Number: o.saw(c, head), listener: l}
		if handle(e) != nil {
			return
		}
		o.change(func() { o.open[c] = true })
	}
}

// readHead reads up to and with the empty line. The error is io.EOF when
// nothing came at all.
func readHead(in *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		head.WriteString(line)
		if err == io.EOF && head.Len() > 0 {
			return head.String(), errCut
		}
		if err != nil {
			return head.String(), err
		}
		if line == "\r\n" {
			return head.String(), nil
		}
	}
}

func (o *Origin) saw(c net.Conn, head string) (number int) {
	o.change(func() {
		o.open[c] = false
		o.heads = append(o.heads, head)
		number = len(o.heads)
	})
	return number
}

// Heads returns the request heads seen so far.
func (o *Origin) Heads() (heads []string) {
	o.read(func() { heads = append(heads, o.heads...) })
	return heads
}

// Conns counts the connections accepted so far.
func (o *Origin) Conns() (n int) {
	o.read(func() { n = o.conns })
	return n
}

// CloseAll closes every connection that is open, CloseIdle those that wait for a
// request.
func (o *Origin) CloseAll() { o.closeWhere(func(bool) bool { return true }) }

// CloseIdle closes the connections that wait for a request.
func (o *Origin) CloseIdle() { o.closeWhere(func(idle bool) bool { return idle }) }

func (o *Origin) closeWhere(which func(idle bool) bool) {
	o.read(func() {
		for c, idle := range o.open {
			if which(idle) {
				c.Close()
			}
		}
	})
}

// Spec is a configuration with one backend at this origin, for every path of
// every host.
func (o *Origin) Spec() route.Spec { return specFor(o.Address) }

// specFor is a configuration with one backend of these endpoints, in turn, for
// every path of every host.
func specFor(addresses ...string) route.Spec {
	b := route.BackendSpec{Name: "origin"}
	for _, a := range addresses {
		b.Endpoints = append(b.Endpoints, route.EndpointSpec{Address: a, Weight: 1})
	}
	return route.Spec{
		Backends: []route.BackendSpec{b},
		Routes:   []route.RouteSpec{{Path: "/", PathType: route.Prefix, Backend: b.Name}},
	}
}

// settleRequest is the request of a visitor that only wants to be noticed.
const settleRequest = "GET /settle HTTP/1.1\r\n\r\n"

// settle waits until the origin has seen to the end everything that was ever
// sent to it. All connections to it have been closed by the other side.
func (o *Origin) settle(t testing.TB) {
	t.Helper()
	// The queue of a listener is first in, first out: once this connection is
	// seen, all earlier ones are.
	c, err := net.Dial("tcp", o.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, settleRequest)
	o.wait(t, "the origin's connections to end", func() bool { return o.settled && len(o.open) == 0 })
}
