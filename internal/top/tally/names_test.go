package tally_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// shortened are the short names of replicas.
func shortened(width int, names ...string) (all []string) {
	f := tally.NewFleet(names, 0)
	f.Shorten(width)
	for _, r := range f.Replicas {
		all = append(all, r.Short)
	}
	return all
}

// proxied is a pod behind the proxy of kubectl.
func proxied(namespace, pod string) string {
	return "http://127.0.0.1:8001/api/v1/namespaces/" + namespace + "/pods/" + pod + ":10254/proxy"
}

// A name that is too long gives up what others have too, and keeps what it alone has.
func TestShorten(t *testing.T) {
	for _, c := range []struct {
		intent string
		width  int
		names  []string
		want   []string
	}{
		{"they fit", 20, []string{"10.0.0.7:10254", "10.0.0.8:10254"}, []string{"10.0.0.7:10254", "10.0.0.8:10254"}},
		{"pods behind a proxy", 20, []string{proxied("ramjet", "a"), proxied("ramjet", "b")}, []string{"a:10254", "b:10254"}},
		{"of two namespaces", 20, []string{proxied("one", "a"), proxied("two", "a")}, []string{"one", "two"}},
		{"of a deployment", 20, []string{proxied("ramjet", "ramjet-6d5f7c9b8-abcde"), proxied("ramjet", "ramjet-6d5f7c9b8-xyz12")}, []string{"…abcde:10254", "…xyz12:10254"}},
		{"with less room", 10, []string{proxied("ramjet", "ramjet-6d5f7c9b8-abcde"), proxied("ramjet", "ramjet-6d5f7c9b8-xyz12")}, []string{"…abcde:…", "…xyz12:…"}},
		{"addresses with less room", 10, []string{"10.0.0.7:10254", "10.0.0.8:10254"}, []string{"…7:10254", "…8:10254"}},
		{"long words", 20, []string{strings.Repeat("a", 40), strings.Repeat("b", 40)}, []string{"aaaaaaaaa…aaaaaaaaaa", "bbbbbbbbb…bbbbbbbbbb"}},
		{"what differs is in the middle", 20, []string{strings.Repeat("a", 40), strings.Repeat("a", 20) + "b" + strings.Repeat("a", 20)}, []string{"1 aaaaaaaa…aaaaaaaaa", "2 aaaaaaaa…aaaaaaaaa"}},
		{"one ends where the other goes on", 10, []string{"http://proxy/a/daemon", "http://proxy/a/daemon/b"}, []string{"daemon", "daemon/b"}},
		{"a single one keeps its ends", 20, []string{proxied("ramjet", "a")}, []string{"http://12…0254/proxy"}},
	} {
		if got := shortened(c.width, c.names...); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.intent, got, c.want)
		}
	}
}

// Whatever they are called, two replicas never look the same.
func TestShortenedDiffer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "ab", "/", ":", "-", ".", "proxy", "10254", "日本", "…", "1", " ", "ramjet-ingress"}
	for range 3_000 {
		width := 8 + random.IntN(30)
		names := make([]string, 1+random.IntN(12))
		for i := range names {
			for range random.IntN(12) {
				names[i] += words[random.IntN(len(words))]
			}
		}
		got := shortened(width, names...)
		seen := make(map[string]bool)
		for _, name := range got {
			if plain.Width(name) > width || seen[name] {
				t.Fatalf("%q are %q in %d columns", names, got, width)
			}
			seen[name] = true
		}
	}
}
