package enginetest

import (
	"strings"
)

// trailers are those that cross between versions (P05); HTTP/1.1 to HTTP/1.1 has its
// cases in testdata/exchange (RFC 9110 section 6.5).
var trailers = features{
	"of an answer to HTTP/2":          answerTrailersH2,
	"of an answer without a body":     answerTrailersOnly,
	"of a request over HTTP/2":        requestTrailersH2,
	"of a request in HTTP/2, refused": requestTrailersForbidden,
}

func answerTrailersH2(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		return e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n5\r\nhello\r\n0\r\n" +
			"X-T: 1\r\nx-u: 2\r\nX-U: 3\r\nContent-Length: 9\r\nConnection: close\r\nTransfer-Encoding: x\r\nSet-Cookie: a=1\r\n\r\n")
	})
	p := t.Start(Setup{Spec: o.Spec()})
	a := p.DialH2(0).get("a.test", "/", "te: trailers")
	if a.status() != "200" || a.body != "hello" || a.reset != "" {
		t.Fatalf("got %+v", a)
	}
	if len(a.trailer) != 2 || first(a.trailer["x-t"]) != "1" || strings.Join(a.trailer["x-u"], ",") != "2,3" {
		t.Errorf("trailers %v, want x-t and two x-u and no other", a.trailer)
	}
}

func answerTrailersOnly(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		return e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-T: 1\r\n\r\n")
	})
	p := t.Start(Setup{Spec: o.Spec()})
	if a := p.DialH2(0).get("a.test", "/", "te: trailers"); a.status() != "200" || a.body != "" || first(a.trailer["x-t"]) != "1" {
		t.Errorf("got %+v", a)
	}
}

// echoTrailers answers with the body and the trailers of the request.
func echoTrailers(e *Exchange) error {
	m, err := e.message()
	if err != nil {
		return err
	}
	return e.Reply("200 OK", m.body+"|"+strings.Join(sortedFields(m.trailer, func(string) bool { return false }), ","))
}

func requestTrailersH2(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoTrailers).Spec()})
	h := p.DialH2(0)
	s := h.open(false, h2Request("POST", "a.test", "/", "trailer: x-t", "trailer: x-u")...)
	h.data(s, false, "hello")
	h.headers(s, true, []string{"x-t: 1", "x-u: 2"})
	if a := h.answer(s); a.body != "hello|X-T: 1,X-U: 2" {
		t.Errorf("got %+v", a)
	}
}

// requestTrailersForbidden: what must not cross is dropped or ends the stream.
func requestTrailersForbidden(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoTrailers).Spec()})
	h := p.DialH2(0)
	for field, mayReset := range map[string]bool{
		"host: b.test": true, "authorization: x": true, "content-length: 5": true,
		"x_t: 1": false, "x-forwarded-for: 1.1.1.1": false,
	} {
		name, _, _ := strings.Cut(field, ":")
		s := h.open(false, h2Request("POST", "a.test", "/", "trailer: x-t", "trailer: "+name)...)
		h.data(s, false, "hello")
		h.headers(s, true, []string{field, "x-t: 1"})
		if a := h.answer(s); a.body != "hello|X-T: 1" && (!mayReset || a.reset != "PROTOCOL_ERROR") {
			t.Errorf("%s: got %+v", field, a)
		}
	}
}
