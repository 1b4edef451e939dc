package enginetest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ramjet.dev/ingress/internal/route"
)

// Origin is an upstream that answers as a function says and keeps the exact
// bytes of every connection.
type Origin struct {
	Address string

	mu    sync.Mutex
	heads []string // one per request head, in order of arrival
	conns int
	open  map[net.Conn]struct{}
	grown chan struct{}
	wg    sync.WaitGroup
}

// Exchange is one request as an Origin sees it.
type Exchange struct {
	// Head is the request head, line ends included.
	Head string
	// In reads what follows the head, Out is the connection to answer on.
	In  *bufio.Reader
	Out net.Conn
	// Number counts the requests of the origin from 1, OfConn those of this connection.
	Number, OfConn int
}

// Field returns the values of a header of the request, by any spelling.
func (e *Exchange) Field(name string) []string { return HeadField(e.Head, name) }

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

// Body reads the whole body that the head announces, decoded.
func (e *Exchange) Body() ([]byte, error) {
	r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(strings.NewReader(e.Head), e.In)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r.Body)
}

// ErrClose, returned by a handler, closes the connection without more ado.
var ErrClose = errors.New("close")

// NewOrigin starts an origin until the end of the test. handle answers one
// request; an error closes the connection.
func NewOrigin(t testing.TB, handle func(*Exchange) error) *Origin {
	t.Helper()
	l := listen(t)
	o := &Origin{Address: l.Addr().String(), open: map[net.Conn]struct{}{}}
	o.wg.Go(func() { o.accept(l, handle) })
	t.Cleanup(func() {
		l.Close()
		o.CloseConns()
		o.wg.Wait()
	})
	return o
}

// Text is a handler that answers 200 with this body and keeps the connection.
func Text(body string) func(*Exchange) error {
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
	if !strings.HasPrefix(e.Head, "HEAD ") {
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

func (o *Origin) accept(l net.Listener, handle func(*Exchange) error) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		o.mu.Lock()
		o.conns++
		o.open[c] = struct{}{}
		o.mu.Unlock()
		o.wg.Go(func() { o.serve(c, handle) })
	}
}

func (o *Origin) serve(c net.Conn, handle func(*Exchange) error) {
	defer func() {
		c.Close()
		o.mu.Lock()
		delete(o.open, c)
		o.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	for n := 1; ; n++ {
		head, err := readHead(in)
		if err != nil {
			return
		}
		e := &Exchange{Head: head, In: in, Out: c, OfConn: n, Number: o.saw(head)}
		if handle(e) != nil {
			return
		}
	}
}

func readHead(in *bufio.Reader) (string, error) {
	var head strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		head.WriteString(line)
		if line == "\r\n" {
			return head.String(), nil
		}
	}
}

func (o *Origin) saw(head string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.heads = append(o.heads, head)
	if o.grown != nil {
		close(o.grown)
		o.grown = nil
	}
	return len(o.heads)
}

// Heads returns the request heads seen so far.
func (o *Origin) Heads() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.heads...)
}

// Conns counts the connections accepted so far.
func (o *Origin) Conns() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.conns
}

// CloseConns closes every connection that is open.
func (o *Origin) CloseConns() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.open {
		c.Close()
	}
}

// Spec is a configuration with one backend at this origin, for every path of
// every host.
func (o *Origin) Spec() route.Spec {
	return route.Spec{
		Backends: []route.BackendSpec{{Name: "origin", Endpoints: []route.EndpointSpec{{Address: o.Address, Weight: 1}}}},
		Routes:   []route.RouteSpec{{Path: "/", PathType: route.Prefix, Backend: "origin"}},
	}
}
