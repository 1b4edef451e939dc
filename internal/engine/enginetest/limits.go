package enginetest

import (
	"fmt"
	"strings"

	"ramjet.dev/ingress/internal/engine"
)

// limits are the sizes that a head may have (H18; P02): --max-header-bytes on both sides, a
// whole head with its line ends counted.
var limits = features{
	"request heads":         requestHeads,
	"response heads":        responseHeads,
	"many fields":           manyFields,
	"a flood of interim":    interimFlood,
	"heads over HTTP/2":     headsOverH2,
	"a head without end":    endlessHead,
	"a lower limit applies": lowerLimit,
}

const kib = 1 << 10

// headOf is a request of exactly size bytes, the surplus in its cookie.
func headOf(size int) string {
	const rest = "GET / HTTP/1.1\r\nHost: a.test\r\nCookie: \r\n\r\n"
	return strings.Replace(rest, "Cookie: ", "Cookie: "+strings.Repeat("c", size-len(rest)), 1)
}

func requestHeads(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	line := func(size int) string {
		const rest = "GET / HTTP/1.1\r\n"
		return "GET /" + strings.Repeat("x", size-len(rest)) + " HTTP/1.1\r\nHost: a.test\r\n\r\n"
	}
	const tooLarge = "431 Request Header Fields Too Large: the header block is larger than the configured limit\n"
	const tooLong = "414 Request URI Too Long: the request line is longer than the configured limit\n"
	for _, c := range []struct {
		say, send string
		status    int
		body      string
	}{
		{"a cookie of 60 KiB", headOf(60 * kib), 200, "ok"},
		{"a head of exactly the limit", headOf(64 * kib), 200, "ok"},
		{"one byte more", headOf(64*kib + 1), 431, tooLarge},
		{"a megabyte", headOf(1024 * kib), 431, tooLarge},
		{"a request line of 8 KiB", line(8 * kib), 200, "ok"},
		{"a request line of 60 KiB", line(60 * kib), 200, "ok"},
		{"a request line beyond the limit", line(64*kib + 1), 414, tooLong},
		{"a request line of a megabyte", line(1024 * kib), 414, tooLong},
	} {
		conn := p.Dial()
		a := conn.Do("GET", c.send)
		if a.Status != c.status || a.Body != c.body {
			t.Errorf("%s: got %d %q, want %d %q", c.say, a.Status, a.Body, c.status, c.body)
		}
		if a.Close != (c.status != 200) {
			t.Errorf("%s: the answer says close: %v", c.say, a.Close)
		}
		if c.status != 200 && !conn.Closed() {
			t.Errorf("%s: the connection stays open", c.say)
		}
	}
	for _, head := range o.Heads() {
		if len(head) < 8*kib {
			t.Errorf("a head of %d bytes reached the origin: %.100q", len(head), head)
		}
	}
}

// responseWithHead answers with a head of exactly as many bytes as the path asks
// for.
func responseWithHead(e *Exchange) error {
	var size int
	if _, err := fmt.Sscanf(e.Target(), "/%d", &size); err != nil {
		return err
	}
	const rest = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: \r\n\r\n"
	head := strings.Replace(rest, "Set-Cookie: ", "Set-Cookie: "+strings.Repeat("c", size-len(rest)), 1)
	return e.Raw(head + "ok")
}

func responseHeads(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, responseWithHead).Spec(), Hosts: []string{"a.test"}})
	const tooLarge = "502 Bad Gateway: the backend sent a response head larger than --max-header-bytes\n"
	c, h2 := p.Dial(), p.Client(true)
	for _, size := range []int{4 * kib, 32 * kib, 64 * kib, 64*kib + 1, 300 * kib} {
		status, body := 200, "ok"
		if size > 64*kib {
			status, body = 502, tooLarge
		}
		path := fmt.Sprint("/", size)
		if a := c.Do("GET", "GET "+path+" HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != status || a.Body != body {
			t.Errorf("%d bytes over HTTP/1.1: got %d %q", size, a.Status, a.Body)
		}
		if a := p.Get(h2, "https://a.test"+path); a.Status != status || a.Body != body {
			t.Errorf("%d bytes over HTTP/2: got %d %q", size, a.Status, a.Body)
		}
	}
}

func manyFields(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	fields := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "X-%d: v\r\n", i)
		}
		return "GET / HTTP/1.1\r\nHost: a.test\r\n" + b.String() + "\r\n"
	}
	if a := p.Dial().Do("GET", fields(200)); a.Status != 200 {
		t.Errorf("200 fields: got %d %q", a.Status, a.Body)
	}
	if got := len(HeadField(o.Heads()[0], "X-199")); got != 1 {
		t.Errorf("the last of 200 fields arrived %d times", got)
	}
	if a := p.Dial().Do("GET", fields(2000)); a.Status != 431 || !a.Close {
		t.Errorf("2000 fields: got %d %q", a.Status, a.Body)
	}
}

// interimFlood has an origin that never stops to send 103.
func interimFlood(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		for e.Raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") == nil {
		}
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	const want = "502 Bad Gateway: the backend sent too many interim responses\n"
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	a, interim := c.Final("GET")
	if a.Status != 502 || a.Body != want || len(interim) == 0 || len(interim) > 100 {
		t.Errorf("HTTP/1.1: got %d %q after %d interim responses", a.Status, a.Body, len(interim))
	}
	if a := p.DialH2(0).get("a.test", "/"); a.status() != "502" || a.body != want || len(a.interim) == 0 || len(a.interim) > 100 {
		t.Errorf("HTTP/2: got %s %q after %d interim responses", a.status(), a.body, len(a.interim))
	}
	if a := p.Dial().Do("GET", "GET / HTTP/1.0\r\nHost: a.test\r\n\r\n"); a.Status != 502 {
		t.Errorf("HTTP/1.0: got %d %q", a.Status, a.Body)
	}
}

// headsOverH2 (P02) counts as HTTP/2 does: by the sizes of fields (RFC 9113 section
// 6.5.2). Clients are told the limit. Beyond it the request may be refused, its stream
// reset or the connection ended.
func headsOverH2(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	if got := p.DialH2(0).settings[settingHeaderList]; got != 64*kib {
		t.Errorf("SETTINGS_MAX_HEADER_LIST_SIZE is %d, want %d", got, 64*kib)
	}
	of := func(size int) []string { // a request whose list of fields has this size
		for _, f := range h2Request("GET", "a.test", "/", "cookie: ") {
			size -= len(f) - len(": ") + 32
		}
		return h2Request("GET", "a.test", "/", "cookie: "+strings.Repeat("c", size))
	}
	h := p.DialH2(0)
	for _, size := range []int{60 * kib, 64 * kib} {
		if a := h.answer(h.open(true, of(size)...)); a.status() != "200" {
			t.Errorf("a list of %d: got %s %q reset %q", size, a.status(), a.body, a.reset)
		}
	}
	tiny := h2Request("GET", "a.test", "/")
	for i := range 10000 {
		tiny = append(tiny, fmt.Sprintf("x%d: ", i))
	}
	for say, fields := range map[string][]string{
		"one byte more": of(64*kib + 1), "a cookie of 80 KiB": of(80 * kib), "10,000 tiny fields": tiny,
	} {
		h := p.DialH2(0)
		stream := h.open(true, fields...)
		h.until(stream, "a refusal of "+say, func(a *h2Answer) bool {
			return a.status() == "431" || a.reset != "" || h.goAway || h.ended
		})
	}
	if got := len(o.Heads()); got != 2 {
		t.Errorf("%d requests reached the origin, want 2", got)
	}
}

// endlessHead (P02) has heads that are small on the wire: one that never ends, and one
// that names a large field of the request before it again and again.
func endlessHead(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	h := p.DialH2(0)
	begin := []byte("\x82\x86\x84\x41\x06a.test") // GET, http, /, :authority (RFC 7541)
	h.change(func() { h.streams[1] = &h2Answer{} })
	h.frame(frameHeaders, flagEndStream, 1, begin)
	piece := []byte(strings.Repeat("\x00\x01x\x01y", 3000))
	for sent, over := 0, false; !over; sent += len(piece) {
		if sent > mostInSockets {
			t.Fatalf("%d bytes of a head that does not end went in", sent)
		}
		if err := h.frame(frameContinuation, 0, 1, piece); err != nil {
			break
		}
		h.monitor.read(func() { over = h.goAway || h.ended })
	}
	h.wait(t, "the end of the connection", func() bool { return h.goAway || h.ended })

	h = p.DialH2(0)
	if a := h.get("a.test", "/", "x: "+strings.Repeat("y", 3900)); a.status() != "200" {
		t.Errorf("a large field: got %+v", a)
	}
	h.change(func() { h.streams[3] = &h2Answer{} })
	again := strings.Repeat("\xbe", 8*kib) // the field that was added last
	h.frame(frameHeaders, flagEndStream|flagEndHeaders, 3, append(begin, again...))
	h.until(3, "a refusal", func(a *h2Answer) bool {
		return a.status() == "431" || a.reset != "" || h.goAway || h.ended
	})
	if got := len(o.Heads()); got != 1 {
		t.Errorf("%d requests reached the origin, want 1", got)
	}
}

func maxHeader(n int) func(*engine.Options) {
	return func(o *engine.Options) { o.MaxHeaderBytes = n }
}

func lowerLimit(t *T) {
	o := NewOrigin(t, responseWithHead)
	p := t.Start(Setup{Spec: o.Spec(), Change: maxHeader(4 * kib)})
	// The first exchange of an engine counts as much as one in memory that was used before.
	for _, c := range []struct{ size, want int }{{4*kib + 1, 502}, {4 * kib, 200}, {4*kib + 1, 502}} {
		if a := p.Dial().Do("GET", fmt.Sprintf("GET /%d HTTP/1.1\r\nHost: a.test\r\n\r\n", c.size)); a.Status != c.want {
			t.Errorf("a response head of %d bytes: got %d %q", c.size, a.Status, a.Body)
		}
	}
	if a := p.Dial().Do("GET", headOf(4*kib+1)); a.Status != 431 {
		t.Errorf("a request head above 4 KiB: got %d %q", a.Status, a.Body)
	}
}
