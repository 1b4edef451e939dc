package http1

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the kernel understands into testdata/*.cases")

// A file of cases holds what peers send and what the kernel makes of it. Cases are
// separated by empty lines; a line "key: rest" belongs to one:
//
//	case: what is tried and why, in words
//	as: request | response | response to HEAD | chunked, kept for the cases below
//	limits: head=N line=N fields=N trailer=N chunkline=N, each optional
//	in: bytes; several lines are one input
//	out: what was understood, or the status and reason of an Error
//
// In bytes, ⏎ is CRLF, ␊ LF, ␍ CR, ⇥ HTAB, ␋ VT, ␀ NUL, \xNN any byte, \\ a
// backslash, and {text*N} repeats. A line that begins with # is a comment.
// With -update the out lines are rewritten; read the difference before you keep it.

// testCase is one case; lines are those of the file but for "out".
type testCase struct {
	name   string
	kind   string
	head   bool
	limits Limits
	input  []byte
	out    string
	lines  []string
}

func (c *testCase) fresh() *stream { return newStream(c.kind, c.head, c.limits) }

// TestCases runs testdata/*.cases.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.cases")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cases"), func(t *testing.T) {
			t.Parallel()
			runFile(t, file)
		})
	}
}

func runFile(t *testing.T, file string) {
	cases, err := readCases(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		got := understand(c.fresh, c.input)
		if got != c.out && !*update {
			t.Errorf("%s\ngot:\n%swant:\n%s", c.name, got, c.out)
		}
		c.out = got
		t.Run(c.name, func(t *testing.T) { checkCuts(t, c.fresh, c.input, got) })
	}
	if *update {
		if err := writeCases(file, cases); err != nil {
			t.Fatal(err)
		}
	}
}

// readCases reads a file; a mistake in it is an error, never a case less.
func readCases(file string) ([]*testCase, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	kind, head := "request", false
	var cases []*testCase
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		c := &testCase{kind: kind, head: head}
		for _, line := range strings.Split(strings.Trim(block, "\n"), "\n") {
			if err := c.add(line); err != nil {
				return nil, fmt.Errorf("%s, block %d: %w", file, i+1, err)
			}
		}
		kind, head = c.kind, c.head
		if c.name == "" && c.input != nil {
			return nil, fmt.Errorf("%s, block %d has bytes and no case", file, i+1)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

func (c *testCase) add(line string) (err error) {
	key, rest, _ := strings.Cut(line, ": ")
	if key == "out" {
		c.out += rest + "\n"
		return nil
	}
	c.lines = append(c.lines, line)
	switch {
	case strings.HasPrefix(line, "#"):
	case key == "case":
		c.name = rest
	case key == "as":
		c.kind, _, c.head = strings.Cut(rest, " to HEAD")
	case key == "limits":
		err = c.limit(rest)
	case key == "in":
		var b []byte
		b, err = decodeBytes(rest)
		c.input = append(c.input, b...)
	default:
		err = fmt.Errorf("line %q has no known key", line)
	}
	return err
}

func (c *testCase) limit(text string) error {
	for _, word := range strings.Fields(text) {
		key, number, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		field, ok := map[string]*int{
			"head": &c.limits.HeadBytes, "line": &c.limits.LineBytes, "fields": &c.limits.Fields,
			"trailer": &c.limits.TrailerBytes, "chunkline": &c.limits.ChunkLineBytes,
		}[key]
		if !ok {
			return fmt.Errorf("no limit is called %q", key)
		}
		*field = n
	}
	return nil
}

// decodeBytes turns the notation of the files into bytes.
func decodeBytes(text string) ([]byte, error) {
	for open := strings.IndexByte(text, '{'); open >= 0; open = strings.IndexByte(text, '{') {
		close := strings.IndexByte(text[open:], '}')
		star := strings.LastIndexByte(text[open:open+max(close, 0)], '*')
		if close < 0 || star < 0 {
			return nil, fmt.Errorf("a { needs *N}")
		}
		n, err := strconv.Atoi(text[open+star+1 : open+close])
		if err != nil {
			return nil, err
		}
		text = text[:open] + strings.Repeat(text[open+1:open+star], n) + text[open+close+1:]
	}
	text = strings.NewReplacer("⏎", "\r\n", "␊", "\n", "␍", "\r", "⇥", "\t", "␋", "\v", "␀", "\x00").Replace(text)
	var out []byte
	for len(text) > 0 {
		switch {
		case strings.HasPrefix(text, `\\`):
			out = append(out, '\\')
			text = text[2:]
		case strings.HasPrefix(text, `\x`) && len(text) >= 4:
			n, err := strconv.ParseUint(text[2:4], 16, 8)
			if err != nil {
				return nil, err
			}
			out = append(out, byte(n))
			text = text[4:]
		default:
			out = append(out, text[0])
			text = text[1:]
		}
	}
	return out, nil
}

func writeCases(file string, cases []*testCase) error {
	var b strings.Builder
	for i, c := range cases {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, line := range c.lines {
			b.WriteString(line + "\n")
		}
		for _, line := range strings.Split(strings.TrimSuffix(c.out, "\n"), "\n") {
			if c.input != nil {
				b.WriteString("out: " + line + "\n")
			}
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
