package enginetest

import (
	"io"
	"strings"
)

// broken are responses that their origin does not finish (B03): the client must not
// take what it got for the whole (RFC 9112 section 8, RFC 9113 section 8.1), and
// the origin is blamed.
var broken = features{
	"over HTTP/1.1":                brokenH1,
	"over HTTP/2":                  brokenH2,
	"to a client that cannot tell": brokenH10,
}

// half is what of a body arrives.
var half = strings.Repeat("x", 500)

// breaksOff is an origin that breaks off in a way that the path names, once the
// client has said that it got what was sent until then.
func breaksOff(got <-chan struct{}) Handler {
	return func(e *Exchange) error {
		switch e.Target() {
		case "/length":
			e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + half)
		case "/chunks":
			e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n" + half + "\r\n")
		default:
			e.Raw("HTTP/1.1 200 OK\r\n\r\n" + half) // a reset is the only way to break this off
		}
		if err := e.Await(got); err != nil {
			return err
		}
		if strings.HasSuffix(e.Target(), "reset") {
			e.Out.SetLinger(0)
		}
		return ErrClose
	}
}

var waysToBreak = []string{"/length", "/chunks", "/reset"}

func brokenH1(t *T) {
	got := make(chan struct{}, 1)
	p := t.Start(Setup{Spec: NewOrigin(t, breaksOff(got)).Spec(), Hosts: []string{"a.test"}})
	for _, way := range waysToBreak {
		for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
			c.Send("GET " + way + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
			m, err := readMessage(c.In, func(*message) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			if way != "/length" {
				readLine(c.In) // the size of the chunk
			}
			if _, err := io.CopyN(io.Discard, c.In, int64(len(half))); err != nil {
				t.Fatal(err)
			}
			got <- struct{}{}
			rest, _ := io.ReadAll(c.In)
			if m.status() != 200 || strings.HasSuffix(string(rest), "0\r\n\r\n") {
				t.Errorf("%s: got %d, and after the half %q", way, m.status(), rest)
			}
		}
	}
	wantBlamed(t, p, 2*len(waysToBreak))
}

func brokenH2(t *T) {
	got := make(chan struct{}, 1)
	p := t.Start(Setup{Spec: NewOrigin(t, breaksOff(got)).Spec()})
	h := p.DialH2(0)
	for _, way := range waysToBreak {
		s := h.open(true, h2Request("GET", "a.test", way)...)
		h.until(s, "half of the body", func(a *h2Answer) bool { return len(a.body) == len(half) })
		got <- struct{}{}
		if a := h.answer(s); a.status() != "200" || a.body != half || a.reset != "INTERNAL_ERROR" {
			t.Errorf("%s: got %+v, want half a body and INTERNAL_ERROR", way, a)
		}
	}
	wantBlamed(t, p, len(waysToBreak))
}

// wantBlamed looks at records and counters of so many broken responses.
func wantBlamed(t *T, p *Proxy, n int) {
	t.Helper()
	for i := range n {
		if r := p.Record(i + 1); !r.Truncated || r.Status != 200 || !r.Answered {
			t.Errorf("record %d: status %d, truncated %v, answered %v", i+1, r.Status, r.Truncated, r.Answered)
		}
	}
	if got := p.Metrics.UpstreamTruncated.Load(); got != uint64(n) {
		t.Errorf("%d responses counted as truncated, want %d", got, n)
	}
}

// brokenH10: HTTP/1.0 has no chunks, so the end of the connection is the end of
// the body. Only a reset can say that it is not.
func brokenH10(t *T) {
	got := make(chan struct{}, 1)
	p := t.Start(Setup{Spec: NewOrigin(t, breaksOff(got)).Spec(), Hosts: []string{"a.test"}})
	for say, c := range map[string]*Raw{"plain": p.Dial(), "TLS": p.DialTLS("a.test")} {
		c.Send("GET /chunks HTTP/1.0\r\nHost: a.test\r\n\r\n")
		if _, err := readHead(c.In); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(io.Discard, c.In, int64(len(half))); err != nil {
			t.Fatal(err)
		}
		got <- struct{}{}
		if rest, err := io.ReadAll(c.In); err == nil || len(rest) > 0 {
			t.Errorf("%s: after half of the body came %q and an orderly end", say, rest)
		}
	}
}
