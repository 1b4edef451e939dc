package enginetest

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

//go:embed testdata
var testdata embed.FS

// A file of testdata holds cases, separated by empty lines. A line "key: value"
// belongs to the case that began with "case:"; a line that begins with # is a
// comment. Adding a case is adding a stanza or a file.
type stanza struct {
	name  string
	at    string // file:line
	lines []line // in order, comments and "case" included
}

// line is one line of a file; key is "" for comments and empty lines.
type line struct{ key, value string }

func (l line) String() string {
	if l.key == "" {
		return l.value
	}
	return l.key + ": " + l.value
}

// values returns the values of a key in order.
func (s *stanza) values(key string) []string {
	var all []string
	for _, l := range s.lines {
		if l.key == key {
			all = append(all, l.value)
		}
	}
	return all
}

// stanzas reads a directory of testdata by file. A key that is not among keys is
// an error, so that a misspelt line is never a check less.
func stanzas(t testing.TB, dir string, keys ...string) map[string][]*stanza {
	t.Helper()
	files, err := fs.Glob(testdata, path.Join("testdata", dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata/%s: %v", dir, err)
	}
	all := map[string][]*stanza{}
	for _, file := range files {
		text, err := testdata.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list, err := parseStanzas(file, string(text), keys)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = list
	}
	return all
}

func parseStanzas(file, text string, keys []string) ([]*stanza, error) {
	known := map[string]bool{"case": true}
	for _, k := range keys {
		known[k] = true
	}
	var all []*stanza
	prefix := &stanza{} // comments before a case belong to it
	now := prefix
	for i, raw := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if raw == "" || strings.HasPrefix(raw, "#") {
			if raw == "" && now != prefix {
				prefix = &stanza{}
				now = prefix
			}
			now.lines = append(now.lines, line{"", raw})
			continue
		}
		key, value, ok := strings.Cut(raw, ":")
		if !ok || !known[key] {
			return nil, fmt.Errorf("%s:%d: unknown line %q", file, i+1, raw)
		}
		l := line{key, strings.TrimPrefix(value, " ")}
		if key == "case" {
			if now != prefix {
				return nil, fmt.Errorf("%s:%d: an empty line is missing before the case", file, i+1)
			}
			now = &stanza{name: l.value, at: fmt.Sprintf("%s:%d", file, i+1), lines: prefix.lines}
			all = append(all, now)
		} else if now == prefix {
			return nil, fmt.Errorf("%s:%d: a line before its case", file, i+1)
		}
		now.lines = append(now.lines, l)
	}
	return all, nil
}

// updating rewrites what the suite saw into the files. Read the difference
// before you keep it: it is the specification that gets written.
var updating = os.Getenv("RAMJET_UPDATE") == "1"

// writeStanzas writes a file back.
func writeStanzas(t testing.TB, file string, list []*stanza) {
	var b strings.Builder
	for _, s := range list {
		for _, l := range s.lines {
			b.WriteString(l.String() + "\n")
		}
	}
	_, here, _, _ := runtime.Caller(0)
	if err := os.WriteFile(filepath.Join(filepath.Dir(here), file), []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}
