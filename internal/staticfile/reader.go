package staticfile

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"ramjet.dev/ingress/internal/nearest"
)

// reader turns YAML nodes into Go values and reports what is not as it should be.
// After a report it goes on with a value that does no harm.
type reader struct {
	file string
	errs []Error
	left int // values that may still be read
}

// object is a mapping with known keys.
type object struct {
	r      *reader
	line   int // where it begins
	values map[string]*yaml.Node
	lines  map[string]int  // where each key stands
	meant  map[string]bool // known keys that an unknown one is near to
	prefix string          // "canary." inside of canary
}

// follow returns what an alias stands for, or n. It is false once the file has
// multiplied itself by aliases beyond all reason.
func (r *reader) follow(n *yaml.Node) (*yaml.Node, bool) {
	r.left--
	if r.left == 0 {
		r.report(n.Line, "aliases repeat too much: write at most %d values through them", aliasAllowance)
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n, r.left > 0
}

// object reads a mapping that may have the known keys. what is "a route" and so
// on, for the reports.
func (r *reader) object(n *yaml.Node, what, prefix string, known ...string) (object, bool) {
	o := object{
		r: r, line: n.Line, prefix: prefix,
		values: map[string]*yaml.Node{}, lines: map[string]int{}, meant: map[string]bool{},
	}
	line := n.Line
	n, ok := r.follow(n)
	if !ok {
		return o, false
	}
	if isNull(n) {
		r.report(line, "%s is empty: give it the keys %s, or remove it", what, strings.Join(known, ", "))
		return o, false
	}
	if n.Kind != yaml.MappingNode {
		r.report(line, "%s must be a mapping with the keys %s, not %s", what, strings.Join(known, ", "), describe(n))
		return o, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		o.add(n.Content[i], n.Content[i+1], what, known)
	}
	return o, true
}

// add takes one key and its value into the object.
func (o object) add(keyNode, value *yaml.Node, what string, known []string) {
	key, ok := o.r.follow(keyNode)
	line := keyNode.Line
	switch first, twice := o.lines[key.Value]; {
	case !ok:
	case key.Kind != yaml.ScalarNode:
		o.r.report(line, "%s has a key that is %s: keys are %s", what, describe(key), strings.Join(known, ", "))
	case key.ShortTag() == "!!merge":
		o.r.report(line, "merge keys (<<) are not supported: write the keys out")
	case !slices.Contains(known, key.Value):
		if near, ok := nearest.Word(key.Value, known); ok {
			o.meant[near] = true
			o.r.report(line, "unknown key %q, did you mean %q?", key.Value, near)
			return
		}
		o.r.report(line, "unknown key %q: %s has %s", key.Value, what, strings.Join(known, ", "))
	case twice:
		o.r.report(line, "key %q is given twice, first on line %d", key.Value, first)
	default:
		o.lines[key.Value] = line
		o.values[key.Value] = value
	}
}

// at is the line of a key, or of the object where it has none.
func (o object) at(key string) int {
	if line, ok := o.lines[key]; ok {
		return line
	}
	return o.line
}

// scalar returns the value of a key that is neither a list nor a mapping.
func (o object) scalar(key, want string) *yaml.Node {
	value, given := o.values[key]
	if !given {
		return nil
	}
	n, ok := o.r.follow(value)
	switch {
	case !ok:
		return nil
	case isNull(n):
		o.r.report(o.at(key), "%s%s has no value: give it %s, or leave the key out", o.prefix, key, want)
		return nil
	case n.Kind != yaml.ScalarNode:
		o.r.report(o.at(key), "%s%s must be %s, not %s", o.prefix, key, want, describe(n))
		return nil
	}
	return n
}

// text returns a string, "" where the key is absent.
func (o object) text(key string) string {
	n := o.scalar(key, "text")
	if n == nil {
		return ""
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return n.Value
	}
	o.r.report(o.at(key), "%s%s must be text, not %s: write it in quotes", o.prefix, key, describe(n))
	return ""
}

// required returns a string that must be there and not be empty; where it is not,
// that is reported and the result is "". A misspelt key was reported as such.
func (o object) required(key, advice string) string {
	before := len(o.r.errs)
	v := o.text(key)
	if v == "" && len(o.r.errs) == before && !o.meant[key] {
		o.r.report(o.at(key), "%s%s is missing: %s", o.prefix, key, advice)
	}
	return v
}

// flag returns a boolean, false where the key is absent.
func (o object) flag(key string) bool {
	n := o.scalar(key, "true or false")
	if n == nil {
		return false
	}
	if n.ShortTag() != "!!bool" {
		o.r.report(o.at(key), "%s%s must be true or false, not %s", o.prefix, key, describe(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// number returns a whole number from low to high, or def where the key is absent.
func (o object) number(key string, low, high, def int) int {
	n := o.scalar(key, "a number")
	if n == nil {
		return def
	}
	v, err := strconv.Atoi(n.Value)
	switch {
	case n.ShortTag() != "!!int" && n.ShortTag() != "!!float":
		o.r.report(o.at(key), "%s%s must be a whole number from %d to %d, not %s", o.prefix, key, low, high, describe(n))
	case err != nil || v < low || v > high:
		o.r.report(o.at(key), "%s%s is %s: give a whole number from %d to %d", o.prefix, key, plain(n.Value), low, high)
	default:
		return v
	}
	return def
}

// list returns the items of a list; absent and empty are the same.
func (o object) list(key string) []*yaml.Node {
	value, given := o.values[key]
	if !given {
		return nil
	}
	n, ok := o.r.follow(value)
	if !ok || isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		o.r.report(o.at(key), "%s%s must be a list, not %s: begin each item with a dash", o.prefix, key, describe(n))
		return nil
	}
	return n.Content
}

// describe says what a node is, with its value where that is short.
func describe(n *yaml.Node) string {
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
	return plain(n.ShortTag()) + " " + shown
}
