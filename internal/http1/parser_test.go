package http1

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

// typicalRequest is what a browser sends behind a load balancer: ten fields.
const typicalRequest = "GET /shop/articles/4711?sort=price&page=2 HTTP/1.1\r\n" +
	"Host: shop.example.com\r\n" +
	"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n" +
	"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n" +
	"Accept-Language: en-US,en;q=0.5\r\n" +
	"Accept-Encoding: gzip, deflate, br\r\n" +
	"Referer: https://shop.example.com/shop\r\n" +
	"Cookie: session=6f1c0e9a7d5b4c3e; theme=dark\r\n" +
	"Connection: keep-alive\r\n" +
	"Cache-Control: max-age=0\r\n" +
	"If-None-Match: \"5d8c72a5edda8d6a\"\r\n" +
	"\r\n"

const typicalResponse = "HTTP/1.1 200 OK\r\n" +
	"Server: backend/1.2\r\n" +
	"Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n" +
	"Content-Type: text/html; charset=utf-8\r\n" +
	"Content-Length: 128\r\n" +
	"Connection: keep-alive\r\n" +
	"Cache-Control: public, max-age=60\r\n" +
	"ETag: \"5d8c72a5edda8d6a\"\r\n" +
	"Vary: Accept-Encoding\r\n" +
	"\r\n"

// A judged byte is not judged again: change it after the parser has seen it, and
// nobody notices, unless it has a meaning that is read when the head is complete.
func TestNoByteIsJudgedTwice(t *testing.T) {
	// Each mark ends a piece; the byte before it is spoilt once it was seen.
	const input = "GE|T /a|b HTTP/1.1\r\nHost: a.test\r\nX|-Long: v|al|ue\r\n\r|\n"
	var p Parser
	var h RequestHead
	var b []byte
	pieces := strings.Split(input, "|")
	for i, piece := range pieces {
		b = append(b, piece...)
		n, err := p.ParseRequest(b, &h)
		if err != nil {
			t.Fatalf("after %q: %v", b, err)
		}
		if last := i == len(pieces)-1; last != (n == len(b)) {
			t.Fatalf("after %q: n = %d", b, n)
		}
		if piece[len(piece)-1] != '\r' {
			b[len(b)-1] = 0
		}
	}
}

// The same structs serve head after head, whatever became of the one before.
func TestParserIsReusable(t *testing.T) {
	var p Parser
	var h RequestHead
	const good = "POST http://b.test/?q HTTP/1.0\r\nHost: a.test\r\nContent-Length: 3\r\nConnection: x\r\nTE: trailers\r\n\r\n"
	const plain = "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"
	want := RequestHead{
		Method: []byte("GET"), Target: []byte("/"), Minor: 1, Path: []byte("/"), Host: []byte("a.test"), HasHost: true,
		Fields: []Field{{[]byte("Host"), []byte("a.test")}}, ContentLength: -1, KeepAlive: true,
	}
	for _, before := range []string{good, "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/2.0\r\n", preface, "\r\n" + good} {
		p.ParseRequest([]byte(before), &h)
		n, err := p.ParseRequest([]byte(plain), &h)
		if n != len(plain) || err != nil {
			t.Fatalf("after %q: %d, %v", before, n, err)
		}
		if !reflect.DeepEqual(h, want) {
			t.Errorf("after %q:\n got %+v\nwant %+v", before, h, want)
		}
	}
	p.ParseRequest([]byte("GET / HTTP/1.1\r\nHo"), &h)
	if !p.Begun() {
		t.Error("in the middle of a head and not begun")
	}
	p.Reset()
	if p.Begun() {
		t.Error("begun after Reset")
	}
	var r ResponseHead
	if n, err := p.ParseResponse([]byte("HTTP/1.1 204\n\n"), false, &r); n == 0 || err != nil {
		t.Errorf("a response after a request: %d, %v", n, err)
	}
	if _, err := p.ParseRequest([]byte("GET / HTTP/1.1\n"), &h); err == nil {
		t.Error("a request after a response is as lenient as that")
	}
}

// An empty line before a request does not make a connection busy.
func TestBegun(t *testing.T) {
	var p Parser
	var h RequestHead
	for _, step := range []struct {
		b     string
		begun bool
	}{{"\r", false}, {"\r\n", false}, {"\r\nG", true}, {"\r\nGE", true}} {
		if n, err := p.ParseRequest([]byte(step.b), &h); n != 0 || err != nil {
			t.Fatalf("%q: %d, %v", step.b, n, err)
		}
		if p.Begun() != step.begun {
			t.Errorf("%q: begun = %v", step.b, p.Begun())
		}
	}
	p.Reset()
	if p.ParseRequest([]byte("P"), &h); !p.Begun() {
		t.Error("what may become the preface is a beginning")
	}
}

// Bytes before Start are not part of the request; what is from there to n is a
// request on its own.
func TestStart(t *testing.T) {
	var p Parser
	var h RequestHead
	b := []byte("\r\n" + typicalRequest + "GET")
	n, err := p.ParseRequest(b, &h)
	if err != nil || string(b[h.Start:n]) != typicalRequest {
		t.Errorf("%v: %q", err, b[h.Start:n])
	}
}

// Nothing a peer sends is in an Error, and every Error is complete.
func TestErrorsAreConstants(t *testing.T) {
	seen := make(map[string]bool)
	for f := fine + 1; f < faults; f++ {
		for _, err := range []error{f.request(), f.response()} {
			var e *Error
			if !errors.As(err, &e) || e.Reason == "" || e.Text == "" || e.Error() != e.Text {
				t.Errorf("fault %d: %+v", f, err)
			}
		}
		e := requestErrors[f]
		if !bytes.Contains([]byte("400 414 417 431 501 505"), fmt.Appendf(nil, "%d", e.Status)) {
			t.Errorf("%s: status %d", e.Reason, e.Status)
		}
		if responseErrors[f].Status != 502 {
			t.Errorf("%s: status %d of a response", e.Reason, responseErrors[f].Status)
		}
		if seen[e.Reason] {
			t.Errorf("%s: twice", e.Reason)
		}
		seen[e.Reason] = true
	}
	if fine.request() != nil || fine.response() != nil {
		t.Error("no fault is an error")
	}
}

// The parser and the decoder allocate nothing once they have grown to size.
func TestNoAllocation(t *testing.T) {
	var p Parser
	var req RequestHead
	var resp ResponseHead
	var c Chunked
	request, response := []byte(typicalRequest), []byte(typicalResponse)
	ipv6 := []byte("GET http://[2001:db8::1]/ HTTP/1.1\r\nHost: [::1]:80\r\n\r\n")
	bad := []byte("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
	body := []byte("5;x=y\r\nhello\r\n0\r\nX-Sum: 1\r\nHost: a\r\n\r\n")
	for what, f := range map[string]func(){
		"request":     func() { p.ParseRequest(request, &req) },
		"in halves":   func() { p.ParseRequest(request[:200], &req); p.ParseRequest(request, &req) },
		"IPv6":        func() { p.ParseRequest(ipv6, &req) },
		"bad request": func() { p.ParseRequest(bad, &req) },
		"response":    func() { p.ParseResponse(response, false, &resp) },
		"lookup":      func() { req.Field("cookie"); HopByHop(request[:10]) },
		"chunked":     func() { c.Reset(Limits{}); c.Skip(body) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	if !c.Done() || len(c.Trailer()) != 1 {
		t.Error("the body of the test is not what it should be")
	}
}

// indexControl looks at words; the obvious loop is its twin.
func TestIndexControlTwin(t *testing.T) {
	twin := func(b []byte) int {
		for i, c := range b {
			if c < 0x20 || c == 0x7f {
				return i
			}
		}
		return len(b)
	}
	fill := []byte{'a', 0x80, 0xff, 0x20, 0x21, 0x7e, 0x9f, 0xa0}
	b := make([]byte, 19)
	for c := 0; c < 256; c++ {
		for at := range b {
			for other := range b {
				for i := range b {
					b[i] = fill[(i+c)%len(fill)]
				}
				b[other] = 0x7f
				b[at] = byte(c)
				if got, want := indexControl(b), twin(b); got != want {
					t.Fatalf("%x: %d, want %d", b, got, want)
				}
			}
		}
	}
}

// validIPv6 against net/netip, on every short string over the letters that matter.
func TestIPv6Twin(t *testing.T) {
	check := func(s string) {
		addr, err := netip.ParseAddr(s)
		want := err == nil && addr.Is6() && addr.Zone() == ""
		if got := validIPv6([]byte(s)); got != want {
			t.Fatalf("%q: %v, want %v", s, got, want)
		}
	}
	var every func(prefix string, left int)
	every = func(prefix string, left int) {
		check(prefix)
		for _, c := range []string{":", "1", "."} {
			if left > 0 {
				every(prefix+c, left-1)
			}
		}
	}
	every("", 9)
	every("1:2:3:4:5:6", 6)
	every("::255.255.2", 6)
	for groups := 1; groups <= 9; groups++ {
		for gap := -1; gap <= groups; gap++ {
			parts := strings.Split(strings.Repeat("abc ", groups-1)+"f", " ")
			s := strings.Join(parts, ":")
			if gap >= 0 {
				s = strings.Join(parts[:gap], ":") + "::" + strings.Join(parts[gap:], ":")
			}
			for _, tail := range []string{"", ":1.2.3.4", "1.2.3.4", "::", "%25a", ":g", ":12345", ":1.2.3", ":1.2.3.256", ":01.2.3.4"} {
				check(s + tail)
			}
		}
	}
}
