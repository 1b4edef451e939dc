package strictyaml

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ramjet.dev/ingress/internal/nearest"
)

// Reader turns YAML nodes into Go values and reports what is not as it should be.
// After a report it goes on with a value that does no harm. It is for one file and
// one goroutine.
type Reader struct {
	// File is the path that reports begin with.
	File string

	errs []Error
	left int // values that may still be read
}

// Object is a mapping with known keys. What its methods return for an absent key is
// said there; what is wrong they report.
type Object struct {
	r      *Reader
	Line   int // where it begins
	Values map[string]*yaml.Node
	Lines  map[string]int  // where each key stands
	meant  map[string]bool // known keys that an unknown one is near to
	Prefix string          // "canary." inside of canary
}

// Follow returns what an alias stands for, or n. It is false once the file has
// multiplied itself by aliases beyond all reason.
func (r *Reader) Follow(n *yaml.Node) (*yaml.Node, bool) {
	r.left--
	if r.left == 0 {
		r.Report(n.Line, "aliases repeat too much: write at most %d values through them", aliasAllowance)
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, r.left > 0
}

// Object reads a mapping that may have the known keys. what is "a route" and so
// on, for the reports.
func (r *Reader) Object(n *yaml.Node, what, prefix string, known ...string) (Object, bool) {
	o := Object{
		r: r, Line: n.Line, Prefix: prefix,
		Values: map[string]*yaml.Node{}, Lines: map[string]int{}, meant: map[string]bool{},
	}
	line := n.Line
	n, ok := r.Follow(n)
	if !ok {
		return o, false
	}
	if IsNull(n) {
		r.Report(line, "%s is empty: give it the keys %s, or remove it", what, strings.Join(known, ", "))
		return o, false
	}
	if n.Kind != yaml.MappingNode {
		r.Report(line, "%s must be a mapping with the keys %s, not %s", what, strings.Join(known, ", "), Describe(n))
		return o, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		o.add(n.Content[i], n.Content[i+1], what, known)
	}
	return o, true
}

// add takes one key and its value into the object.
func (o Object) add(keyNode, value *yaml.Node, what string, known []string) {
	key, ok := o.r.Follow(keyNode)
	line := keyNode.Line
	switch first, twice := o.Lines[key.Value]; {
	case !ok:
	case key.Kind != yaml.ScalarNode:
		o.r.Report(line, "%s has a key that is %s: keys are %s", what, Describe(key), strings.Join(known, ", "))
	case key.ShortTag() == "!!merge":
		o.r.Report(line, "merge keys (<<) are not supported: write the keys out")
	case !slices.Contains(known, key.Value):
		if near, ok := nearest.Word(key.Value, known); ok {
			o.meant[near] = true
			o.r.Report(line, "unknown key %q, did you mean %q?", key.Value, near)
			return
		}
		o.r.Report(line, "unknown key %q: %s has %s", key.Value, what, strings.Join(known, ", "))
	case twice:
		o.r.Report(line, "key %q is given twice, first on line %d", key.Value, first)
	default:
		o.Lines[key.Value] = line
		o.Values[key.Value] = value
	}
}

// Report adds a fault, as that of the reader does.
func (o Object) Report(line int, format string, args ...any) { o.r.Report(line, format, args...) }

// At is the line of a key, or of the object where it has none.
func (o Object) At(key string) int {
	if line, ok := o.Lines[key]; ok {
		return line
	}
	return o.Line
}

// Scalar returns the value of a key that is neither a list nor a mapping.
func (o Object) Scalar(key, want string) *yaml.Node {
	value, given := o.Values[key]
	if !given {
		return nil
	}
	n, ok := o.r.Follow(value)
	switch {
	case !ok:
		return nil
	case IsNull(n):
		o.r.Report(o.At(key), "%s%s has no value: give it %s, or leave the key out", o.Prefix, key, want)
		return nil
	case n.Kind != yaml.ScalarNode:
		o.r.Report(o.At(key), "%s%s must be %s, not %s", o.Prefix, key, want, Describe(n))
		return nil
	}
	return n
}

// Text returns a string, "" where the key is absent.
func (o Object) Text(key string) string {
	n := o.Scalar(key, "text")
	if n == nil {
		return ""
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value
	}
	o.r.Report(o.At(key), "%s%s must be text, not %s: write it in quotes", o.Prefix, key, Describe(n))
	return ""
}

// Required returns a string that must be there and not be empty; where it is not,
// that is reported and the result is "". A misspelt key was reported as such.
func (o Object) Required(key, advice string) string {
	before := len(o.r.errs)
	v := o.Text(key)
	if v == "" && len(o.r.errs) == before && !o.meant[key] {
		o.r.Report(o.At(key), "%s%s is missing: %s", o.Prefix, key, advice)
	}
	return v
}

// Flag returns a boolean, false where the key is absent.
func (o Object) Flag(key string) bool {
	n := o.Scalar(key, "true or false")
	if n == nil {
		return false
	}
	if n.ShortTag() != "!!bool" {
		o.r.Report(o.At(key), "%s%s must be true or false, not %s", o.Prefix, key, Describe(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// Number returns a whole number from low to high, or def where the key is absent.
func (o Object) Number(key string, low, high, def int) int {
	n := o.Scalar(key, "a number")
	if n == nil {
		return def
	}
	v, err := strconv.Atoi(n.Value)
	switch {
	case n.ShortTag() != "!!int" && n.ShortTag() != "!!float":
		o.r.Report(o.At(key), "%s%s must be a whole number from %d to %d, not %s", o.Prefix, key, low, high, Describe(n))
	case err != nil || v < low || v > high:
		o.r.Report(o.At(key), "%s%s is %s: give a whole number from %d to %d", o.Prefix, key, Plain(n.Value), low, high)
	default:
		return v
	}
	return def
}

// List returns the items of a list; absent and empty are the same.
func (o Object) List(key string) []*yaml.Node {
	value, given := o.Values[key]
	if !given {
		return nil
	}
	n, ok := o.r.Follow(value)
	if !ok || IsNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.r.Report(o.At(key), "%s%s must be a list, not %s: begin each item with a dash", o.Prefix, key, Describe(n))
		return nil
	}
	return n.Content
}

// Describe says what a node is, with its value where that is short.
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	shown := strconv.Quote(n.Value)
	if len(n.Value) > 80 {
		shown = "a long value"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!int", "!!float":
		return "the number " + strings.Trim(shown, `"`)
	case "!!bool":
		return "the truth value " + strings.Trim(shown, `"`)
	case "!!str":
		return "the text " + shown
	}
	return Plain(n.ShortTag()) + " " + shown
}

func isMapping(n *yaml.Node) bool { return n.Kind == yaml.MappingNode }

// literal is the text of a value that is neither a list, nor a mapping, nor nothing.
func literal(n *yaml.Node) (string, bool) {
	return n.Value, n.Kind == yaml.ScalarNode && !IsNull(n)
}

// Meant reports whether an unknown key was taken for a misspelling of this one: that
// was reported, and that the key is missing need not be.
func (o Object) Meant(key string) bool { return o.meant[key] }
