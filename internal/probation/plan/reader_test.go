package plan

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"ramjet.dev/ingress/internal/probation"
)

// seeds are the lines of testdata/lines.txt.
func seeds(tb testing.TB) []string {
	tb.Helper()
	text, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if line[0] != '`' && line[0] != '"' {
			continue
		}
		s, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// readAll reads to the end or to an error.
func readAll(in io.Reader) (events []probation.Event, err error) {
	r := NewReader(in)
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

func TestReaderCountsLines(t *testing.T) {
	const good = `{"ts":1,"event":"tick"}`
	for _, c := range []struct {
		name, plan string
		events     int
		line       uint64 // of the error, 0 if there is none
	}{
		{"nothing", "", 0, 0},
		{"one event without the end of its line", good, 1, 0},
		{"empty lines count", "\n\r\n \n" + good + "\n\nx\n", 1, 6},
		{"the last line counts", good + "\n" + good + "\n{", 2, 3},
		{"CRLF ends one line", good + "\r\n" + good + "\r\nx\r\n", 2, 3},
		{"CR alone ends none", good + "\r" + good + "\n", 0, 1},
		{"a byte order mark", "\ufeff" + good + "\n", 0, 1},
		{"not UTF-8, cut by the end", good + "\n\xe2\x80", 1, 2},
	} {
		for _, in := range []io.Reader{strings.NewReader(c.plan), iotest.OneByteReader(strings.NewReader(c.plan)), iotest.DataErrReader(strings.NewReader(c.plan))} {
			events, err := readAll(in)
			var wrong *LineError
			if errors.As(err, &wrong) {
				if wrong.Line != c.line {
					t.Errorf("%s: %v, want line %d", c.name, err, c.line)
				}
			} else if err != io.EOF || c.line != 0 {
				t.Errorf("%s: %v, want line %d", c.name, err, c.line)
			}
			if len(events) != c.events {
				t.Errorf("%s: %d events, want %d", c.name, len(events), c.events)
			}
		}
	}
}

func TestLongLines(t *testing.T) {
	for _, n := range []int{1 << 10, 64<<10 - 40, 64 << 10, 1 << 20, MaxLine - 100} {
		name := strings.Repeat("v", n)
		events, err := readAll(strings.NewReader(`{"ts":1,"event":"exited","version":"` + name + `"}` + "\n" + `{"ts":2,"event":"tick"}`))
		if err != io.EOF || len(events) != 2 || events[0].Version != name || events[1].TS != 2 {
			t.Errorf("a version of %d bytes: %d events, %v", n, len(events), err)
		}
	}
	endless := io.MultiReader(strings.NewReader("\n"), forever{})
	if _, err := readAll(endless); err == nil || err.Error() != "line 2: is longer than 16 MiB" {
		t.Errorf("an endless line: %v", err)
	}
}

// forever is a line without an end.
type forever struct{}

func (forever) Read(b []byte) (int, error) { return copy(b, strings.Repeat(" ", len(b))), nil }

// TestDeepNesting: what nobody asks for may be nested as deep as a line is long.
func TestDeepNesting(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct{ open, close string }{{"[", "]"}, {`{"a":`, "}"}} {
		line := `{"x":` + strings.Repeat(c.open, n) + "1" + strings.Repeat(c.close, n) + `,"ts":1,"event":"tick"}`
		if events, err := readAll(strings.NewReader(line)); err != io.EOF || len(events) != 1 {
			t.Errorf("%d times %s: %d events, %v", n, c.open, len(events), err)
		}
	}
}

// TestReadError: an error of the source is handed on, even in the middle of a line.
func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader(`{"ts":1,"event":"tick"}`+"\n"+`{"ts":`), iotest.ErrReader(broken))
	if events, err := readAll(in); len(events) != 1 || !errors.Is(err, broken) {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// FuzzReader feeds any bytes as a plan, whole and byte by byte.
func FuzzReader(f *testing.F) {
	f.Add([]byte(strings.Join(seeds(f), "\n")))
	for _, line := range seeds(f) {
		f.Add([]byte(line + "\r\n" + line))
	}
	f.Fuzz(func(t *testing.T, plan []byte) {
		whole, err := readAll(strings.NewReader(string(plan)))
		again, errAgain := readAll(iotest.OneByteReader(strings.NewReader(string(plan))))
		if len(whole) != len(again) || err.Error() != errAgain.Error() {
			t.Errorf("%d events, %v; byte by byte %d, %v", len(whole), err, len(again), errAgain)
		}
	})
}

// TestNoAllocations: a line whose version was seen lately costs no memory.
func TestNoAllocations(t *testing.T) {
	lines := [][]byte{
		[]byte(`{"ts":3000,"event":"exited","version":"v2"}`),
		[]byte(`{"ts":3000,"event":"promoted","version":"v3","previous":"v1"}`),
		[]byte(`{"ts":3000,"event":"tick","x":[1,{"a":"\n"}]}`),
		[]byte(`{"ts":3000,"event":"exited","version":"v\u0032"}`),
	}
	var p parser
	for _, line := range lines {
		if n := testing.AllocsPerRun(100, func() { p.line(line) }); n > 0 {
			t.Errorf("%s: %.0f allocations", line, n)
		}
	}
}
