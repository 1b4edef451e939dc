package http1

import (
	"strings"
	"testing"
)

// What the standard says, section by section, in its own order. testdata has the
// variants; this is the index of what was read. want is a part of what is
// understood. "request" and "response" are read as a stream, so that what follows a
// message shows where it was taken to end.
var rfc9112 = []struct {
	section, says string
	kind          string
	input         string
	want          string
}{
	{"2.2", "a server that expects a request line should ignore an empty line before it", "request",
		"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "request GET"},
	{"2.2", "a recipient may take a single LF for a line end: from backends", "response",
		"HTTP/1.1 204 OK\nA: b\n\n", `field A: "b"`},
	{"2.2", "and need not: from clients it is refused", "request",
		"GET / HTTP/1.1\nHost: a\n\n", "400 BareLF"},
	{"2.2", "a bare CR makes an element invalid", "request",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n", "400 BareCR"},
	{"2.2", "a bare CR makes an element invalid", "response",
		"HTTP/1.1 204 OK\r\nX: b\rc\r\n\r\n", "502 BareCR"},
	{"2.2", "white space between start line and first field: refuse", "request",
		"GET / HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n", "400 ObsoleteFold"},
	{"2.3", "the name of the protocol has case", "request",
		"GET / http/1.1\r\nHost: a\r\n\r\n", "400 InvalidRequestLine"},
	{"3", "single spaces separate the parts of a request line", "request",
		"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "400 InvalidRequestLine"},
	{"3", "a request line too long: 414", "request",
		"GET /" + strings.Repeat("a", 70000), "414 RequestLineTooLong"},
	{"3", "at least 8,000 bytes of request line are supported", "request",
		"GET /" + strings.Repeat("a", 8000) + " HTTP/1.1\r\nHost: a\r\n\r\n", "request GET"},
	{"3.1", "a method has case", "request",
		"get / HTTP/1.1\r\nHost: a\r\n\r\n", "request get"},
	{"3.2", "no white space in a target", "request",
		"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "400 InvalidRequestLine"},
	{"3.2", "HTTP/1.1 without Host: 400", "request",
		"GET / HTTP/1.1\r\n\r\n", "400 MissingHost"},
	{"3.2", "more than one Host: 400", "request",
		"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 DuplicateHost"},
	{"3.2", "an invalid Host: 400", "request",
		"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "400 InvalidHost"},
	{"3.2.1", "origin form", "request",
		"GET /where?q=now HTTP/1.1\r\nHost: www.example.org\r\n\r\n", `origin path "/where" query "q=now" host "www.example.org"`},
	{"3.2.2", "absolute form: the authority of the target replaces Host", "request",
		"GET http://www.example.org/pub HTTP/1.1\r\nHost: other\r\n\r\n", `absolute path "/pub" host "www.example.org"`},
	{"3.2.3", "authority form, with CONNECT only", "request",
		"CONNECT www.example.com:80 HTTP/1.1\r\nHost: www.example.com\r\n\r\n", `authority path "" host "www.example.com:80"`},
	{"3.2.3", "authority form, with CONNECT only", "request",
		"GET www.example.com:80 HTTP/1.1\r\nHost: www.example.com\r\n\r\n", "400 InvalidTarget"},
	{"3.2.4", "asterisk form, with OPTIONS only", "request",
		"OPTIONS * HTTP/1.1\r\nHost: www.example.org:8001\r\n\r\n", `asterisk path "*" host "www.example.org:8001"`},
	{"3.2.4", "asterisk form, with OPTIONS only", "request",
		"GET * HTTP/1.1\r\nHost: a\r\n\r\n", "400 InvalidTarget"},
	{"3.3", "an empty Host means an empty authority", "request",
		"GET / HTTP/1.1\r\nHost:\r\n\r\n", `host ""`},
	{"4", "the reason phrase may be empty", "response",
		"HTTP/1.1 204 \r\n\r\n", `response 204 ""`},
	{"5.1", "white space between name and colon: 400", "request",
		"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400 SpaceBeforeColon"},
	{"5.1", "white space around a value is not part of it", "request",
		"GET / HTTP/1.1\r\nHost: a\r\nX: \t b c \t \r\n\r\n", `field X: "b c"`},
	{"5.2", "obsolete line folding in a request: 400", "request",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", "400 ObsoleteFold"},
	{"5.2", "in a response: discard it and answer 502", "response",
		"HTTP/1.1 204 OK\r\nX: b\r\n c\r\n\r\n", "502 ObsoleteFold"},
	{"6.1", "chunked must not be applied twice", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", "400 InvalidTransferEncoding"},
	{"6.1", "a coding that is not understood: 501", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "501 UnsupportedTransferEncoding"},
	{"6.1", "a message with both fields may be refused", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400 LengthAndEncoding"},
	{"6.1", "Transfer-Encoding in HTTP/1.0: the framing is faulty", "request",
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400 EncodingOnHTTP10"},
	{"6.1", "Transfer-Encoding in HTTP/1.0: the framing is faulty", "response",
		"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "502 EncodingOnHTTP10"},
	{"6.2", "Content-Length is decimal", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x1\r\n\r\n", "400 InvalidContentLength"},
	{"6.3", "1: 1xx, 204 and 304 end with the head", "response",
		"HTTP/1.1 304 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 204 OK\r\n\r\n", "response 204"},
	{"6.3", "1: so does every answer to HEAD", "response to HEAD",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 204 OK\r\n\r\n", "response 204"},
	{"6.3", "3: both fields ought to be handled as an error", "response",
		"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n", "502 LengthAndEncoding"},
	{"6.3", "4: chunked as the final coding: until its end", "response",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\nHTTP/1.1 204 OK\r\n\r\n", "response 204"},
	{"6.3", "4: chunked not final in a request: 400", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", "400 InvalidTransferEncoding"},
	{"6.3", "5: invalid Content-Length in a request: 400", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400 DuplicateContentLength"},
	{"6.3", "5: in a response: 502", "response",
		"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\n", "502 InvalidContentLength"},
	{"6.3", "6: Content-Length bytes", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxGET /b HTTP/1.1\r\nHost: a\r\n\r\n", "request GET"},
	{"6.3", "7: a request without either has no body", "request",
		"POST / HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n", "request GET"},
	{"6.3", "8: a response without either ends with the connection", "response",
		"HTTP/1.1 200 OK\r\n\r\nx", `body "x" until close`},
	{"7", "names of codings have no case", "request",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n", `body ""`},
	{"7.1", "large sizes must not overflow", "chunked",
		"ffffffffffffffff1\r\n", "400 InvalidChunkSize"},
	{"7.1", "lines of the coding end in CRLF", "chunked",
		"1\nx\r\n0\r\n\r\n", "400 BareLF"},
	{"7.1.1", "unknown extensions are ignored", "chunked",
		"1;a=b;c=\"d\"\r\nx\r\n0\r\n\r\n", `body "x"`},
	{"7.1.1", "and limited in length", "chunked",
		"1;" + strings.Repeat("a", 5000), "400 ChunkLineTooLong"},
	{"7.1.2", "trailer fields follow the last chunk", "chunked",
		"0\r\nX-Sum: 1\r\n\r\n", `trailer X-Sum: "1"`},
	{"7.1.2", "and may be discarded where they must not be merged", "chunked",
		"0\r\nContent-Length: 1\r\n\r\n", "body \"\"\n"},
	{"9.3", "HTTP/1.1 persists", "request",
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "body none, keep-alive"},
	{"9.3", "HTTP/1.0 does not", "request",
		"GET / HTTP/1.0\r\n\r\n", "body none, no Host"},
	{"9.3", "unless asked to", "request",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "body none, keep-alive"},
	{"9.6", "close ends it", "request",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "body none\n"},
}

func TestRFC9112(t *testing.T) {
	for _, c := range rfc9112 {
		kind, _, head := strings.Cut(c.kind, " to HEAD")
		fresh := func() *stream { return newStream(kind, head, Limits{}) }
		got := understand(fresh, []byte(c.input))
		if !strings.Contains(got, c.want) {
			t.Errorf("section %s, %s:\n%swant: %s", c.section, c.says, got, c.want)
		}
		checkCuts(t, fresh, []byte(c.input), got)
	}
}
