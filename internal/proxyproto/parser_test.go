package proxyproto

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// understand feeds input in pieces that end at the cuts and says what came of it. Each
// piece is a copy that is cleared after the call, so that a parser that holds on to
// its input is found out.
func understand(input []byte, cuts ...int) string {
	var p Parser
	consumed, from := 0, 0
	for _, cut := range append(cuts, len(input)) {
		piece := append([]byte(nil), input[from:cut]...)
		from = cut
		n, err := p.Next(piece)
		if err != nil {
			return refusal(&p, err)
		}
		if n != len(piece) && !p.Done() {
			return fmt.Sprintf("consumed %d of %d without being done", n, len(piece))
		}
		consumed += n
		clear(piece)
	}
	if !p.Done() {
		return "incomplete"
	}
	return describe(p.Header(), consumed)
}

// describe writes a header down.
func describe(h Header, bytes int) string {
	if h.Local {
		if h != (Header{Local: true}) {
			return fmt.Sprintf("local with addresses: %+v", h)
		}
		return fmt.Sprintf("local, %d bytes", bytes)
	}
	return fmt.Sprintf("%v to %v, %d bytes", h.Source, h.Destination, bytes)
}

// refusal is the reason of err, which has to stay.
func refusal(p *Parser, err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("error of type %T: %v", err, err)
	}
	if n, again := p.Next([]byte("PROXY UNKNOWN\r\n")); n != 0 || again != err || p.Done() {
		return fmt.Sprintf("%v became %d, %v", err, n, again)
	}
	return e.Reason
}

// cutPoints are all places at which n bytes can be cut, or of a long input those near
// its ends and some between.
func cutPoints(n int) (cuts []int) {
	const near = 300
	for cut := 0; cut < n; cut++ {
		if cut < near || cut > n-near || cut%1021 == 0 {
			cuts = append(cuts, cut)
		}
	}
	return cuts
}

// checkCuts feeds input byte by byte and cut in two at every point, and wants the same
// understanding each time.
func checkCuts(t *testing.T, input []byte) {
	t.Helper()
	want := understand(input)
	var every []int
	for cut := range len(input) {
		every = append(every, cut)
	}
	if got := understand(input, every...); got != want {
		t.Errorf("%.200q byte by byte: %s, at once: %s", input, got, want)
	}
	for _, cut := range cutPoints(len(input)) {
		if got := understand(input, cut); got != want {
			t.Errorf("%.200q cut at %d: %s, at once: %s", input, cut, got, want)
		}
	}
}

// A header that is cut short, at whatever point, is neither done nor refused; and one
// that is whole means the same whatever follows it.
func TestEveryPrefixIsIncomplete(t *testing.T) {
	valid := 0
	for _, file := range caseFiles(t) {
		cases, err := readCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			var p Parser
			n, err := p.Next(c.input)
			if err != nil || !p.Done() {
				continue
			}
			valid++
			for _, cut := range cutPoints(n) {
				if got := understand(c.input[:cut]); got != "incomplete" {
					t.Errorf("%s, cut at %d: %s", c.name, cut, got)
				}
			}
			want := understand(c.input[:n])
			for _, tail := range []string{"", "\n", "\r\n", "GET / HTTP/1.1\r\n", "PROXY UNKNOWN\r\n", signature, "\x16\x03\x01"} {
				if got := understand(append(c.input[:n:n], tail...)); got != want {
					t.Errorf("%s, before %q: %s, alone: %s", c.name, tail, got, want)
				}
			}
		}
	}
	if valid < 20 {
		t.Errorf("only %d valid headers among the cases", valid)
	}
}

// What is no header is refused at its first byte that shows it, whatever comes later.
func TestRefusedAtOnce(t *testing.T) {
	for input, at := range map[string]int{
		"GET / HTTP/1.1\r\n":               1, // a health check, or a client that comes directly
		"\x16\x03\x01\x02\x00":             1, // the same with TLS
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": 3,
		"PROPFIND / HTTP/1.1\r\n":          4,
		"PROXY\t":                          6,
		"PROXY \n":                         7,
		"\n":                               1,
		"\r\nGET / HTTP/1.1\r\n":           3,
		"PROXY TCP4 1.2.3.4\n":             19,
		"PROXY UNKNOWN x\ry":               17,
		"PROXY UNKNOWN" + strings.Repeat(" ", 200): maximumLine,
		signature + "\x11":                         13,
		signature + "\x31":                         13,
		signature + "\x22":                         13,
		signature + "\x21\x41":                     14,
		signature + "\x21\x13":                     14,
		signature + "\x21\x11\x00\x0b":             16,
	} {
		if got := understand([]byte(input)[:at-1]); got != "incomplete" {
			t.Errorf("%q: %s at byte %d already", input, got, at-1)
		}
		if got := understand([]byte(input)[:at]); got == "incomplete" {
			t.Errorf("%q: not refused at byte %d", input, at)
		}
	}
}

// Every fault has its words, and no two the same reason.
func TestErrors(t *testing.T) {
	seen := make(map[string]bool)
	for f := fine + 1; f < faults; f++ {
		e := errorsOf(f)
		if e.Reason == "" || e.Text == "" || e.Error() != e.Text || seen[e.Reason] {
			t.Errorf("fault %d: %+v", f, e)
		}
		seen[e.Reason] = true
	}
	// Each of them is reached by a case.
	for _, file := range caseFiles(t) {
		cases, err := readCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			delete(seen, c.out)
		}
	}
	if len(seen) > 0 {
		t.Errorf("no case ends in %v", seen)
	}
}

func errorsOf(f fault) *Error {
	var e *Error
	errors.As(f.err(), &e)
	return e
}

func TestNoAllocations(t *testing.T) {
	var inputs [][]byte
	for _, file := range caseFiles(t) {
		cases, err := readCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			inputs = append(inputs, c.input)
		}
	}
	for _, input := range inputs {
		if n := testing.AllocsPerRun(10, func() {
			var p Parser
			_, _ = p.Next(input)
			_ = p.Header()
		}); n != 0 {
			t.Errorf("%.100q: %v allocations", input, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for name, input := range map[string]string{
		"v1-TCP4": "PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n",
		"v1-TCP6": "PROXY TCP6 2001:db8::1 2001:db8:ffff:ffff:ffff:ffff:ffff:2 56324 443\r\n",
		"v2-TCP4": signature + "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc6\x33\x64\x02\xdc\x04\x01\xbb",
		"v2-64k":  signature + "\x21\x11\xff\xff" + strings.Repeat("x", 65535),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			header := []byte(input)
			for b.Loop() {
				var p Parser
				if n, err := p.Next(header); n != len(header) || err != nil || !p.Done() {
					b.Fatal(n, err)
				}
			}
		})
	}
}
