package enginetest

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"ramjet.dev/ingress/internal/upstream"
)

// reuse is the life of connections to origins (H15): kept, found closed, spoken to out
// of turn, given up. What a server that closes an idle connection does to a
// request is not the client's business, as far as sending it twice does no harm
// (RFC 9110 section 9.2.2, RFC 9112 section 9.3.1).
var reuse = features{
	"one connection for requests one after the other": oneConnection,
	"an origin that closes after each answer":         noReuse,
	"no more idle connections than allowed":           idleLimit,
	"closed while idle":                               closedWhileIdle,
	"closed while the request is on its way":          closedMeanwhile,
	"closed instead of an answer":                     closedUnanswered,
	"closed instead of an answer, twice":              closedTwice,
	"closed instead of an answer, and then away":      closedAndAway,
	"closed on its first request":                     closedFresh,
	"answered badly on a used connection":             badOnUsed,
	"spoken to while idle":                            spokenTo,
	"bytes behind an answer":                          bytesBehind,
	"an endpoint that leaves the table":               endpointLeaves,
}

// whenIdle waits until the origin has n connections, all of which wait for a
// request.
func (o *Origin) whenIdle(t *T, n int) {
	t.Helper()
	o.wait(t, fmt.Sprintf("%d idle connections at the origin", n), func() bool {
		idle := 0
		for _, waits := range o.open {
			if waits {
				idle++
			}
		}
		return idle == n && len(o.open) == n
	})
}

// oneConnection: whether clients share connections is an engine's own business (pools
// may belong to threads), but one that asks again is served over the one it had.
func oneConnection(t *T) {
	for say, ask := range map[string]func(*Proxy) func(){
		"HTTP/1.1": func(p *Proxy) func() {
			c := p.Dial()
			return func() {
				c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
				c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nxy")
			}
		},
		"HTTP/1.1 over TLS": func(p *Proxy) func() {
			c := p.DialTLS("a.test")
			return func() { c.Do("HEAD", "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n") }
		},
		"HTTP/2": func(p *Proxy) func() {
			h := p.DialH2(0)
			return func() { h.get("a.test", "/") }
		},
	} {
		o := NewOrigin(t, Text("ok"))
		p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
		again := ask(p)
		for range 10 {
			again()
		}
		if got := o.Conns(); got != 1 {
			t.Errorf("%s: requests one after the other over %d connections, want 1", say, got)
		}
	}
}

func noReuse(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
		return e.Gone() // it is the proxy that closes first
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	for range 5 {
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 || a.Close {
			t.Fatalf("got %+v", a)
		}
	}
	if got := o.Conns(); got != 5 {
		t.Errorf("5 requests over %d connections, want 5", got)
	}
}

func idleLimit(t *T) {
	all := make(chan struct{})
	var arrived atomic.Int32
	o := NewOrigin(t, func(e *Exchange) error {
		if arrived.Add(1) == 5 {
			close(all)
		}
		if err := e.Await(all); err != nil {
			return err
		}
		return e.Reply("200 OK", "ok")
	})
	p := t.Start(Setup{Spec: o.Spec(), Pools: func(o *upstream.Options) { o.IdlePerEndpoint = 2 }})
	inParallel(5, 5, func(int) { p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n") })
	o.whenIdle(t, 2)
	if got := p.Pools.Idle(o.Address); got != 2 {
		t.Errorf("%d idle connections are kept, want 2", got)
	}
}

// closedWhileIdle: the proxy can know before it sends anything.
func closedWhileIdle(t *T) {
	var posts atomic.Int32
	o := NewOrigin(t, func(e *Exchange) error {
		if e.Method() == "POST" {
			posts.Add(1)
		}
		return Text("ok")(e)
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	for n := range often {
		for _, request := range []string{
			"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello",
		} {
			if a := c.Do("GET", request); a.Status != 200 {
				t.Fatalf("round %d, %.4s: got %d %q", n+1, request, a.Status, a.Body)
			}
			o.whenIdle(t, 1)
			o.dropIdle(t)
		}
	}
	if got := posts.Load(); got != int32(often) {
		t.Errorf("%d POST executed, want %d", got, often)
	}
	if got := p.Metrics.UpstreamRetries.Load(); got != 0 {
		t.Errorf("%d retries counted although nothing was sent twice", got)
	}
}

// closedMeanwhile lets the end of the connection and the request cross at any
// moment. A request that could be sent again succeeds every time; one that could not is
// done once or not at all, and if it was done the client knows.
func closedMeanwhile(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	for n := range often {
		// A used connection to begin with: a fresh one that is closed says something.
		c.Do("GET", "GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n")
		o.whenIdle(t, 1)
		var closing sync.WaitGroup
		closing.Go(o.CloseIdle)
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
			t.Fatalf("request %d: got %d %q", n+1, a.Status, a.Body)
		}
		closing.Wait()
		c.Do("GET", "GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n")
		o.whenIdle(t, 1)
		closing.Go(o.CloseIdle)
		path := fmt.Sprint("/", n)
		a := c.Do("POST", "POST "+path+" HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
		closing.Wait()
		if times := o.asked(path); a.Status != 200 && a.Status != 502 || times > 1 || a.Status == 200 && times == 0 {
			t.Errorf("upload %d: got %d %q, and the origin did it %d times", n+1, a.Status, a.Body, times)
		}
		if a.Close {
			c = p.Dial()
		}
	}
}

// closesOnSecond is an origin that closes a connection instead of answering the
// second request on it.
func closesOnSecond(e *Exchange) error {
	if _, err := e.Body(); err != nil || e.OfConn > 1 {
		return ErrClose
	}
	return e.Reply("200 OK", "ok")
}

// closedUnanswered: the origin has the request, and whether it did something
// with it nobody knows.
func closedUnanswered(t *T) {
	for _, reset := range []bool{false, true} {
		o := NewOrigin(t, func(e *Exchange) error {
			err := closesOnSecond(e)
			if err != nil && reset {
				e.Out.SetLinger(0)
			}
			return err
		})
		p := t.Start(Setup{Spec: o.Spec()})
		record := 0
		for _, try := range []struct {
			request       string
			status, times int
		}{
			{"GET %s HTTP/1.1\r\nHost: a.test\r\n\r\n", 200, 2},
			{"HEAD %s HTTP/1.1\r\nHost: a.test\r\n\r\n", 200, 2},
			{"OPTIONS %s HTTP/1.1\r\nHost: a.test\r\n\r\n", 200, 2},
			{"DELETE %s HTTP/1.1\r\nHost: a.test\r\n\r\n", 200, 2},
			{"PUT %s HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n", 200, 2},
			{"POST %s HTTP/1.1\r\nHost: a.test\r\n\r\n", 502, 1},
			{"PATCH %s HTTP/1.1\r\nHost: a.test\r\n\r\n", 502, 1},
			{"POST %s HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello", 502, 1},
			{"PUT %s HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello", 502, 1}, // its body is gone
			{"BREW %s HTTP/1.1\r\nHost: a.test\r\n\r\n", 502, 1},
		} {
			method, _, _ := strings.Cut(try.request, " ")
			c := p.Dial()
			// A connection that has served one request, and only that.
			o.dropIdle(t)
			c.Do("GET", "GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n")
			o.whenIdle(t, 1)
			path := fmt.Sprint("/", record)
			a := c.Do(method, fmt.Sprintf(try.request, path))
			if times := o.asked(path); a.Status != try.status || times != try.times {
				t.Errorf("%s, reset %v: got %d, the origin was asked %d times; want %d and %d", method, reset, a.Status, times, try.status, try.times)
			}
			record += 2
			if r := p.Record(record); r.Attempts != try.times {
				t.Errorf("%s: %d attempts in the record, want %d", method, r.Attempts, try.times)
			}
		}
		if got := p.Metrics.UpstreamRetries.Load(); got != 5 {
			t.Errorf("%d retries counted, want 5", got)
		}
	}
}

// dropIdle closes all connections, once none of them serves any more: the origin may
// learn later than the client that an exchange is over.
func (o *Origin) dropIdle(t *T) {
	t.Helper()
	o.wait(t, "no exchange is going on at the origin", func() bool {
		for _, idle := range o.open {
			if !idle {
				return false
			}
		}
		return true
	})
	o.CloseIdle()
	o.whenIdle(t, 0)
}

// asked counts the requests for a path.
func (o *Origin) asked(path string) (n int) {
	for _, head := range o.Heads() {
		if strings.Contains(head, " "+path+" ") {
			n++
		}
	}
	return n
}

// closedTwice: once is the bad luck of a used connection, twice is the origin's
// fault.
func closedTwice(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		if e.Target() == "/warm" {
			return e.Reply("200 OK", "ok")
		}
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	c.Do("GET", "GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n")
	o.whenIdle(t, 1)
	const want = "502 Bad Gateway: the backend closed the connection before it answered\n"
	if a := c.Do("GET", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 502 || a.Body != want {
		t.Errorf("got %+v", a)
	}
	if got := o.asked("/x"); got != 2 {
		t.Errorf("the origin was asked %d times, want 2", got)
	}
}

// closedAndAway: the endpoint refuses the new connection. What is kept to another one may
// have ended as well, and a request is repeated once: so it is a new one there, too.
func closedAndAway(t *T) {
	var away atomic.Bool
	leaves := func(e *Exchange) error {
		err := closesOnSecond(e)
		if err != nil && away.CompareAndSwap(false, true) {
			e.Refuse()
		}
		return err
	}
	both := []*Origin{NewOrigin(t, leaves), NewOrigin(t, leaves)}
	p := t.Start(Setup{Spec: specFor(both[0].Address, both[1].Address)})
	c := p.Dial()
	for range both { // in turn
		c.Do("GET", "GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n")
	}
	for _, o := range both {
		o.whenIdle(t, 1)
	}
	if a := c.Do("GET", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
		t.Errorf("got %+v", a)
	}
	if a, b := both[0].asked("/x"), both[1].asked("/x"); a != 1 || b != 1 {
		t.Errorf("the origins were asked %d and %d times, want once each", a, b)
	}
}

func closedFresh(t *T) {
	o := NewOrigin(t, func(e *Exchange) error { return ErrClose })
	p := t.Start(Setup{Spec: o.Spec()})
	if a := p.Dial().Do("GET", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 502 {
		t.Errorf("got %+v", a)
	}
	if got := o.asked("/x"); got != 1 {
		t.Errorf("the origin was asked %d times, want 1", got)
	}
}

// badOnUsed: whoever begins an answer has taken the request.
func badOnUsed(t *T) {
	for _, answer := range []string{"garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Le", "H"} {
		o := NewOrigin(t, func(e *Exchange) error {
			if e.OfConn == 1 {
				return e.Reply("200 OK", "ok")
			}
			e.Raw(answer)
			return ErrClose
		})
		p := t.Start(Setup{Spec: o.Spec()})
		c := p.Dial()
		c.Do("GET", "GET /warm HTTP/1.1\r\nHost: a.test\r\n\r\n")
		o.whenIdle(t, 1)
		if a := c.Do("GET", "GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 502 {
			t.Errorf("%q: got %+v", answer, a)
		}
		if got := o.asked("/x"); got != 1 {
			t.Errorf("%q: the origin was asked %d times, want 1", answer, got)
		}
	}
}

// spokenTo: what an origin says unasked would be taken for the answer to the
// next request.
func spokenTo(t *T) {
	var conn atomic.Pointer[net.TCPConn]
	o := NewOrigin(t, func(e *Exchange) error {
		conn.Store(e.Out)
		return e.Reply("200 OK", "ok")
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	for n := range 10 {
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 || a.Body != "ok" {
			t.Fatalf("request %d: got %+v", n+1, a)
		}
		o.whenIdle(t, 1)
		conn.Load().Write([]byte("HTTP/1.1 408 Request Timeout\r\nContent-Length: 5\r\n\r\nwrong"))
	}
	if got := o.Conns(); got != 10 {
		t.Errorf("10 requests over %d connections, want 10", got)
	}
}

// bytesBehind: an answer with something behind it ends the use of a connection,
// even if all of it was read with the answer.
func bytesBehind(t *T) {
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Le",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n\r\n",
		"HTTP/1.1 204 No Content\r\n\r\nx",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\nok",
	} {
		o := NewOrigin(t, func(e *Exchange) error { return e.Raw(answer) })
		p := t.Start(Setup{Spec: o.Spec()})
		c := p.Dial()
		for range 3 {
			if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status > 304 {
				t.Fatalf("%q: got %+v", answer, a)
			}
		}
		if got := o.Conns(); got != 3 {
			t.Errorf("%q: 3 requests over %d connections, want 3", answer, got)
		}
	}
}

// endpointLeaves: a publish closes the idle connections to what it no longer
// names, and those in use when they come back.
func endpointLeaves(t *T) {
	hold := make(chan struct{})
	o := NewOrigin(t, func(e *Exchange) error {
		if e.Target() == "/held" {
			if err := e.Await(hold); err != nil {
				return err
			}
		}
		return e.Reply("200 OK", "old")
	})
	next := NewOrigin(t, Text("new"))
	p := t.Start(Setup{Spec: o.Spec()})
	held, c := p.Dial(), p.Dial()
	held.Send("GET /held HTTP/1.1\r\nHost: a.test\r\n\r\n")
	o.wait(t, "the held request", func() bool { return len(o.heads) == 1 })
	c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	p.Publish(next.Spec())
	o.wait(t, "the idle connection to be closed", func() bool { return len(o.open) == 1 })
	if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Body != "new" {
		t.Errorf("after the publish: got %+v", a)
	}
	close(hold)
	if a, _ := held.Final("GET"); a.Body != "old" {
		t.Errorf("the held request: got %+v", a)
	}
	o.whenIdle(t, 0)
}
