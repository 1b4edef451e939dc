package enginetest

import (
	"fmt"
	"strings"
)

// http2Features are what HTTP/2 brings of its own; most other subjects have their
// cases for it beside those for HTTP/1.1.
var http2Features = features{
	"with prior knowledge and over TLS":               bothKindsOfH2,
	"nothing of a connection in a response":           h2Response,
	"interim responses, cleaned":                      h2Interim,
	"a 304 keeps its fields":                          h2NotModified,
	"HEAD":                                            h2Head,
	"cookie crumbs are one field for HTTP/1.1":        h2Cookies,
	"what would break an HTTP/1.1 message is refused": h2Injection,
	"a body that is not as long as it says":           h2Length,
	"many streams at once":                            h2Streams,
	"streams that are reset at once":                  h2Resets,
	"methods and targets":                             h2Targets,
	"the host, by either name":                        h2Host,
}

func bothKindsOfH2(t *T) {
	o := NewOrigin(t, bodyEnd("", "HTTP/1.1"))
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	for say, h := range map[string]*rawH2{"prior knowledge": p.DialH2(0), "TLS": p.DialH2TLS("a.test")} {
		s := h.open(false, h2Request("POST", "a.test", "/x?y")...)
		h.data(s, true, "xyz")
		if a := h.answer(s); a.status() != "200" || a.body != "got xyz" {
			t.Errorf("%s: got %+v", say, a)
		}
		head := o.Heads()[len(o.Heads())-1]
		if scheme := map[string]string{"TLS": "https"}[say]; scheme != "" && HeadField(head, "X-Forwarded-Proto")[0] != scheme {
			t.Errorf("%s: the origin got %q", say, head)
		}
		if !strings.HasPrefix(head, "POST /x?y HTTP/1.1\r\nHost: a.test\r\n") || len(HeadField(head, "Transfer-Encoding")) != 1 {
			t.Errorf("%s: the origin got %q", say, head)
		}
	}
}

func h2Response(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		return e.Raw("HTTP/1.1 200 OK\r\nConnection: keep-alive, X-A\r\nX-A: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: x\r\n" +
			"Upgrade: h2c\r\nTransfer-Encoding: chunked\r\nX-B: 2\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n2\r\nok\r\n0\r\n\r\n")
	})
	a := t.Start(Setup{Spec: o.Spec()}).DialH2(0).get("a.test", "/")
	for _, name := range []string{"connection", "x-a", "keep-alive", "proxy-connection", "upgrade", "transfer-encoding"} {
		if a.head[name] != nil {
			t.Errorf("%s: %q came through", name, a.head[name])
		}
	}
	if a.body != "ok" || first(a.head["x-b"]) != "2" || len(a.head["set-cookie"]) != 2 {
		t.Errorf("got %+v", a)
	}
}

func h2Interim(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		return e.Raw("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nConnection: X-A\r\nX-A: 1\r\nKeep-Alive: x\r\n\r\n" +
			"HTTP/1.1 103 Early Hints\r\nLink: </b>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	a := t.Start(Setup{Spec: o.Spec()}).DialH2(0).get("a.test", "/")
	if a.status() != "200" || a.body != "ok" || a.head["link"] != nil {
		t.Errorf("got %+v", a)
	}
	if want := "[map[:status:[103] link:[</a>]] map[:status:[103] link:[</b>]]]"; fmt.Sprint(a.interim) != want {
		t.Errorf("interim responses %v, want %s", a.interim, want)
	}
}

func h2NotModified(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		return e.Raw("HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nContent-Type: text/css\r\nETag: \"x\"\r\n\r\n")
	})
	h := t.Start(Setup{Spec: o.Spec()}).DialH2(0)
	for range 2 {
		a := h.get("a.test", "/")
		if a.status() != "304" || first(a.head["content-length"]) != "1000" || first(a.head["content-type"]) != "text/css" || a.body != "" || a.reset != "" {
			t.Errorf("got %+v", a)
		}
	}
}

func h2Head(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		return e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
	})
	h := t.Start(Setup{Spec: o.Spec()}).DialH2(0)
	for range 2 {
		a := h.answer(h.open(true, h2Request("HEAD", "a.test", "/")...))
		if a.status() != "200" || first(a.head["content-length"]) != "1000" || a.body != "" || a.reset != "" {
			t.Errorf("got %+v", a)
		}
	}
}

// h2Cookies: RFC 9113 section 8.2.3.
func h2Cookies(t *T) {
	o := NewOrigin(t, Text("ok"))
	t.Start(Setup{Spec: o.Spec()}).DialH2(0).get("a.test", "/", "cookie: a=1", "cookie: b=2", "cookie: c=3")
	if got := HeadField(o.Heads()[0], "Cookie"); len(got) != 1 || got[0] != "a=1; b=2; c=3" {
		t.Errorf("the origin got %q", got)
	}
}

// h2Injection has bytes that HTTP/2 can carry and HTTP/1.1 would read as the end
// of a line, a field or a message (RFC 9113 section 10.3).
func h2Injection(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	for say, fields := range map[string][]string{
		"a line end in a value":       h2Request("GET", "a.test", "/", "x-a: 1\r\nx-b: 2"),
		"a bare LF in a value":        h2Request("GET", "a.test", "/", "x-a: 1\nx-b: 2"),
		"a NUL in a value":            h2Request("GET", "a.test", "/", "x-a: 1\x002"),
		"a line end in a name":        h2Request("GET", "a.test", "/", "x-a\r\nx-b: 2"),
		"a space in a name":           h2Request("GET", "a.test", "/", "x a: 2"),
		"a capital in a name":         h2Request("GET", "a.test", "/", "X-A: 2"),
		"a line end in the path":      h2Request("GET", "a.test", "/ HTTP/1.1\r\nx-b: 2\r\n\r\nGET /smuggled"),
		"a space in the path":         h2Request("GET", "a.test", "/ HTTP/1.1"),
		"a path that is none":         h2Request("GET", "a.test", "smuggled"),
		"an empty path":               h2Request("GET", "a.test", ""),
		"a fragment":                  h2Request("GET", "a.test", "/#smuggled"),
		"a space in the method":       h2Request("GET /smuggled HTTP/1.1\r\nx-a:", "a.test", "/"),
		"a line end in the authority": h2Request("GET", "a.test\r\nx-b: 2", "/"),
		"a Host beside the authority": h2Request("GET", "a.test", "/", "host: b.test"),
		"a Host that is none":         h2Request("GET", "a.test", "/", "host: a.test, b.test"),
		"two Hosts":                   {":method: GET", ":scheme: http", ":path: /", "host: a.test", "host: b.test"},
		"user information":            h2Request("GET", "u:p@a.test", "/"),
		"a length twice":              h2Request("GET", "a.test", "/", "content-length: 0", "content-length: 5"),
		"a length with a sign":        h2Request("GET", "a.test", "/", "content-length: +0"),
		"no authority":                {":method: GET", ":scheme: http", ":path: /"},
		"Transfer-Encoding":           h2Request("GET", "a.test", "/", "transfer-encoding: chunked"),
		"Connection":                  h2Request("GET", "a.test", "/", "connection: close"),
		"Connection: Upgrade":         h2Request("GET", "a.test", "/", "connection: upgrade", "upgrade: websocket"),
		"TE but trailers":             h2Request("GET", "a.test", "/", "te: gzip"),
		"a method twice":              append([]string{":method: GET"}, h2Request("GET", "a.test", "/")...),
	} {
		h := p.DialH2(0)
		s := h.open(true, fields...)
		h.until(s, "a refusal of "+say, func(a *h2Answer) bool { return a.done || h.ended })
		if a := h.answer(s); a.status() != "400" && a.reset == "" && !h.ended {
			t.Errorf("%s: got %+v", say, a)
		}
	}
	for _, head := range o.Heads() {
		t.Errorf("the origin got %q", head)
	}
}

// h2Host (H04): :authority is the host; a Host that means the same is none the worse, and
// without :authority it is the one.
func h2Host(t *T) {
	o := NewOrigin(t, Text("ok"))
	h := t.Start(Setup{Spec: o.Spec()}).DialH2(0)
	for n, fields := range [][]string{
		h2Request("GET", "a.test", "/", "host: a.test"),
		h2Request("GET", "a.test", "/", "host: A.Test.:80"),
		{":method: GET", ":scheme: http", ":path: /", "host: a.test"},
	} {
		if a := h.answer(h.open(true, fields...)); a.status() != "200" {
			t.Fatalf("%q: got %+v", fields, a)
		}
		if got := HeadField(o.Heads()[n], "Host"); len(got) != 1 || got[0] != "a.test" {
			t.Errorf("%q: the origin got Host %q", fields, got)
		}
	}
}

func h2Length(t *T) {
	cut := make(chan bool, 1)
	o := NewOrigin(t, func(e *Exchange) error {
		m, err := e.message()
		cut <- err != nil || m.cut
		if err != nil {
			return err
		}
		return e.Reply("200 OK", m.body)
	})
	p := t.Start(Setup{Spec: o.Spec()})
	for n, body := range []string{"hell", "hello!"} {
		h := p.DialH2(0)
		s := h.open(false, h2Request("POST", "a.test", "/", "content-length: 5")...)
		o.wait(t, "the request at the origin", func() bool { return len(o.heads) > n })
		h.data(s, true, body)
		if a := h.answer(s); a.reset == "" && a.status() != "400" {
			t.Errorf("%q: got %+v", body, a)
		}
		if !await(t, "the end of the request upstream", cut) {
			t.Errorf("%q: the origin has a whole request", body)
		}
	}
}

func h2Streams(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, bodyEnd("", "HTTP/1.1")).Spec()})
	h := p.DialH2(0)
	var streams []uint32
	for range 100 {
		streams = append(streams, h.open(false, h2Request("POST", "a.test", "/")...))
	}
	for i, s := range streams {
		h.data(s, true, fmt.Sprintf("%03d", i))
	}
	for i, s := range streams {
		if a := h.answer(s); a.body != fmt.Sprintf("got %03d", i) {
			t.Errorf("stream %d: got %+v", s, a)
		}
	}
}

// h2Resets (P01) opens and resets streams as fast as it can, until the server ends the
// connection or has seen a thousand. A neighbour is served all the while, and never are
// more requests on their way than a client that waits may have.
func h2Resets(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		if e.Target() == "/reset" {
			return e.Gone()
		}
		return e.Reply("200 OK", "ok")
	})
	p := t.Start(Setup{Spec: o.Spec()})
	h, neighbour := p.DialH2(0), p.Dial()
	for n := range 1000 {
		s := h.open(true, h2Request("GET", "a.test", "/reset")...)
		h.frame(frameReset, 0, s, []byte{0, 0, 0, 8})
		if n%100 == 0 {
			endpoint := p.Live.Table().Match("a.test", "/reset").Backend.Endpoints[0]
			if now, most := endpoint.InFlight(), h.settings[settingStreams]; most == 0 || now > int64(most)+1 { // one is the neighbour's
				t.Errorf("%d requests on their way, of %d streams that are allowed", now, most)
			}
			if a := neighbour.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
				t.Fatalf("the neighbour got %+v", a)
			}
		}
	}
	h.Close()
	o.wait(t, "the origin to be left in peace", func() bool {
		busy := 0
		for _, idle := range o.open {
			if !idle {
				busy++
			}
		}
		return busy == 0
	})
	if r := p.Metrics.Requests[5].Load(); r != 0 {
		t.Errorf("%d requests failed with 5xx", r)
	}
}

func h2Targets(t *T) {
	o := NewOrigin(t, Text("ok"))
	h := t.Start(Setup{Spec: o.Spec()}).DialH2(0)
	for _, try := range []struct{ method, path, want string }{
		{"OPTIONS", "*", "OPTIONS * HTTP/1.1"},
		{"BREW", "/pot", "BREW /pot HTTP/1.1"},
		{"GET", "//x?", "GET //x? HTTP/1.1"},
		{"GET", "/%2F/\xc3\xa4", "GET /%2F/\xc3\xa4 HTTP/1.1"},
		{"GET", "/a/../b", "GET /b HTTP/1.1"},
	} {
		before := len(o.Heads())
		a := h.answer(h.open(true, h2Request(try.method, "a.test", try.path)...))
		if a.status() != "200" || len(o.Heads()) != before+1 || !strings.HasPrefix(o.Heads()[before], try.want+"\r\n") {
			t.Errorf("%s %s: got %+v; the origin got %q", try.method, try.path, a, o.Heads()[before:])
		}
	}
	a := h.answer(h.open(true, ":method: CONNECT", ":authority: a.test:443"))
	if a.status() != "405" || first(a.head["allow"]) == "" {
		t.Errorf("CONNECT: got %+v", a)
	}
}
