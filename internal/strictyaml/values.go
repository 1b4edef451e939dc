package strictyaml

import (
	"strconv"
	"strings"
	"time"
)

// Duration returns a length of time from low to high, or def where the key is
// absent. It is written as Go writes it, 500ms or 1m30s; a bare number is refused,
// since half of the readers take it for seconds.
func (o Object) Duration(key string, low, high, def time.Duration) time.Duration {
	n := o.Scalar(key, "a duration")
	if n == nil {
		return def
	}
	d, err := time.ParseDuration(n.Value)
	switch {
	case err != nil:
		o.Report(o.At(key), "%s%s must be a duration such as 500ms, 30s or 1m30s, not %s", o.Prefix, key, Describe(n))
	case d < low || d > high:
		o.Report(o.At(key), "%s%s is %s: give a duration from %s to %s", o.Prefix, key, Plain(n.Value), Short(low), Short(high))
	default:
		return d
	}
	return def
}

// Short is a duration without the zeros at its end: 1h, not 1h0m0s.
func Short(d time.Duration) string {
	text := d.String()
	if d >= time.Minute {
		text = strings.TrimSuffix(text, "0s")
	}
	if d >= time.Hour {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Texts returns a list of strings. Numbers and truth values in it are taken as they
// are written: the arguments of a command are all text.
func (o Object) Texts(key string) []string {
	var all []string
	for i, item := range o.List(key) {
		n, ok := o.r.Follow(item)
		if !ok {
			return nil
		}
		text, ok := literal(n)
		if !ok {
			o.Report(item.Line, "%s%s[%d] must be text, not %s", o.Prefix, key, i, Describe(n))
			continue
		}
		all = append(all, text)
	}
	return all
}

// Pair is a key that the user chose, with its text.
type Pair struct {
	Key, Text string
	Line      int
}

// Pairs returns a mapping whose keys are the user's, in their order.
func (o Object) Pairs(key string) []Pair {
	value, given := o.Values[key]
	if !given {
		return nil
	}
	n, ok := o.r.Follow(value)
	if !ok || IsNull(n) {
		return nil
	}
	var all []Pair
	first := make(map[string]int)
	if !isMapping(n) {
		o.Report(o.At(key), "%s%s must be a mapping, not %s", o.Prefix, key, Describe(n))
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, okKey := o.r.Follow(n.Content[i])
		v, okValue := o.r.Follow(n.Content[i+1])
		line := n.Content[i].Line
		if !okKey || !okValue {
			return nil
		}
		name, okKey := literal(k)
		text, okValue := literal(v)
		switch before, twice := first[name]; {
		case !okKey:
			o.Report(line, "%s%s has a key that is %s: keys are text", o.Prefix, key, Describe(k))
		case twice:
			o.Report(line, "key %q is given twice, first on line %d", name, before)
		case !okValue:
			o.Report(line, "%s%s.%s must be text, not %s: write it in quotes", o.Prefix, key, name, Describe(v))
		default:
			first[name] = line
			all = append(all, Pair{Key: name, Text: text, Line: line})
		}
	}
	return all
}

// NumberRange returns two whole numbers written as LOW-HIGH, or one for both; false
// where the key is absent or that was reported.
func (o Object) NumberRange(key string, low, high int) (from, to int, ok bool) {
	n := o.Scalar(key, "a range such as 8081-8082")
	if n == nil {
		return 0, 0, false
	}
	first, second, two := strings.Cut(n.Value, "-")
	if !two {
		second = first
	}
	from, err1 := strconv.Atoi(strings.TrimSpace(first))
	to, err2 := strconv.Atoi(strings.TrimSpace(second))
	if err1 != nil || err2 != nil || from < low || to > high || from > to {
		o.Report(o.At(key), "%s%s is %q: write LOW-HIGH, from %d to %d", o.Prefix, key, n.Value, low, high)
		return 0, 0, false
	}
	return from, to, true
}
