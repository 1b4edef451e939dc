package enginetest

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// A pace is how a client sends a body that is not going to end: it writes until
// it is stopped or cannot.
type pace func(w io.Writer, stop <-chan struct{})

func slowly(w io.Writer, stop <-chan struct{}) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(w, strings.Repeat("b", 4*kib)); err != nil {
			return
		}
		select {
		case <-stop:
			return
		case <-tick.C:
		}
	}
}

// atOnce sends half a megabyte as fast as it goes, more than the proxy can have
// taken by the time it answers.
func atOnce(w io.Writer, stop <-chan struct{}) {
	io.WriteString(w, strings.Repeat("b", 512*kib))
	<-stop
}

// earlyOften has an answer in the middle of an upload arrive whole, every time.
func earlyOften(t *T, status string, closes bool, send pace) {
	const body = "this is all you get"
	head := "HTTP/1.1 " + status + "\r\nContent-Length: 19\r\n"
	if closes {
		head += "Connection: close\r\n"
	}
	o := NewOrigin(t, func(e *Exchange) error {
		if _, err := io.CopyN(io.Discard, e.In, kib); err != nil {
			return err
		}
		e.Raw(head + "\r\n" + body)
		if !closes {
			io.Copy(io.Discard, e.In)
		}
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec()})
	inParallel(often, 8, func(n int) {
		c := p.Dial()
		defer c.Close()
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 104857600\r\n\r\n")
		stop := make(chan struct{})
		var sender sync.WaitGroup
		sender.Go(func() { send(c, stop) })
		a, ok := c.Next("POST")
		if !ok || a.Status != number(status) || a.Body != body || a.BodyErr != nil || !a.Close {
			t.Errorf("try %d: got %+v (%v), received %q", n, a, ok, c.Transcript())
		}
		// The client is still sending: what ends the connection is not a reset.
		if _, err := c.In.ReadByte(); err != io.EOF {
			t.Errorf("try %d: after the answer came %v, want the end of the stream", n, err)
		}
		close(stop)
		c.Close()
		sender.Wait()
	})
	if got := o.Conns(); got != often {
		t.Errorf("%d uploads over %d connections: one with half an upload on it was used again", often, got)
	}
}

// number is that of a status such as "200 OK".
func number(status string) int { return (&message{start: "HTTP/1.1 " + status}).status() }

// inParallel calls fn for 1 … n, some at a time.
func inParallel(n, atATime int, fn func(int)) {
	turns := make(chan struct{}, atATime)
	var all sync.WaitGroup
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			fn(i + 1)
		})
	}
	all.Wait()
}

func earlyH2(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		if _, err := io.CopyN(io.Discard, e.In, kib); err != nil {
			return err
		}
		e.Raw("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec()})
	h := p.DialH2(0)
	for n := range often {
		s := h.open(false, h2Request("POST", "a.test", "/", "content-length: 104857600")...)
		h.data(s, false, strings.Repeat("b", 2*kib))
		a := h.answer(s)
		if a.status() != "413" || a.body != "no" || a.reset != "" && a.reset != "NO_ERROR" {
			t.Fatalf("try %d: got %+v", n+1, a)
		}
	}
}

// earlyUnrouted is an early answer of the proxy's own: the connection ends
// without waiting for an upload that may never.
func earlyUnrouted(t *T) {
	p := t.Start(Setup{})
	for say, framing := range map[string]string{
		"a large length": "Content-Length: 104857600\r\n\r\n" + strings.Repeat("b", kib),
		"chunks":         "Transfer-Encoding: chunked\r\n\r\n400\r\n" + strings.Repeat("b", kib) + "\r\n",
	} {
		c := p.Dial()
		a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\n"+framing)
		if a.Status != 404 || !a.Close {
			t.Errorf("%s: got %+v", say, a)
		}
		before := time.Now()
		if !c.Closed() || time.Since(before) > patience/4 {
			t.Errorf("%s: the connection was not closed at once", say)
		}
	}
	c := p.Dial()
	if a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello"); a.Status != 404 || a.Close {
		t.Errorf("a short body: got %+v, want the connection kept", a)
	}
}

// lastByte: an origin that answers when it has the whole body is not early, so
// both connections are kept.
func lastByte(t *T) {
	o := NewOrigin(t, bodyEnd("", "HTTP/1.1"))
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	for n := range often {
		head, body := "Content-Length: 20000\r\n\r\n", strings.Repeat("b", 19997)+"xyz"
		if n%2 == 1 {
			head, body = "Transfer-Encoding: chunked\r\n\r\n", "4e20\r\n"+body+"\r\n0\r\n\r\n"
		}
		if a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\n"+head+body); a.Status != 200 || a.Body != "got xyz" || a.Close {
			t.Fatalf("request %d: got %+v", n+1, a)
		}
	}
	if got := o.Conns(); got != 1 {
		t.Errorf("%d connections to the origin, want 1", got)
	}
}

// wantEOF reads to the end of a connection and wants it orderly.
func wantEOF(t testing.TB, r io.Reader, what string) {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, io.EOF) || len(b) > 0 {
		t.Errorf("%s: got %q, then %v; want the end of the stream", what, b, err)
	}
}

// sendsOn has clients that are told to stop and notice only after a while: until
// then no write of theirs fails, and the answer is still there (RFC 9112 section
// 9.6). It must take longer than net/http waits by itself.
func sendsOn(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		if _, err := io.CopyN(io.Discard, e.In, kib); err != nil {
			return err
		}
		e.Raw("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
		return ErrClose
	})
	spec := o.Spec()
	spec.Routes[0].Host = "a.test"
	p := t.Start(Setup{Spec: spec, Hosts: []string{"a.test"}})
	const long = "Content-Length: 104857600\r\n\r\n"
	var all sync.WaitGroup
	for head, status := range map[string]int{
		"POST / HTTP/1.1\r\nHost: a.test\r\n" + long:                               413,
		"POST / HTTP/1.1\r\nHost: b.test\r\n" + long:                               404,
		"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n" + long: 400,
		"POST / HTTP/1.1\r\nHost : a.test\r\n" + long:                              400,
	} {
		for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
			all.Go(func() {
				c.Send(head)
				piece := []byte(strings.Repeat("b", kib))
				for began := time.Now(); time.Since(began) < 1200*time.Millisecond; {
					if _, err := c.Conn.Write(piece); err != nil {
						t.Errorf("%d: %v after %v of sending", status, err, time.Since(began))
						return
					}
					<-time.After(20 * time.Millisecond)
				}
				if a, ok := c.Next("POST"); !ok || a.Status != status || a.BodyErr != nil || !a.Close || !c.Closed() {
					t.Errorf("want %d, got %+v", status, a)
				}
			})
		}
	}
	all.Wait()
}
