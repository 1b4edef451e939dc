package proxyproto

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the parser understands into testdata/*.cases; read the diff before you commit it")

// A file of cases holds what peers send and what the parser makes of it. Cases are
// separated by empty lines; a line "key: rest" belongs to one:
//
//	case: what is tried and why, in words
//	text: bytes as text, in which ⏎ is CRLF, ␊ LF, ␍ CR, ␀ NUL and {text*N} repeats
//	hex: bytes in hexadecimal, with spaces at will; "sig" is the signature of version
//	     2, and XX*N repeats
//	out: the header and how many bytes it had, or the reason of an Error, or
//	     "incomplete"
//
// Several lines of text and hex are one input. A line that begins with # is a comment.
type testCase struct {
	name  string
	input []byte
	out   string
	lines []string
}

// TestCases runs testdata/*.cases.
func TestCases(t *testing.T) {
	for _, file := range caseFiles(t) {
		cases, err := readCases(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			if c.input == nil {
				continue
			}
			got := understand(c.input)
			if got != c.out && !*update {
				t.Errorf("%s: %s\ngot:  %s\nwant: %s", file, c.name, got, c.out)
			}
			c.out = got
			checkCuts(t, c.input)
		}
		if *update {
			if err := writeCases(file, cases); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func caseFiles(tb testing.TB) []string {
	files, err := filepath.Glob("testdata/*.cases")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no cases: %v", err)
	}
	return files
}

// readCases reads a file; a mistake in it is an error, never a case less.
func readCases(file string) ([]*testCase, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var cases []*testCase
	for i, block := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		c := &testCase{}
		for _, line := range strings.Split(strings.Trim(block, "\n"), "\n") {
			if err := c.add(line); err != nil {
				return nil, fmt.Errorf("%s, block %d: %w", file, i+1, err)
			}
		}
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
		c.out = rest
		return nil
	}
	c.lines = append(c.lines, line)
	var b []byte
	switch {
	case strings.HasPrefix(line, "#"):
	case key == "case":
		c.name = rest
	case key == "text":
		b, err = decodeText(rest)
		c.input = append(c.input, b...)
	case key == "hex":
		b, err = decodeHex(rest)
		c.input = append(c.input, b...)
	default:
		err = fmt.Errorf("line %q has no known key", line)
	}
	return err
}

func decodeText(text string) ([]byte, error) {
	for open := strings.IndexByte(text, '{'); open >= 0; open = strings.IndexByte(text, '{') {
		inner, rest, ok := strings.Cut(text[open+1:], "}")
		what, times, _ := strings.Cut(inner, "*")
		n, err := strconv.Atoi(times)
		if !ok || err != nil {
			return nil, fmt.Errorf("a { needs *N}")
		}
		text = text[:open] + strings.Repeat(what, n) + rest
	}
	return []byte(strings.NewReplacer("⏎", "\r\n", "␊", "\n", "␍", "\r", "␀", "\x00").Replace(text)), nil
}

func decodeHex(text string) (all []byte, err error) {
	for _, word := range strings.Fields(strings.ReplaceAll(text, "sig", hex.EncodeToString([]byte(signature)))) {
		digits, times, repeat := strings.Cut(word, "*")
		n := 1
		if repeat {
			if n, err = strconv.Atoi(times); err != nil {
				return nil, err
			}
		}
		b, err := hex.DecodeString(strings.Repeat(digits, n))
		if err != nil {
			return nil, err
		}
		all = append(all, b...)
	}
	return all, nil
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
		if c.input != nil {
			b.WriteString("out: " + c.out + "\n")
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
