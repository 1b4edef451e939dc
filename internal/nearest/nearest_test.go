package nearest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestWord(t *testing.T) {
	keys := []string{"host", "path", "pathType", "regex", "backend", "canary", "mirror"}
	for word, want := range map[string]string{
		"host":                   "host",
		"hosts":                  "host",
		"paht":                   "path",
		"pathtype":               "pathType",
		"path_type":              "pathType",
		"path-tpye":              "pathType",
		"bakend":                 "backend",
		"backends":               "backend",
		"miror":                  "mirror",
		"x":                      "",
		"":                       "",
		"annotations":            "",
		"tls":                    "",
		strings.Repeat("h", 1e6): "",
	} {
		got, ok := Word(word, keys)
		if got != want || ok != (want != "") {
			t.Errorf("Word(%.20q) = %q, %v; want %q", word, got, ok, want)
		}
	}
}

func TestHint(t *testing.T) {
	if got, want := Hint("hots", []string{"host"}), `, did you mean "host"?`; got != want {
		t.Errorf("Hint = %q, want %q", got, want)
	}
	if got := Hint("zebra", []string{"host"}); got != "" {
		t.Errorf("Hint = %q, want nothing", got)
	}
}

func TestFirstOfEquallyNearWins(t *testing.T) {
	if got, _ := Word("cart", []string{"card", "care"}); got != "card" {
		t.Errorf("Word = %q, want the first", got)
	}
}

// TestDistance compares the table with the recursive definition.
func TestDistance(t *testing.T) {
	words := rapid.StringMatching(`[abc]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		if got, want := distance(a, b), slowDistance(a, b); got != want {
			t.Fatalf("distance(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

func slowDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	i, j := len(a)-1, len(b)-1
	change := 1
	if a[i] == b[j] {
		change = 0
	}
	d := min(slowDistance(a[:i], b)+1, slowDistance(a, b[:j])+1, slowDistance(a[:i], b[:j])+change)
	if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
		d = min(d, slowDistance(a[:i-1], b[:j-1])+1)
	}
	return d
}
