package route

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Limits of a regular expression. RE2 never backtracks, but its time per byte grows
// with the program, and a repeat count makes a huge program of a short text.
const (
	maxPatternText  = 1024 // bytes
	maxPatternInsts = 2000 // instructions of the compiled program, about
)

// pattern is the compiled regular expression of a route. It is shared by all tables
// and routes that use the same text.
type pattern struct {
	text string
	re   *regexp.Regexp
	// prefix is what every match starts with, ASCII letters in lower case: comparing
	// it is far cheaper than running the program, and most requests fail it.
	prefix string
}

// compilePattern compiles the path of a route: case-insensitive, anchored at the start.
func compilePattern(text string) (*pattern, error) {
	tree, err := parseLimited(text, syntax.Perl|syntax.FoldCase)
	if err != nil {
		return nil, err
	}
	// The text alone was parsed first, so it cannot close the group and escape.
	re, err := regexp.Compile("(?i)^(?:" + text + ")")
	if err != nil {
		return nil, describe(err)
	}
	return &pattern{text: text, re: re, prefix: literalPrefix(tree)}, nil
}

// compileHeaderPattern compiles the pattern of a canary header: case-sensitive and
// not anchored.
func compileHeaderPattern(text string) (*regexp.Regexp, error) {
	if _, err := parseLimited(text, syntax.Perl); err != nil {
		return nil, err
	}
	return regexp.Compile(text)
}

// CheckPattern reports what is wrong with the path of a route whose Regex is set, nil for
// nothing. The error is a sentence that begins with the word pattern.
func CheckPattern(text string) error {
	_, err := compilePattern(text)
	return err
}

// CheckHeaderPattern reports what is wrong with a [CanarySpec.HeaderPattern], nil for
// nothing. The error is a sentence that begins with the word pattern.
func CheckHeaderPattern(text string) error {
	_, err := compileHeaderPattern(text)
	return err
}

// parseLimited parses a pattern and refuses what would be too large, before a program
// is built from it.
func parseLimited(text string, flags syntax.Flags) (*syntax.Regexp, error) {
	if len(text) > maxPatternText {
		return nil, fmt.Errorf("pattern is %d bytes long, at most %d are accepted", len(text), maxPatternText)
	}
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, describe(err)
	}
	if programSize(tree) > maxPatternInsts {
		return nil, fmt.Errorf("pattern compiles to more than %d instructions, mostly because of its repeat counts", maxPatternInsts)
	}
	return tree, nil
}

// describe words a parse error for the author of the pattern.
func describe(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return err
	}
	hint := ""
	if e.Code == syntax.ErrInvalidPerlOp {
		hint = " (look-around and back-references do not exist in RE2)"
	}
	return fmt.Errorf("pattern is not an RE2 expression: %s at %q%s", e.Code, e.Expr, hint)
}

// programSize estimates the number of instructions of a parsed pattern. It stops
// growing above the limit, so that nested repeats cannot overflow it.
func programSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size = min(size+programSize(sub)+1, maxPatternInsts+1)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min+1, re.Max)
	}
	return min(size, maxPatternInsts+1)
}

// literalPrefix returns the ASCII text that every match of a tree starts with.
func literalPrefix(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpCapture:
		return literalPrefix(re.Sub[0])
	case syntax.OpConcat:
		subs := re.Sub
		for len(subs) > 0 && (subs[0].Op == syntax.OpBeginText || subs[0].Op == syntax.OpBeginLine) {
			subs = subs[1:]
		}
		if len(subs) > 0 {
			return literalPrefix(subs[0])
		}
	case syntax.OpLiteral:
		end := 0
		for end < len(re.Rune) && re.Rune[end] < 0x80 {
			end++
		}
		return strings.ToLower(string(re.Rune[:end]))
	}
	return ""
}

// match reports whether the pattern matches the beginning of path.
func (p *pattern) match(path string) bool {
	return p.mayMatch(path) && p.re.MatchString(path)
}

// mayMatch compares the literal prefix. A byte outside ASCII may be part of a letter
// that folds to an ASCII one (U+212A, the Kelvin sign, to k): only the program knows.
func (p *pattern) mayMatch(path string) bool {
	for i := range len(p.prefix) {
		if i >= len(path) {
			return false
		}
		c := path[i]
		if c >= 0x80 {
			return true
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != p.prefix[i] {
			return false
		}
	}
	return true
}
