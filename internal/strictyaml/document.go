package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// aliasAllowance is how many values may be read through aliases beyond those that
// the file spells out, so that a small file cannot stand for a huge one.
const aliasAllowance = 100_000

// Document parses the text and returns its top mapping, or nil after a report. what
// names the kind of file, "a route file"; advice says what an empty one lacks.
func (r *Reader) Document(data []byte, what, advice string) *yaml.Node {
	if line, bad := badEncoding(data); bad {
		r.Report(line, "this is not UTF-8 text: save the file as UTF-8")
		return nil
	}
	doc, second, err := parseYAML(data)
	if err != nil {
		r.Report(lineOf(data, err), "this is not YAML: %s", explain(err, what))
		return nil
	}
	if second > 0 {
		r.Report(second, "a second document begins: %s is one document, remove the --- line", what)
	}
	if doc == nil || len(doc.Content) == 0 || IsNull(doc.Content[0]) || isEmptyMapping(doc.Content[0]) {
		r.Report(1, "the file is empty: %s", advice)
		return nil
	}
	r.left = countNodes(doc) + aliasAllowance
	return doc.Content[0]
}

// badEncoding finds the line of the first byte that is not UTF-8.
func badEncoding(data []byte) (line int, bad bool) {
	if utf8.Valid(data) {
		return 0, false
	}
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		if c == utf8.RuneError && size == 1 {
			return 1 + bytes.Count(data[:i], []byte("\n")), true
		}
		i += size
	}
	return 1, true
}

// parseYAML reads the first document, nil for none, and the line of a second one.
func parseYAML(data []byte) (doc *yaml.Node, second int, err error) {
	// The library reports faults of the input as errors and faults of its own as
	// panics; a file that finds one of these is refused like any other.
	defer func() {
		if p := recover(); p != nil {
			doc, err = nil, fmt.Errorf("yaml: the parser failed: %v", p)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var first, next yaml.Node
	if err := dec.Decode(&first); errors.Is(err, io.EOF) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	switch err := dec.Decode(&next); {
	case err == nil:
		return &first, next.Line, nil
	case errors.Is(err, io.EOF):
		return &first, 0, nil
	default:
		return nil, 0, err
	}
}

// lineOf finds the line of a fault. The library knows it for some faults, for
// others it gives the line where the surrounding value began, or none. But it
// reads from front to back, so the line is the last one of the shortest beginning
// of the text that has the same fault.
func lineOf(data []byte, fault error) int {
	lines := bytes.SplitAfter(data, []byte("\n"))
	ends := make([]int, 0, len(lines))
	end := 0
	for _, l := range lines {
		end += len(l)
		ends = append(ends, end)
	}
	want := complaint(fault)
	i := sort.Search(len(ends)-1, func(i int) bool {
		_, _, err := parseYAML(data[:ends[i]])
		return err != nil && complaint(err) == want
	})
	return i + 1
}

var complaintPrefix = regexp.MustCompile(`^yaml: (line [0-9]+: )?`)

// complaint is what the library says, without the line.
func complaint(err error) string { return complaintPrefix.ReplaceAllString(err.Error(), "") }

// advice says what to do about the complaints that people meet, by a part of them;
// FILE is the kind of file.
var advice = []struct{ part, advice string }{
	{"alphabetic or numeric character", `put a value that begins with * or & in quotes, as in "*.example.com"`},
	{"unknown anchor", `put a value that begins with * in quotes, as in "*.example.com"`},
	{"cannot start any token", "indent with blanks, not tabs, and put a value that begins with @, ` or % in quotes"},
	{"tab character", "indent with blanks, not tabs"},
	{"mapping values are not allowed", "check the indentation, and put a value with a colon and a blank in it in quotes"},
	{"expected key", "check the indentation of this line against the one above"},
	{"'-' indicator", "check the indentation of this line against the one above"},
	{"unexpected end of stream", "a quote is not closed"},
	{"expected ',' or", "a bracket is not closed, a comma is missing, or a value with { or [ in it is not in quotes"},
	{"could not find expected ':'", "a colon is missing after the key"},
	{"unknown escape", `write \\ for a backslash, or use single quotes`},
	{"incompatible YAML document", "remove the line with %YAML"},
	{"expected <document start>", "FILE is one document: remove what follows the line with ..."},
	{"control characters", "remove the control character"},
}

func explain(err error, what string) string {
	said := complaint(err)
	for _, a := range advice {
		if strings.Contains(said, a.part) {
			return said + ": " + strings.ReplaceAll(a.advice, "FILE", what)
		}
	}
	return said
}

// IsNull reports whether a node is an empty value, or the word for none.
func IsNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func isEmptyMapping(n *yaml.Node) bool { return n.Kind == yaml.MappingNode && len(n.Content) == 0 }

// countNodes counts what the file spells out.
func countNodes(n *yaml.Node) int {
	count := 1
	for _, c := range n.Content {
		count += countNodes(c)
	}
	return count
}
