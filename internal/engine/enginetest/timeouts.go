package enginetest

import (
	"fmt"
	"io"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/engine"
)

// timeouts watch progress, never a total. Times are real here, so a test says
// only what must not come too early and what must come at last; silences are
// long enough that a busy machine does not look like one. What waits for real time
// for another reason is here as well: all of these go at once.
var timeouts = features{
	"what a latency is": numbersOfLatency,
	"the wait for an answer begins when the body has been sent": answerAfterBody,
	"an answer that does not begin":                             answerNever,
	"an answer that keeps moving is never too long":             answerMoves,
	"an answer that stops":                                      answerStops,
	"an upload that keeps moving is never too long":             uploadMoves,
	"an upload that stops":                                      uploadStops,
	"an upload keeps a silent answer alive":                     uploadKeepsAnswer,
	"an answer keeps a silent upload alive":                     answerKeepsUpload,
	"a head that does not end":                                  headNever,
	"a head that comes by drops":                                headByDrops,
	"a second head that does not end":                           secondHeadNever,
	"half a next head does not end the exchange before it":      halfNextHead,
	"what bounds a head does not bound a connection":            longLived,
	"a request behind one that was given up":                    behindTimeout,
	"a broken body behind a request that took long":             brokenBehind,
	"an idle connection":                                        idleClient,
	"a connection that says nothing":                            mute,
	"a tunnel that is silent in both directions":                tunnelIdle,
	"a tunnel that one direction keeps alive":                   tunnelOneWay,
	"a client that sends on before it listens":                  sendsOn,
	"a TLS handshake that does not come":                        muteTLS,
	"an upload that the origin stops reading":                   uploadUnread,
	"an answer that the client stops reading":                   answerUnread,
	"an endpoint that is silent, and the next":                  nextAfterSilence,
	"a second attempt is of the same table":                     retriesAgainstTable,
	"gRPC: an answer that takes its time":                       grpcSlow,
	"gRPC: a silent stream is cut after its time":               grpcSilent,
	"an HTTP/2 backend, and a client whose body stalls":         h2BackendStall,
	"an HTTP/2 backend, and what a latency is":                  h2BackendLatency,
	"an HTTP/2 backend that falls silent in its answer":         h2SilentBackend,
	"an HTTP/2 client that reads slowly":                        h2SlowReader,
}

// A timeout under test is short where everybody waits for it in vain. Where others are
// to get by it is long, as a machine that stalls stops their senders too: a sender that
// keeps moving sends so many pieces with a gap before each, which is longer than long
// in all. A moment is enough, as a rule, for what was sent to be read; no test fails
// when it is not.
const (
	moment = short / 5
	short  = time.Second
	long   = 8 * time.Second
	gap    = long / 6
	pieces = 8
)

func with(change func(*engine.Options), o *Origin) Setup {
	return Setup{Spec: o.Spec(), Hosts: []string{"a.test"}, Change: change}
}

func shortResponse(o *engine.Options) { o.ResponseTimeout = short }
func shortIdle(o *engine.Options)     { o.StreamIdle = short }
func shortHeader(o *engine.Options)   { o.HeaderTimeout = short }
func shortClient(o *engine.Options)   { o.ClientIdle = short }
func longResponse(o *engine.Options)  { o.ResponseTimeout = long }
func longIdle(o *engine.Options)      { o.StreamIdle = long }
func noIdle(o *engine.Options)        { o.StreamIdle = 10 * patience }
func longHeader(o *engine.Options)    { o.HeaderTimeout = long }

func answerAfterBody(t *T) {
	p := t.Start(with(longResponse, NewOrigin(t, bodyEnd("", "HTTP/1.1"))))
	c := p.Dial()
	c.Send(fmt.Sprintf("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: %d\r\n\r\n", 3*pieces))
	for range pieces {
		if !silent(c, c.In, gap) {
			t.Fatalf("in the middle of the body came %q", c.Transcript())
		}
		c.Send("xyz")
	}
	if a, _ := c.Final("POST"); a.Status != 200 || a.Body != "got xyz" {
		t.Errorf("got %+v", a)
	}
}

func answerNever(t *T) {
	p := t.Start(with(shortResponse, NewOrigin(t, func(e *Exchange) error { e.message(); return e.Gone() })))
	for _, request := range []string{
		"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nxyz",
		"POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n",
	} {
		c := p.Dial()
		began := time.Now()
		if a := c.Do("GET", request); a.Status != 504 || a.Close {
			t.Errorf("%q: got %+v", request, a)
		}
		if took := time.Since(began); took < short {
			t.Errorf("%q: answered after %v", request, took)
		}
	}
}

// drip is an origin that sends n pieces of a body with a silence between.
func drip(n int) Handler {
	return func(e *Exchange) error {
		e.Raw(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", 3*n))
		for range n {
			if !silent(e.Out, e.In, gap) {
				return ErrClose
			}
			e.Raw("abc")
		}
		return nil
	}
}

// answerMoves (B01): the same the other way.
func answerMoves(t *T) {
	p := t.Start(with(func(o *engine.Options) { longIdle(o); longResponse(o) }, NewOrigin(t, drip(pieces))))
	t.Together(features{
		"HTTP/1.1": func(t *T) {
			if a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.BodyErr != nil || len(a.Body) != 3*pieces {
				t.Errorf("got %+v", a)
			}
		},
		"HTTP/2": func(t *T) {
			if a := p.DialH2(0).get("a.test", "/"); a.reset != "" || len(a.body) != 3*pieces {
				t.Errorf("got %+v", a)
			}
		},
	})
}

func answerStops(t *T) {
	p := t.Start(with(shortIdle, NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\nabc")
		return e.Gone()
	})))
	if a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.BodyErr == nil || a.Body != "abc" {
		t.Errorf("HTTP/1.1: got %+v", a)
	}
	if a := p.DialH2(0).get("a.test", "/"); a.reset != "INTERNAL_ERROR" || a.body != "abc" {
		t.Errorf("HTTP/2: got %+v", a)
	}
	for n := range 2 {
		if r := p.Record(n + 1); !r.Truncated {
			t.Errorf("record %d is not truncated", n+1)
		}
	}
	if got := p.Metrics.UpstreamTimeouts.Load(); got != 2 {
		t.Errorf("%d upstream timeouts counted, want 2", got)
	}
}

// uploadMoves (B01): an upload of eight gaps, each below a timeout that the sum is above.
func uploadMoves(t *T) {
	p := t.Start(with(longIdle, NewOrigin(t, bodyEnd("", "HTTP/1.1"))))
	c, h := p.Dial(), p.DialH2(0)
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n")
	s := h.open(false, h2Request("POST", "a.test", "/")...)
	for range pieces {
		if !silent(c, c.In, gap) {
			t.Fatalf("in the middle of the body came %q", c.Transcript())
		}
		c.Send("3\r\nxyz\r\n")
		h.data(s, false, "xyz")
	}
	c.Send("0\r\n\r\n")
	h.data(s, true, "")
	if a, _ := c.Final("POST"); a.Status != 200 {
		t.Errorf("HTTP/1.1: got %+v", a)
	}
	if a := h.answer(s); a.status() != "200" {
		t.Errorf("HTTP/2: got %+v", a)
	}
}

func uploadStops(t *T) {
	p := t.Start(with(shortIdle, NewOrigin(t, func(e *Exchange) error {
		_, err := io.Copy(io.Discard, e.In) // until the proxy breaks off
		return err
	})))
	const want = "408 Request Timeout: the request body stopped arriving\n"
	stops := map[string]string{
		"in a body with a length": "Content-Length: 21\r\n\r\nxyz",
		"in a chunk":              "Transfer-Encoding: chunked\r\n\r\n5\r\nxyz",
		"in a chunk line":         "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n1",
		"behind a chunk":          "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz",
		"in the trailer section":  "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\nX-A: 1\r\nX-B",
		"before the last line":    "Transfer-Encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\nX-A: 1\r\n",
	}
	for where, body := range stops {
		for say, dial := range map[string]func() *Raw{"plain": p.Dial, "TLS": func() *Raw { return p.DialTLS("a.test") }} {
			c := dial()
			a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\n"+body)
			if a.Status != 408 || a.Body != want || !a.Close || !c.Closed() {
				t.Errorf("%s, %s: got %+v", where, say, a)
			}
		}
	}
	h := p.DialH2(0)
	s := h.open(false, h2Request("POST", "a.test", "/", "content-length: 21")...)
	h.data(s, false, "xyz")
	if a := h.answer(s); a.status() != "408" || a.body != want {
		t.Errorf("HTTP/2: got %+v", a)
	}
	for n := range 2*len(stops) + 1 {
		if r := p.Record(n + 1); r.Status != 408 {
			t.Errorf("record %d: status %d", n+1, r.Status)
		}
	}
	if got := p.Metrics.UpstreamTimeouts.Load(); got != 0 {
		t.Errorf("%d timeouts are blamed on the origin", got)
	}
}

// uploadKeepsAnswer: the origin has begun to answer and says no more until a
// slow upload has ended.
func uploadKeepsAnswer(t *T) {
	p := t.Start(with(longIdle, NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc")
		if _, err := e.Body(); err != nil {
			return err
		}
		return e.Raw("def")
	})))
	c, h := p.Dial(), p.DialH2(0)
	length := fmt.Sprint("content-length: ", 3*pieces)
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\n" + length + "\r\n\r\n")
	s := h.open(false, h2Request("POST", "a.test", "/", length)...)
	if head, err := readHead(c.In); err != nil {
		t.Fatalf("got %q, %v", head, err)
	}
	io.CopyN(io.Discard, c.In, 3)
	for n := range pieces {
		if !silent(c, c.In, gap) {
			t.Fatalf("in the middle of the body came %q", c.Transcript())
		}
		c.Send("xyz")
		h.data(s, n == pieces-1, "xyz")
	}
	b := make([]byte, 3)
	if _, err := io.ReadFull(c.In, b); err != nil || string(b) != "def" {
		t.Errorf("HTTP/1.1: got %q, %v", b, err)
	}
	if a := h.answer(s); a.body != "abcdef" || a.reset != "" {
		t.Errorf("HTTP/2: got %+v", a)
	}
}

// answerKeepsUpload: the client listens, and says nothing for a while.
func answerKeepsUpload(t *T) {
	p := t.Start(with(longIdle, NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for range pieces {
			if !silent(e.Out, e.In, gap) {
				return ErrClose
			}
			e.Raw("3\r\nabc\r\n")
		}
		body, err := e.Body()
		if err != nil {
			return err
		}
		return e.Raw(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	})))
	h1 := func(t *T, c *Raw) {
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n")
		if head, err := readHead(c.In); err != nil || !strings.HasPrefix(head, "HTTP/1.1 200") {
			t.Fatalf("got %q, %v", head, err)
		}
		for range pieces {
			if got := readChunk(t, c.In); got != "abc" {
				t.Fatalf("got %q", got)
			}
		}
		c.Send("3\r\nxyz\r\n0\r\n\r\n")
		if got := readChunk(t, c.In); got != "xyz" {
			t.Errorf("got %q", got)
		}
	}
	t.Together(features{
		"plain": func(t *T) { h1(t, p.Dial()) },
		"TLS":   func(t *T) { h1(t, p.DialTLS("a.test")) },
		"HTTP/2": func(t *T) {
			all, h := strings.Repeat("abc", pieces), p.DialH2(0)
			s := h.open(false, h2Request("POST", "a.test", "/")...)
			h.until(s, "all pieces", func(a *h2Answer) bool { return a.body == all || a.done })
			h.data(s, true, "xyz")
			if a := h.answer(s); a.body != all+"xyz" || a.reset != "" {
				t.Errorf("got %+v", a)
			}
		},
	})
}

// behindTimeout: a request that came behind one whose endpoint did not answer, with it or
// while it was waited for, is served as soon as that has its answer.
func behindTimeout(t *T) {
	p := t.Start(with(longResponse, NewOrigin(t, func(e *Exchange) error {
		if e.Target() == "/never" {
			return e.Gone()
		}
		return e.Reply("200 OK", e.Target())
	})))
	const never, next = "GET /never HTTP/1.1\r\nHost: a.test\r\n\r\n", "GET /next HTTP/1.1\r\nHost: a.test\r\n\r\n"
	for when, sends := range map[string][]string{"with it": {never + next}, "a little later": {never, next}} {
		clients := map[string]*Raw{"plain": p.Dial(), "TLS": p.DialTLS("a.test")}
		for n, send := range sends {
			for say, c := range clients {
				if n > 0 && !silent(c, c.In, moment) {
					t.Fatalf("%s, %s: an answer before its time", say, when)
				}
				c.Send(send)
			}
		}
		for say, c := range clients {
			if a, _ := c.Final("GET"); a.Status != 504 {
				t.Errorf("%s, %s: the first got %+v", say, when, a)
			}
			began := time.Now()
			if a, _ := c.Final("GET"); a.Status != 200 || a.Body != "/next" {
				t.Errorf("%s, %s: the second got %+v", say, when, a)
			}
			if took := time.Since(began); took > patience/4 {
				t.Errorf("%s, %s: the second was answered %v after the first", say, when, took)
			}
		}
	}
}

// brokenBehind: a request whose head came while the one before it was served is told what is
// wrong with its body, and not that it came too late.
func brokenBehind(t *T) {
	let := make(chan struct{}, 1)
	p := t.Start(with(nil, NewOrigin(t, func(e *Exchange) error {
		if e.Target() == "/first" {
			if err := e.Await(let); err != nil {
				return err
			}
			return e.Reply("200 OK", "first")
		}
		_, err := io.Copy(io.Discard, e.In) // until the proxy breaks off
		return err
	})))
	for say, dial := range map[string]func() *Raw{"plain": p.Dial, "TLS": func() *Raw { return p.DialTLS("a.test") }} {
		c := dial()
		c.Send("GET /first HTTP/1.1\r\nHost: a.test\r\n\r\nPOST /second HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n")
		if !silent(c, c.In, moment) {
			t.Errorf("%s: an answer before its time", say)
		}
		let <- struct{}{}
		if a, _ := c.Final("GET"); a.Status != 200 {
			t.Errorf("%s: the first got %+v", say, a)
		}
		c.Send("zz\r\n")
		if a, _ := c.Final("POST"); a.Status != 400 {
			t.Errorf("%s: the second got %+v", say, a)
		}
	}
}
