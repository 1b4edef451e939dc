package http1

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// stream reads a whole connection with the kernel, as an engine would, and writes
// down what it understood. It is given pieces of any size and keeps what is not
// consumed in a buffer that moves on every piece; the old one is mangled, so that
// a kernel that looks back at it is found out.
type stream struct {
	kind   string // "request" or "response" or "chunked"
	head   bool   // responses answer HEAD
	limits Limits

	p    Parser
	c    Chunked
	req  RequestHead
	resp ResponseHead

	buf     []byte
	next    func() bool // consumes something or reports that it cannot
	framing Framing
	left    int64
	body    []byte
	failed  *Error
	out     strings.Builder
}

func newStream(kind string, head bool, limits Limits) *stream {
	s := &stream{kind: kind, head: head, limits: limits}
	s.p.Limits = limits
	s.next = s.readHead
	if kind == "chunked" {
		s.c.Reset(limits)
		s.framing = FramingChunked
		s.next = s.readBody
	}
	return s
}

// feed gives the stream more bytes.
func (s *stream) feed(piece []byte) {
	if s.failed != nil {
		return
	}
	moved := make([]byte, 0, len(s.buf)+len(piece))
	moved = append(append(moved, s.buf...), piece...)
	for i := range s.buf {
		s.buf[i] = 0xEE
	}
	s.buf = moved
	for s.failed == nil && s.next() {
	}
}

// end says that no more bytes come and returns what was understood.
func (s *stream) end() string {
	switch {
	case s.failed != nil:
		fmt.Fprintf(&s.out, "%d %s\n", s.failed.Status, s.failed.Reason)
	case s.framing == FramingUntilClose:
		fmt.Fprintf(&s.out, "body %s until close\n", brief(s.body))
	case s.framing != FramingNone:
		fmt.Fprintf(&s.out, "body incomplete\n")
	case s.p.Begun() || len(s.buf) > 0:
		fmt.Fprintf(&s.out, "head incomplete\n")
	}
	return s.out.String()
}

func (s *stream) fail(err error) bool {
	if !errors.As(err, &s.failed) {
		panic(fmt.Sprintf("error of type %T: %v", err, err))
	}
	return false
}

func (s *stream) readHead() bool {
	if len(s.buf) == 0 {
		return false
	}
	if s.kind == "response" {
		n, err := s.p.ParseResponse(s.buf, s.head, &s.resp)
		if err != nil || n == 0 {
			return err != nil && s.fail(err)
		}
		s.out.WriteString(describeResponse(&s.resp))
		s.begin(n, s.resp.Framing, s.resp.ContentLength)
		return true
	}
	n, err := s.p.ParseRequest(s.buf, &s.req)
	if err != nil || n == 0 {
		return err != nil && s.fail(err)
	}
	s.out.WriteString(describeRequest(&s.req))
	s.begin(n, s.req.Framing, s.req.ContentLength)
	return true
}

// begin steps over a head and prepares for its body.
func (s *stream) begin(n int, f Framing, length int64) {
	s.buf = s.buf[n:]
	s.body = s.body[:0]
	s.framing = f
	switch {
	case f == FramingLength && length == 0:
		s.framing = FramingNone
	case f == FramingLength:
		s.left = length
		s.next = s.readBody
	case f != FramingNone:
		s.c.Reset(s.limits)
		s.next = s.readBody
	}
}

func (s *stream) readBody() bool {
	var data []byte
	var n int
	var err error
	switch s.framing {
	case FramingChunked:
		data, n, err = s.c.Next(s.buf)
	case FramingLength:
		n = int(min(s.left, int64(len(s.buf))))
		data = s.buf[:n]
		s.left -= int64(n)
	default:
		data, n = s.buf, len(s.buf)
	}
	if err != nil {
		return s.fail(err)
	}
	s.body = append(s.body, data...)
	s.buf = s.buf[n:]
	if s.framing == FramingChunked && s.c.Done() || s.framing == FramingLength && s.left == 0 {
		s.finishBody()
		return true
	}
	return n > 0
}

func (s *stream) finishBody() {
	fmt.Fprintf(&s.out, "body %s\n", brief(s.body))
	if s.framing == FramingChunked {
		for _, f := range s.c.Trailer() {
			fmt.Fprintf(&s.out, "trailer %s: %s\n", f.Name, brief(f.Value))
		}
	}
	s.framing = FramingNone
	s.next = s.readHead
	if s.kind == "chunked" {
		s.next = func() bool { return false }
	}
}

// brief quotes b, or the ends of it.
func brief(b []byte) string {
	if len(b) > 100 {
		return fmt.Sprintf("%q..%q (%d bytes)", b[:8], b[len(b)-8:], len(b))
	}
	return fmt.Sprintf("%q", b)
}

func addFlag(b *strings.Builder, on bool, word string) {
	if on {
		b.WriteString(", ")
		b.WriteString(word)
	}
}

func describeRequest(h *RequestHead) string {
	if h.Preface {
		return "HTTP/2 preface\n"
	}
	var b strings.Builder
	form := [...]string{"origin", "absolute", "authority", "asterisk"}[h.Form]
	fmt.Fprintf(&b, "request %s %s path %s", h.Method, form, brief(h.Path))
	if h.HasQuery {
		fmt.Fprintf(&b, " query %s", brief(h.Query))
	}
	fmt.Fprintf(&b, " host %s HTTP/1.%d, body %s", brief(h.Host), h.Minor, h.Framing)
	describeLength(&b, h.ContentLength)
	addFlag(&b, h.KeepAlive, "keep-alive")
	addFlag(&b, !h.HasHost, "no Host")
	addFlag(&b, h.ExpectContinue, "expect")
	addFlag(&b, h.Upgrade, "upgrade")
	addFlag(&b, h.UpgradeH2C, "h2c")
	addFlag(&b, h.Nominates, "nominates")
	addFlag(&b, h.TETrailers, "te-trailers")
	b.WriteByte('\n')
	describeFields(&b, h.Fields, h.Nominated)
	return b.String()
}

func describeResponse(h *ResponseHead) string {
	var b strings.Builder
	fmt.Fprintf(&b, "response %d %s HTTP/1.%d, body %s", h.Status, brief(h.Reason), h.Minor, h.Framing)
	describeLength(&b, h.ContentLength)
	addFlag(&b, h.KeepAlive, "keep-alive")
	addFlag(&b, h.Upgrade, "upgrade")
	addFlag(&b, h.Nominates, "nominates")
	b.WriteByte('\n')
	describeFields(&b, h.Fields, h.Nominated)
	return b.String()
}

func describeLength(b *strings.Builder, n int64) {
	if n >= 0 {
		fmt.Fprintf(b, " (Content-Length %d)", n)
	}
}

// describeFields writes the fields down, the first few of many.
func describeFields(b *strings.Builder, fields []Field, nominated func([]byte) bool) {
	for i, f := range fields {
		if i == 12 {
			fmt.Fprintf(b, "field .. (%d fields)\n", len(fields))
			return
		}
		mark := ""
		if HopByHop(f.Name) || nominated(f.Name) {
			mark = " (hop)"
		}
		fmt.Fprintf(b, "field %s: %s%s\n", f.Name, brief(f.Value), mark)
	}
}

// understand feeds input in pieces that end at the cuts and returns what was
// understood.
func understand(fresh func() *stream, input []byte, cuts ...int) string {
	s := fresh()
	from := 0
	for _, cut := range append(cuts, len(input)) {
		s.feed(input[from:cut])
		from = cut
	}
	return s.end()
}

// checkCuts feeds input byte by byte and cut in two at every point, or at many
// points of a long one, and wants the same understanding each time.
func checkCuts(t *testing.T, fresh func() *stream, input []byte, want string) {
	t.Helper()
	step := 1
	if len(input) > 1<<12 {
		step = len(input)/24 - 1 // moving a large buffer for every byte takes too long
	}
	var every []int
	for cut := step; cut < len(input); cut += step {
		every = append(every, cut)
	}
	if got := understand(fresh, input, every...); got != want {
		t.Errorf("in pieces of %d:\n%swant:\n%s", step, got, want)
	}
	for _, cut := range every {
		if got := understand(fresh, input, cut); got != want {
			t.Fatalf("cut at %d:\n%swant:\n%s", cut, got, want)
		}
	}
}
