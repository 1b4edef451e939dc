package enginetest

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// early are answers that come before the request has ended: with Expect:
// 100-continue (H06; RFC 9110 section 10.1.1) or in the middle of an upload (H07;
// RFC 9112 section 9.6).
var early = features{
	"refused before 100, client keeps its body": func(t *T) { expectation(t, refuseAtOnce, false) },
	"refused before 100, body sent anyway":      func(t *T) { expectation(t, refuseAtOnce, true) },
	"100, then refused in the middle":           func(t *T) { expectation(t, refuseAfter100, true) },
	"100 from the origin reaches the client":    continueFromOrigin,
	"100 from the hop for an HTTP/1.0 origin":   continueFromHop,
	"an origin that never says 100":             expectationIgnored,
	"no route for an upload that waits":         expectationUnrouted,
	"expectations over HTTP/2":                  expectationH2,

	"413 with the connection closed, slow client":  func(t *T) { earlyOften(t, "413 Content Too Large", true, slowly) },
	"413 with the connection closed, fast client":  func(t *T) { earlyOften(t, "413 Content Too Large", true, atOnce) },
	"200 while the origin goes on reading":         func(t *T) { earlyOften(t, "200 OK", false, slowly) },
	"413 over HTTP/2":                              earlyH2,
	"no route for an upload that goes on":          earlyUnrouted,
	"no route for a short body that does not come": shortBodyMissing,
	"no route for a short body that comes apart":   shortBodyApart,
	"an answer at the last byte keeps connections": lastByte,
}

const megabyte = 1 << 20

// refuseAtOnce answers without having read the body and keeps the connection: a
// proxy that sends another request on it gets to know.
func refuseAtOnce(e *Exchange) error {
	if e.Method() == "GET" {
		return e.Reply("200 OK", "fine")
	}
	return e.Reply("403 Forbidden", "no")
}

// refuseAfter100 asks for the body, reads a little of it and refuses.
func refuseAfter100(e *Exchange) error {
	if e.Method() == "GET" {
		return e.Reply("200 OK", "fine")
	}
	e.Raw("HTTP/1.1 100 Continue\r\n\r\n")
	if _, err := io.CopyN(io.Discard, e.In, kib); err != nil {
		return err
	}
	return e.Reply("403 Forbidden", "no")
}

// expectHead announces more than any socket holds.
const expectHead = "POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 104857600\r\n\r\n"

// expectation has an upload refused in some way and then wants a hundred other
// requests over the same route to succeed.
func expectation(t *T, origin Handler, send bool) {
	p := t.Start(Setup{Spec: NewOrigin(t, origin).Spec()})
	c := p.Dial()
	var sender sync.WaitGroup
	c.Send(expectHead)
	if send {
		sender.Go(func() { c.Send(strings.Repeat("b", megabyte)) })
	}
	a, _ := c.Final("POST")
	if a.Status != 403 || a.Body != "no" || a.BodyErr != nil || !a.Close {
		t.Errorf("got %+v, want the whole 403, and close", a)
	}
	if !c.Closed() {
		t.Error("the connection stays open although the body is missing")
	}
	sender.Wait()
	c = p.Dial()
	for n := range 100 {
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 || a.Body != "fine" {
			t.Fatalf("request %d after it: got %d %q", n+1, a.Status, a.Body)
		}
	}
}

// bodyEnd answers with the last three bytes of the body, for which it asks like
// a server of its version does.
func bodyEnd(ask string, version string) Handler {
	return func(e *Exchange) error {
		if len(e.Field("Expect")) > 0 {
			e.Raw(ask)
		}
		body, err := e.Body()
		if err != nil {
			return err
		}
		end := body[max(len(body)-3, 0):]
		return e.Raw(version + " 200 OK\r\nConnection: keep-alive\r\nContent-Length: 7\r\n\r\n" + fmt.Sprintf("got %3s", end))
	}
}

func continueFromOrigin(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, bodyEnd("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1")).Spec()})
	c := p.Dial()
	for range 3 {
		wantContinue(t, c)
	}
}

// wantContinue sends a body only once it was asked for.
func wantContinue(t *T, c *Raw) {
	t.Helper()
	c.Send(strings.Replace(expectHead, "104857600", "3", 1))
	if a, ok := c.Next("POST"); !ok || a.Status != 100 || len(a.Header) != 0 {
		t.Fatalf("got %+v, want 100", a)
	}
	c.Send("xyz")
	a, interim := c.Final("POST")
	if a.Status != 200 || a.Body != "got xyz" || a.Close || len(interim) != 0 {
		t.Errorf("got %+v after %d more interim responses", a, len(interim))
	}
}

// continueFromHop: an HTTP/1.0 server knows no 100, so once the proxy has seen
// that it is one, the client is not kept waiting.
func continueFromHop(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, bodyEnd("", "HTTP/1.0")).Spec()})
	c := p.Dial()
	if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	wantContinue(t, c)
}

// expectationIgnored: the client loses patience by itself, and its body arrives.
func expectationIgnored(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, bodyEnd("", "HTTP/1.1")).Spec()})
	c := p.Dial()
	c.Send(strings.Replace(expectHead, "104857600", "3", 1))
	if !silent(c, c.In, 50*time.Millisecond) {
		t.Errorf("the proxy asked for the body itself: %q", c.Transcript())
	}
	c.Send("xyz")
	if a, interim := c.Final("POST"); a.Status != 200 || a.Body != "got xyz" || len(interim) != 0 {
		t.Errorf("got %+v after %d interim responses", a, len(interim))
	}
}

// expectationUnrouted must not wait for a body that nobody asked for.
func expectationUnrouted(t *T) {
	p := t.Start(Setup{})
	c := p.Dial()
	c.Send(expectHead)
	if a, interim := c.Final("POST"); a.Status != 404 || !a.Close || len(interim) != 0 {
		t.Errorf("got %+v", a)
	}
	before := time.Now()
	if !c.Closed() || time.Since(before) > patience/4 {
		t.Error("the connection was not closed at once")
	}
}

// expectationH2: whether the client waits for 100 may be the hop's own business
// here, but it gets the refusal, and its body crosses whatever the origin says.
func expectationH2(t *T) {
	origins := named{
		"refuses":    NewOrigin(t, refuseAtOnce),
		"asks":       NewOrigin(t, bodyEnd("HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1")),
		"never asks": NewOrigin(t, bodyEnd("", "HTTP/1.1")),
	}
	p := t.Start(Setup{Spec: origins.spec(t, "route refuses.test / Prefix -> refuses",
		"route asks.test / Prefix -> asks", `route silent.test / Prefix -> "never asks"`)})
	h := p.DialH2(0)
	open := func(host string) uint32 {
		return h.open(false, h2Request("POST", host, "/", "expect: 100-continue", "content-length: 3")...)
	}
	if a := h.answer(open("refuses.test")); a.status() != "403" || a.body != "no" {
		t.Errorf("refused: got %+v", a)
	}
	s := open("asks.test")
	h.until(s, "100", func(a *h2Answer) bool { return len(a.interim) > 0 })
	h.data(s, true, "xyz")
	if a := h.answer(s); a.status() != "200" || a.body != "got xyz" || len(a.interim) != 1 || first(a.interim[0][":status"]) != "100" {
		t.Errorf("asked: got %+v", a)
	}
	s = open("silent.test")
	h.data(s, true, "xyz")
	if a := h.answer(s); a.status() != "200" || a.body != "got xyz" {
		t.Errorf("never asked: got %+v", a)
	}
}

// shortBodyMissing: whoever waits for the answer before it sends its body, without having
// said so, gets it.
func shortBodyMissing(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}, Change: noIdle})
	for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n")
		if a, _ := c.Final("POST"); a.Status != 404 || a.BodyErr != nil {
			t.Errorf("got %+v, want a whole 404", a)
		}
	}
}

// shortBodyApart: head and body need not come at once for the connection to go on; a
// second between them is another matter, and a machine may stall for that long.
func shortBodyApart(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}})
	kept := 0
	for range 5 {
		c := p.Dial()
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\n")
		c.Send("hello")
		if a, _ := c.Final("POST"); a.Status != 404 {
			t.Fatalf("got %+v", a)
		} else if a.Close {
			continue
		}
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 404 {
			t.Fatalf("got %+v", a)
		}
		kept++
	}
	if kept == 0 {
		t.Error("no connection went on")
	}
}
