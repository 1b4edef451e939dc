package http1

import (
	"math/rand/v2"
	"testing"
)

// A mosaic is a message put together at random from pieces that each make sense,
// or trouble, on their own: it gets further into the rules than bytes changed at
// random. The seed is fixed; the fuzzers look for the rest.
type mosaic [][]string

func (m mosaic) make(r *rand.Rand) []byte {
	var b []byte
	for _, choices := range m {
		b = append(b, choices[r.IntN(len(choices))]...)
	}
	return b
}

var requestLineMosaic = mosaic{
	{"", "", "", "", "", "\r\n", "\n", "\r\n\r\n"},
	{"GET", "GET", "GET", "POST", "POST", "OPTIONS", "CONNECT", "HEAD", "x", "PRI", ""},
	{" ", " ", " ", " ", " ", " ", "  ", "\t"},
	{"/", "/", "/", "/a?b", "/%41", "/%4", "/a%zz?%zz", "//a/b", "*", "http://b.test", "HTTPS://b.test:8443/x?y", "http://b.test?q",
		"http://u@b.test/", "http://[::1]:80/", "http://[::1", "http://b.test:x/", "http://b%41.test/", "http:///", "http:x", "ws://b.test/",
		"b.test:443", "[::1]:443", "b.test", "/a#b", "/\x80", "/|^`{}\"<>\\", "/a b", "?a", "", "://", "/a:b", "/?", "/??", "/a?b?"},
	{" ", " ", " ", " ", " ", " ", "  ", ""},
	{"HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/1.0", "HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "http/1.1", "HTTP/1.1 "},
	{"\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n", "\r"},
	{"Host: a.test\r\n", "Host: a.test\r\n", "host:a.test:80\r\n", "HOST:\r\n", "Host: [::1]\r\n", "Host: a b\r\n", "Host: a,b\r\n", "",
		"Host: a\r\nHost: a\r\n", "Host : a\r\n", "Host: a%41\r\n", "Host: \x80\r\n", "Host: a:99999\r\n"},
}

var fieldMosaic = []string{
	"", "", "", "", "", "", "", "", "",
	"X-A: 1\r\n", "x-a:\t2 \t\r\n", "X_A: \x80\xff\r\n", "X-A:\r\n", "X-B: a\tb\r\n", "Pragma: no-cache\r\n", "Cookie: a=b; c=d\r\n",
	"Content-Length: 5\r\n", "Content-Length: 5\r\n", "content-length:05\r\n", "Content-Length: 0\r\n", "Content-Length: 5, 5\r\n",
	"Content-Length: +5\r\n", "Content-Length:\r\n", "Content-Length: 5\t\r\n", "Content-Length: 99999999999999999999\r\n",
	"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: Chunked\r\n", "Transfer-Encoding: chunked,\r\n", "Transfer-Encoding: gzip, chunked\r\n",
	"Transfer-Encoding: identity\r\n", "Transfer-Encoding:\r\n", "Transfer-Encoding: chunked \r\n", "Transfer-Encoding:\tchunked\r\n",
	"Connection: close\r\n", "Connection: keep-alive\r\n", "Connection: X-A, Upgrade\r\n", "Connection: ,\r\n", "Connection: clos\xe9\r\n",
	"Upgrade: websocket\r\n", "Upgrade: h2c\r\n", "Expect: 100-continue\r\n", "Expect: 100-Continue, x\r\n", "Expect:\r\n", "TE: trailers\r\n",
	"Trailer: X-T\r\n", "Trailer: X-T, Content-Length\r\n", "Trailer: ,\r\n",
	" folded\r\n", "\tfolded\r\n", ": x\r\n", "X\r\n", "X Y: z\r\n", "X: a\x00\r\n", "X: a\rb\r\n", "X: a\r\r\n", "X: a\n", "X\xe9: a\r\n", "\r\n",
}

var bodyMosaic = []string{
	"", "hello", "hell", "hello, and more", "5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", "5;a=b\r\nhello\r\n0;c\r\n\r\n",
	"5\r\nhello\r\n", "5\nhello\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "0\r\nX-T : 1\r\n\r\n", "0\r\nX-T: 1\n\r\n", "g\r\n", "0x5\r\nhello\r\n0\r\n\r\n",
}

var responseLineMosaic = mosaic{
	{"HTTP/1.1 ", "HTTP/1.1 ", "HTTP/1.1 ", "HTTP/1.0 ", "HTTP/1.3 ", "HTTP/2.0 ", "HTTP/1.1", "http/1.1 "},
	{"200", "200", "200", "204", "304", "100", "101", "103", "205", "404", "500", "999", "099", "20", "2000", "+20", " 200"},
	{" OK", " OK", " ", "", " a b\t\xe9", "  two", "\tx", " a\x00"},
	{"\r\n", "\r\n", "\r\n", "\n", "\r"},
}

var chunkMosaic = []string{
	"5\r\nhello\r\n", "1\r\nx\r\n", "5;a=b\r\nhello\r\n", "00a\r\n0123456789\r\n", "A;\"q;\t\"\r\n0123456789\r\n", "1;\r\nx\r\n", "",
	"5\nhello\r\n", "5 \r\nhello\r\n", "5\r\nhello", "x", "\r\n", "000000000000000001\r\nx\r\n", "1;\xe9\r\nx\r\n", "1;\x01\r\nx\r\n", "1;a\rb\r\nx\r\n",
}

var chunkEndMosaic = []string{
	"0\r\n\r\n", "0\r\n\r\n", "0\r\n\r\nmore", "000;x\r\n\r\n", "0\r\nX-T: 1\r\nX-T: 2\r\n\r\nmore", "0\r\nHost: x\r\nX-U:\r\n\r\n", "0\r\n", "",
	"0\r\n\n", "0\n\n", "0\r\nX-T: 1\n\n", "0\r\n X: 1\r\n\r\n", "0\r\nX\r\n\r\n",
}

// many runs check on mosaics and wants it to have accepted a fair part: a test of
// refusals only would show nothing.
func many(t *testing.T, rounds int, check func(r *rand.Rand) bool) {
	r := rand.New(rand.NewPCG(9112, 9110))
	accepted := 0
	for range rounds {
		if check(r) {
			accepted++
		}
	}
	if accepted < rounds/20 {
		t.Errorf("%d of %d were accepted", accepted, rounds)
	}
}

func repeated(choices []string, n int) mosaic {
	m := make(mosaic, n)
	for i := range m {
		m[i] = choices
	}
	return m
}

func TestRequestMosaic(t *testing.T) {
	o := newOracle(t)
	fair := mosaic{{"GET / HTTP/1.1\r\nHost: a.test\r\n", "POST http://b.test/ HTTP/1.1\r\nHost: a.test\r\n", "POST / HTTP/1.0\r\n"}}
	many(t, 3000, func(r *rand.Rand) bool {
		start := requestLineMosaic
		if r.IntN(2) == 0 {
			start = fair
		}
		input := start.make(r)
		input = append(input, repeated(fieldMosaic, r.IntN(5)).make(r)...)
		input = append(input, "\r\n"...)
		return checkRequest(t, o, append(input, mosaic{bodyMosaic}.make(r)...))
	})
}

func TestResponseMosaic(t *testing.T) {
	many(t, 3000, func(r *rand.Rand) bool {
		input := responseLineMosaic.make(r)
		input = append(input, repeated(fieldMosaic, r.IntN(5)).make(r)...)
		input = append(input, []string{"\r\n", "\n"}[r.IntN(2)]...)
		return checkResponse(t, append(input, mosaic{bodyMosaic}.make(r)...), r.IntN(4) == 0)
	})
}

func TestChunkedMosaic(t *testing.T) {
	many(t, 3000, func(r *rand.Rand) bool {
		input := repeated(chunkMosaic, r.IntN(5)).make(r)
		return checkChunked(t, append(input, mosaic{chunkEndMosaic}.make(r)...))
	})
}
