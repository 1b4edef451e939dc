package adminclient

import (
	"bytes"
	"errors"
	"fmt"
)

// An answer of few bytes may stand for many values: a route that is not written out,
// "{},", takes fifty times its length in memory. So what an answer lists is counted
// before it is decoded. A hundred thousand routes are more than any daemon was tried
// with.
const (
	maxListed = 200_000 // members of the lists of an answer: routes, or generations
	maxDeeper = 1 << 20 // members of all lists within these: the lines of diffs
	maxDepth  = 32      // of lists and objects within each other; answers have five
	maxText   = 64 << 10
	// maxSeries bounds the lines of an exposition about the few series that are read: a
	// daemon has some fifty.
	maxSeries = 1000
)

// count refuses an answer that would take far more memory than its own length.
func count(body []byte) error {
	_, err := members(body)
	return err
}

// members counts the members of the lists of an answer, until it is refused. It looks
// at brackets, commas and quotes alone: what is no JSON is for the decoder to refuse,
// which reads no further than it is.
func members(body []byte) (listed int, err error) {
	var open [maxDepth + 1]byte // the brackets that are not closed; open[0] is none
	depth, deeper := 0, 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case '"':
			end, ok := closing(body, i)
			if !ok {
				return listed, fmt.Errorf("a text in it is longer than %d KiB", maxText>>10)
			}
			i = end
		case '[', '{':
			if depth++; depth > maxDepth {
				return listed, fmt.Errorf("it is nested more than %d deep", maxDepth)
			}
			open[depth] = c
			if c == '[' { // its first member has no comma before it
				listed, deeper = more(depth, listed, deeper)
			}
		case ']', '}':
			depth = max(depth-1, 0)
		case ',':
			if open[depth] == '[' {
				listed, deeper = more(depth, listed, deeper)
			}
		}
		if listed > maxListed || deeper > maxDeeper {
			return listed, errors.New("it lists more than a daemon has")
		}
	}
	return listed, nil
}

// more counts a member of a list that is so deep.
func more(depth, listed, deeper int) (int, int) {
	const top = 2 // a list in the object of the answer
	if depth <= top {
		return listed + 1, deeper
	}
	return listed, deeper + 1
}

// closing is where the text that begins at a quote ends, or the end of all; false if it
// is too long.
func closing(body []byte, i int) (end int, ok bool) {
	for end = i + 1; end < len(body) && body[end] != '"'; end++ {
		if end-i > maxText {
			return end, false
		}
		if body[end] == '\\' {
			end++
		}
	}
	return end, true
}

// relevant are the lines of an exposition about the series that are read. The others,
// of which a process may have any number, are not parsed.
func relevant(text []byte) ([]byte, error) {
	var kept []byte
	n := 0
	for line := range bytes.Lines(text) {
		about := line
		if comment, ok := bytes.CutPrefix(line, []byte("# ")); ok { // "# TYPE name" or "# HELP name"
			_, about, _ = bytes.Cut(comment, []byte(" "))
		}
		for _, name := range seriesNames {
			if bytes.HasPrefix(about, []byte(name)) {
				kept = append(kept, line...)
				n++
				break
			}
		}
		if n > maxSeries {
			return nil, errors.New("it has more series than a daemon has")
		}
	}
	return kept, nil
}
