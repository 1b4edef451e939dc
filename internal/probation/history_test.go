package probation

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestHistory compares a history with a list that is cut to eight; and histories of
// equal lists are equal, whatever was in them before.
func TestHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h history
		var twin []string
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			v := rapid.SampledFrom(strings.Fields("a b c d e f g h i j k l")).Draw(t, "version")
			at := slices.Index(twin, v)
			switch {
			case at < 0:
				h.push(v)
				twin = slices.Insert(twin, 0, v)
				twin = twin[:min(len(twin), 8)]
			case rapid.Bool().Draw(t, "cut"):
				h.cut(v)
				twin = twin[at+1:]
			default:
				h.drop(v)
				twin = slices.Delete(twin, at, at+1)
			}
			if !slices.Equal(h.list(), twin) {
				t.Fatalf("%q, want %q", h.list(), twin)
			}
			var fresh history
			for _, v := range slices.Backward(twin) {
				fresh.push(v)
			}
			if h != fresh {
				t.Fatalf("%+v holds more than %q", h, twin)
			}
		}
	})
}
