package enginetest

import (
	"net"
	"time"

	"ramjet.dev/ingress/internal/engine"
)

// These are how long a client may take to say something: a head, the next one, or a
// handshake.

// wantClosedAfter wants the end of a connection, without a byte, not before d.
func wantClosedAfter(t *T, c *Raw, d time.Duration, began time.Time) {
	t.Helper()
	if !c.Closed() {
		t.Errorf("the connection stays open, or something came: %q", c.Transcript())
	}
	if took := time.Since(began); took < d || took > patience/2 {
		t.Errorf("closed after %v, want at least %v and not much more", took, d)
	}
}

const halfHead = "GET / HTTP/1.1\r\nHost: a.te"

func headNever(t *T) {
	p := t.Start(with(shortHeader, NewOrigin(t, Text("ok"))))
	began := time.Now()
	for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
		c.Send(halfHead)
		wantClosedAfter(t, c, short-50*time.Millisecond, began)
	}
}

// headByDrops: progress is not what a head is measured by.
func headByDrops(t *T) {
	p := t.Start(with(shortHeader, NewOrigin(t, Text("ok"))))
	c := p.Dial()
	began := time.Now()
	c.Send(halfHead)
	for silent(c, c.In, moment) {
		if time.Since(began) > patience/2 {
			t.Fatal("a head may take for ever")
		}
		c.Send("x")
	}
	if got := c.Transcript(); got != "" {
		t.Errorf("got %q", got)
	}
}

// secondHeadNever: what bounds a head holds for each of a connection.
func secondHeadNever(t *T) {
	p := t.Start(with(longHeader, NewOrigin(t, Text("ok"))))
	var clients []*Raw
	for _, dial := range []func() *Raw{p.Dial, func() *Raw { return p.DialTLS("a.test") }} {
		c := dial()
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
		clients = append(clients, c)
	}
	for n, while := range []time.Duration{long * 5 / 4, moment} { // for one, and so for both
		if !silent(clients[n], clients[n].In, while) {
			t.Fatal("the time for a head began before the head")
		}
	}
	began := time.Now()
	for _, c := range clients {
		c.Send(halfHead)
	}
	for _, c := range clients {
		wantClosedAfter(t, c, long-50*time.Millisecond, began)
	}
}

// longLived has connections of all kinds serve for longer than a head may take.
func longLived(t *T) {
	p := t.Start(with(func(o *engine.Options) { longHeader(o); o.HandshakeTimeout = long }, NewOrigin(t, Text("ok"))))
	var asks []func()
	for _, dial := range []func() *Raw{p.Dial, func() *Raw { return p.DialTLS("a.test") }} {
		c := dial()
		asks = append(asks, func() {
			if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
				t.Errorf("HTTP/1.1: got %+v", a)
			}
		})
		asks[len(asks)-1]() // at once: a first head is bounded from the connection's beginning on
	}
	for _, h := range []*rawH2{p.DialH2(0), p.DialH2TLS("a.test")} {
		asks = append(asks, func() {
			if a := h.get("a.test", "/"); a.status() != "200" {
				t.Errorf("HTTP/2: got %+v", a)
			}
		})
	}
	for n := range 4 {
		if n > 0 {
			<-time.After(long / 2)
		}
		for _, ask := range asks {
			ask()
		}
	}
}

// halfNextHead: while a request is served, the beginning of the next waits.
func halfNextHead(t *T) {
	p := t.Start(with(longHeader, NewOrigin(t, func(e *Exchange) error {
		if e.Number == 1 && !silent(e.Out, e.In, long*5/4) {
			return ErrClose
		}
		return e.Reply("200 OK", "ok")
	})))
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n" + halfHead)
	if a, _ := c.Final("GET"); a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	c.Send("st\r\n\r\n")
	if a, _ := c.Final("GET"); a.Status != 200 {
		t.Errorf("then got %+v", a)
	}
}

func idleClient(t *T) {
	p := t.Start(with(shortClient, NewOrigin(t, Text("ok"))))
	for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
		began := time.Now() // it idles from its answer on, which is not seen at that moment
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
		wantClosedAfter(t, c, short-50*time.Millisecond, began)
	}
	h := p.DialH2(0)
	if a := h.get("a.test", "/"); a.status() != "200" {
		t.Fatalf("got %+v", a)
	}
	h.wait(t, "the end of an idle connection of HTTP/2", func() bool { return h.goAway })
}

func mute(t *T) {
	p := t.Start(with(shortHeader, NewOrigin(t, Text("ok"))))
	began := time.Now()
	wantClosedAfter(t, p.Dial(), short-50*time.Millisecond, began)
}

func muteTLS(t *T) {
	p := t.Start(with(func(o *engine.Options) { o.HandshakeTimeout = short }, NewOrigin(t, Text("ok"))))
	began := time.Now()
	c, err := net.Dial("tcp", p.HTTPS)
	if err != nil {
		t.Fatal(err)
	}
	wantClosedAfter(t, p.raw(c), short-50*time.Millisecond, began)
	eventually(t, "the failed handshake to be counted", func() bool { return p.Metrics.HandshakeFailures.Load() == 1 })
}
