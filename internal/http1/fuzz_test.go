package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// addSeeds gives the fuzzer what the files of cases have of a kind, but for inputs
// so large that they would slow it down.
func addSeeds(f *testing.F, kind string) {
	files, err := filepath.Glob("testdata/*.cases")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		cases, err := readCases(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range cases {
			if c.kind == kind && c.input != nil && len(c.input) < 32<<10 {
				f.Add(c.input)
			}
		}
	}
}

// FuzzRequestHead: however the bytes are cut the verdict is the same; what is
// accepted, net/http's server accepts, and to it it means the same.
func FuzzRequestHead(f *testing.F) {
	addSeeds(f, "request")
	f.Add([]byte(typicalRequest))
	o := newOracle(f)
	f.Fuzz(func(t *testing.T, input []byte) { checkRequest(t, o, input) })
}

func checkRequest(t *testing.T, o *oracle, input []byte) (accepted bool) {
	t.Helper()
	fresh := func() *stream { return newStream("request", false, Limits{}) }
	whole := understand(fresh, input)
	if len(input) < 1<<12 {
		every := make([]int, max(len(input)-1, 0))
		for i := range every {
			every[i] = i + 1
		}
		if got := understand(fresh, input, every...); got != whole {
			t.Fatalf("%q byte by byte:\n%sat once:\n%s", input, got, whole)
		}
	}
	var p Parser
	var h RequestHead
	n, err := p.ParseRequest(input, &h)
	if n == 0 || h.Preface {
		return false
	}
	if err != nil {
		t.Fatalf("both %d and %v", n, err)
	}
	var c Chunked
	body, size, complete := requestBody(&c, &h, input[n:])
	seen, answer := o.serve(input[h.Start : n+size])
	if seen == nil {
		t.Fatalf("%q accepted, and net/http answers %q", input, answer)
	}
	compareRequest(t, &h, seen)
	compareBody(t, &h, &c, seen, body, complete)
	return true
}

// requestBody reads the body that follows h in rest: its bytes, how many coded ones
// they were, and whether it is there to its end.
func requestBody(c *Chunked, h *RequestHead, rest []byte) (body []byte, size int, whole bool) {
	switch h.Framing {
	case FramingNone:
		return nil, 0, true
	case FramingLength:
		size = int(min(h.ContentLength, int64(len(rest))))
		return rest[:size], size, int64(size) == h.ContentLength
	}
	for size < len(rest) && !c.Done() {
		data, n, err := c.Next(rest[size:])
		if err != nil {
			return body, size, false
		}
		body = append(body, data...)
		size += n
	}
	return body, size, c.Done()
}

// compareRequest compares what h says with what a handler saw.
func compareRequest(t *testing.T, h *RequestHead, o *observed) {
	t.Helper()
	proto := o.proto
	if proto != "HTTP/1.0" {
		proto = "HTTP/1.1"
	}
	ours := fmt.Sprintf("%s %q host %q HTTP/1.%d close %v", h.Method, h.Target, h.Host, h.Minor, !h.KeepAlive)
	theirs := fmt.Sprintf("%s %q host %q %s close %v", o.method, o.uri, o.host, proto, o.close)
	if ours != theirs {
		t.Errorf("we read     %s\nnet/http has %s", ours, theirs)
	}
	if !sameHeader(headerOf(h.Fields), o.header) {
		t.Errorf("we read     %q\nnet/http has %q", h.Fields, o.header)
	}
	length, coding := int64(0), "[]"
	switch h.Framing {
	case FramingLength:
		length = h.ContentLength
	case FramingChunked:
		length, coding = -1, "[chunked]"
	}
	if length != o.length || coding != fmt.Sprint(o.coding) {
		t.Errorf("we read %s %d, net/http has %d %v", h.Framing, h.ContentLength, o.length, o.coding)
	}
	if h.HasQuery && string(h.Query) != o.query || !h.HasQuery && o.query != "" {
		t.Errorf("we read query %q, net/http has %q", h.Query, o.query)
	}
}

// compareBody compares a body, as far as it is there.
func compareBody(t *testing.T, h *RequestHead, c *Chunked, o *observed, body []byte, whole bool) {
	t.Helper()
	if whole != (o.bodyErr == nil) {
		t.Fatalf("our body is whole: %v, to net/http: %v", whole, o.bodyErr)
	}
	if whole && string(body) != o.body {
		t.Errorf("our body is %q, to net/http %q", body, o.body)
	}
	for name, values := range headerOf(c.Trailer()) {
		if whole && fmt.Sprint(o.trailer[name]) != fmt.Sprint(values) {
			t.Errorf("our trailer %s is %q, to net/http %q", name, values, o.trailer[name])
		}
	}
}

// FuzzResponseHead: the same for responses against http.ReadResponse.
func FuzzResponseHead(f *testing.F) {
	addSeeds(f, "response")
	f.Add([]byte(typicalResponse))
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, head := range []bool{false, true} {
			checkResponse(t, input, head)
		}
	})
}

func checkResponse(t *testing.T, input []byte, head bool) (accepted bool) {
	t.Helper()
	fresh := func() *stream { return newStream("response", head, Limits{}) }
	whole := understand(fresh, input)
	if len(input) < 1<<12 {
		for _, cut := range []int{len(input) / 3, len(input) / 2, len(input) - len(input)/5} {
			if got := understand(fresh, input, cut); got != whole {
				t.Fatalf("cut at %d:\n%sat once:\n%s", cut, got, whole)
			}
		}
	}
	var p Parser
	var h ResponseHead
	n, err := p.ParseResponse(input, head, &h)
	if n == 0 {
		return false
	}
	if err != nil {
		t.Fatalf("both %d and %v", n, err)
	}
	request := &http.Request{Method: "GET"}
	if head {
		request.Method = "HEAD"
	}
	r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(input)), request)
	if err != nil {
		// The one thing that net/http refuses and we need not: nobody takes its advice.
		if strings.Contains(err.Error(), "bad trailer key") {
			return true
		}
		t.Fatalf("%q accepted, and net/http says %v", input, err)
	}
	compareResponse(t, &h, r, head)
	return true
}

func compareResponse(t *testing.T, h *ResponseHead, r *http.Response, head bool) {
	t.Helper()
	if h.Status != r.StatusCode || h.Minor != min(r.ProtoMinor, 1) {
		t.Errorf("we read %d HTTP/1.%d, net/http has %d %s", h.Status, h.Minor, r.StatusCode, r.Proto)
	}
	if reason := strings.TrimPrefix(r.Status[3:], " "); reason != string(h.Reason) {
		t.Errorf("we read %q, net/http has %q", h.Reason, reason)
	}
	// net/http takes Connection out when it says close.
	ours, theirs := headerOf(h.Fields), r.Header
	delete(ours, "Connection")
	delete(theirs, "Connection")
	if !sameHeader(ours, theirs) {
		// It also drops Content-Length where it does not count.
		delete(ours, "Content-Length")
		if !sameHeader(ours, theirs) {
			t.Errorf("we read     %q\nnet/http has %q", h.Fields, r.Header)
		}
	}
	length := int64(0)
	switch {
	case h.Framing == FramingLength, head:
		length = h.ContentLength
	case h.Framing != FramingNone:
		length = -1
	}
	if length != r.ContentLength {
		t.Errorf("we read %s %d, net/http has %d", h.Framing, h.ContentLength, r.ContentLength)
	}
	if h.KeepAlive && r.Close {
		t.Error("we would keep a connection that net/http closes")
	}
}

// FuzzChunked: what we take for a whole body, net/http takes for the same one, of
// the same size on the wire; what is cut short is cut short for both.
func FuzzChunked(f *testing.F) {
	addSeeds(f, "chunked")
	f.Fuzz(func(t *testing.T, input []byte) { checkChunked(t, input) })
}

func checkChunked(t *testing.T, input []byte) (accepted bool) {
	t.Helper()
	fresh := func() *stream { return newStream("chunked", false, Limits{}) }
	whole := understand(fresh, input)
	for _, cut := range []int{len(input) / 3, len(input) / 2, len(input) - len(input)/5} {
		if got := understand(fresh, input, cut); got != whole {
			t.Fatalf("%q cut at %d:\n%sat once:\n%s", input, cut, got, whole)
		}
	}
	h := RequestHead{Framing: FramingChunked}
	var c, skipper Chunked
	body, size, done := requestBody(&c, &h, input)
	if c.broken != fine {
		return false
	}
	if n, err := skipper.Skip(input); n != size || err != nil || skipper.Done() != done {
		t.Fatalf("Skip: %d, %v, %v; Next: %d, %v", n, err, skipper.Done(), size, done)
	}
	const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	raw := bytes.NewReader(append([]byte(head), input...))
	buffered := bufio.NewReader(raw)
	r, err := http.ReadRequest(buffered)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := io.ReadAll(r.Body)
	if done != (err == nil) {
		t.Fatalf("%q: our body is whole: %v, to net/http: %v", input, done, err)
	}
	if rest := raw.Len() + buffered.Buffered(); done && rest != len(input)-size {
		t.Errorf("%q: we leave %d bytes, net/http %d", input, len(input)-size, rest)
	}
	compareBody(t, &h, &c, &observed{body: string(theirs), trailer: r.Trailer, bodyErr: err}, body, done)
	return done
}
