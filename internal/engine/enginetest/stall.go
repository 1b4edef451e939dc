package enginetest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// stall is back-pressure: whoever does not take what is sent stops the sender
// within what sockets hold. Nothing grows in between, and everything goes on when
// they do.
var stall = features{
	"a stalled client stops the origin, HTTP/1.1": func(t *T) { stalledClient(t, false) },
	"a stalled client stops the origin, HTTP/2":   func(t *T) { stalledClient(t, true) },
	"a stalled origin stops the client":           stalledOrigin,
	"a stalled origin stops the client, HTTP/2":   stalledOriginH2,
	"a client that asks and does not listen":      endlessPipeline,
}

// mostInSockets is more than four sockets hold, whatever the kernel grows them to.
const mostInSockets = 64 * megabyte

// pour writes until it blocks for a while and returns how much went in; the
// error says that it never blocked.
func pour(w interface {
	io.Writer
	SetWriteDeadline(time.Time) error
}, piece string) (n int, err error) {
	for n < mostInSockets {
		w.SetWriteDeadline(time.Now().Add(short))
		m, err := io.WriteString(w, piece)
		n += m
		if errors.Is(err, os.ErrDeadlineExceeded) {
			w.SetWriteDeadline(time.Time{})
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, fmt.Errorf("%d bytes went in and nobody took them", n)
}

// stalledClient does not read its endless answer: the origin must block, and go
// on when the client does.
func stalledClient(t *T, h2 bool) {
	type report struct {
		n   int
		err error
	}
	poured := make(chan report, 1)
	o := NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\n\r\n")
		n, err := pour(e.Out, strings.Repeat("x", 64*kib))
		poured <- report{n, err}
		if err != nil {
			return err
		}
		if err := e.Raw("the end"); err != nil {
			poured <- report{0, err}
		}
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	resp, err := p.Client(h2).Get("https://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	r := await(t, "the origin to block", poured)
	if r.err != nil {
		t.Fatal(r.err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	if want := int64(r.n + len("the end")); err != nil || n != want {
		t.Errorf("then %d bytes came, want %d (%v)", n, want, err)
	}
}

// stalledOrigin does not read an upload that goes on and on.
func stalledOrigin(t *T) {
	read := make(chan struct{})
	o := NewOrigin(t, func(e *Exchange) error {
		if err := e.Await(read); err != nil {
			return err
		}
		body, err := e.Body()
		if err != nil {
			return err
		}
		return e.Reply("200 OK", fmt.Sprint(len(body)))
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n")
	piece := "10000\r\n" + strings.Repeat("x", 64*kib) + "\r\n"
	n, err := pour(c, piece)
	if err != nil {
		t.Fatal(err)
	}
	close(read)
	pieces := n / len(piece)
	if rest := n % len(piece); rest > 0 {
		c.Send(piece[rest:])
		pieces++
	}
	c.Send("0\r\n\r\n")
	if a, _ := c.Final("POST"); a.Status != 200 || a.Body != fmt.Sprint(pieces*64*kib) {
		t.Errorf("got %+v, want %d bytes", a, pieces*64*kib)
	}
}

// uploadUnread has an origin that keeps its connection and reads nothing.
func uploadUnread(t *T) {
	end := make(chan struct{})
	defer close(end)
	p := t.Start(with(longIdle, NewOrigin(t, func(e *Exchange) error { e.Await(end); return ErrClose })))
	c := p.Dial()
	c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n", mostInSockets))
	var sender sync.WaitGroup
	sender.Go(func() { // until nobody takes it, and then until the connection is over
		piece := strings.Repeat("x", 64*kib)
		for n := 0; n < mostInSockets; n += len(piece) {
			if _, err := io.WriteString(c, piece); err != nil {
				return
			}
		}
	})
	defer sender.Wait()
	defer c.Close()
	a, _ := c.Final("POST")
	if want := "504 Gateway Timeout: the backend stopped reading the request\n"; a.Status != 504 || a.Body != want || !a.Close {
		t.Errorf("got %+v", a)
	}
	if got := p.Metrics.UpstreamTimeouts.Load(); got != 1 {
		t.Errorf("%d upstream timeouts counted, want 1", got)
	}
}

// answerUnread has clients that do not take their endless answer: it ends, and
// the origin is released and not blamed.
func answerUnread(t *T) {
	released := make(chan error, 1)
	p := t.Start(with(longIdle, NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\n\r\n")
		piece := strings.Repeat("x", 64*kib)
		for {
			if _, err := io.WriteString(e.Out, piece); err != nil {
				released <- err
				return err
			}
		}
	})))
	p.Dial().Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	await(t, "the end of an answer that nobody takes, HTTP/1.1", released)
	h := p.DialH2(1000)
	h.open(true, h2Request("GET", "a.test", "/")...)
	await(t, "the end of an answer that nobody takes, HTTP/2", released)
	for n := range 2 {
		if r := p.Record(n + 1); r.Truncated {
			t.Errorf("record %d blames the origin", n+1)
		}
	}
}

// stalledOriginH2 has windows in addition to sockets.
func stalledOriginH2(t *T) {
	read := make(chan struct{})
	o := NewOrigin(t, func(e *Exchange) error {
		if err := e.Await(read); err != nil {
			return err
		}
		body, err := e.Body()
		if err != nil {
			return err
		}
		return e.Reply("200 OK", fmt.Sprint(len(body)))
	})
	p := t.Start(Setup{Spec: o.Spec()})
	body := &endless{taken: make(chan int), end: make(chan struct{})}
	answer := make(chan Answer, 1)
	client := p.Client(true)
	go func() {
		resp, err := client.Post("http://a.test/", "text/plain", body)
		if err != nil {
			answer <- Answer{BodyErr: err}
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		answer <- Answer{Status: resp.StatusCode, Body: string(b), BodyErr: err}
	}()
	total := 0
	for blocked := false; !blocked && total < mostInSockets; {
		select {
		case n := <-body.taken:
			total += n
		case <-time.After(short):
			blocked = true
		}
	}
	if total >= mostInSockets {
		t.Errorf("%d bytes were taken from the client and nobody read them", total)
	}
	close(body.end)
	close(read)
	if a := await(t, "the answer", answer); a.Status != 200 || a.Body != fmt.Sprint(total) {
		t.Errorf("got %+v, want %d bytes at the origin", a, total)
	}
}

// endless is a body that tells what is taken of it, until it is told to end.
type endless struct {
	taken chan int
	end   chan struct{}
}

func (e *endless) Read(p []byte) (int, error) {
	select {
	case e.taken <- len(p):
		clear(p)
		return len(p), nil
	case <-e.end:
		return 0, io.EOF
	}
}

// endlessPipeline: requests that wait for their turn wait in the socket.
func endlessPipeline(t *T) {
	o := newHeld(t)
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	request := "GET /" + strings.Repeat("x", kib) + " HTTP/1.1\r\nHost: a.test\r\n\r\n"
	if _, err := pour(c, strings.Repeat(request, 32)); err != nil {
		t.Fatal(err)
	}
	if got := len(o.Heads()); got != 1 {
		t.Errorf("%d requests are at the origin, want 1 at a time", got)
	}
	close(o.let)
	for range 100 {
		if a, _ := c.Final("GET"); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
	}
}
