package route

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update rewrites what the files under testdata expect. Read the difference first.
var update = flag.Bool("update", false, "rewrite the expectations under testdata")

// script is a file under testdata: a head, then sections that start with "-- name --".
type script struct {
	path     string
	names    []string // of the sections, "" for the head
	sections map[string]string
}

// scripts runs test on every file of a directory, so that adding a case is adding a file.
func scripts(t *testing.T, dir string, test func(t *testing.T, s *script)) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts in testdata/%s: %v", dir, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			test(t, readScript(t, path))
		})
	}
}

func readScript(t testing.TB, path string) *script {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{path: path, names: []string{""}, sections: map[string]string{}}
	name := ""
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(title, " --\n")
			s.names = append(s.names, name)
			continue
		}
		s.sections[name] += line
	}
	return s
}

// expect compares a section with what was got, or rewrites it.
func (s *script) expect(t *testing.T, section, got string) {
	t.Helper()
	want := s.sections[section]
	if got == want {
		return
	}
	if !*update {
		t.Errorf("%s, section %q:\n--- got\n%s--- want\n%s", s.path, section, got, want)
		return
	}
	s.sections[section] = got
	var b strings.Builder
	for _, name := range s.names {
		if name != "" {
			b.WriteString("-- " + name + " --\n")
		}
		b.WriteString(s.sections[name])
	}
	if err := os.WriteFile(s.path, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// answer replaces what follows "=>" on every line of a section by what answer says
// about what stands before it, and expects that.
func (s *script) answer(t *testing.T, section string, answer func(words []string) string) {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(s.sections[section]) {
		ask, _, ok := strings.Cut(line, " =>")
		if !ok {
			b.WriteString(line) // a comment or an empty line
			continue
		}
		words, err := splitWords(ask)
		if err != nil {
			t.Fatalf("%s: %q: %v", s.path, line, err)
		}
		b.WriteString(ask + " => " + answer(words) + "\n")
	}
	s.expect(t, section, b.String())
}

// parse reads a table description and fails the test if it is none.
func parse(t testing.TB, text string) Spec {
	t.Helper()
	spec, err := ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// compile compiles a description in which nothing may be wrong.
func compile(t testing.TB, text string, kept ...*Table) *Table {
	t.Helper()
	table, diagnostics := Compile(parse(t, text), kept...)
	for _, d := range diagnostics {
		t.Errorf("compile: %v", d)
	}
	return table
}

// describeBackends adds the backends that routes name, for tests of what is not about them.
func describeBackends(spec *Spec) {
	known := map[string]bool{"": true}
	for _, b := range spec.Backends {
		known[b.Name] = true
	}
	add := func(name string) {
		if !known[name] {
			spec.Backends = append(spec.Backends, BackendSpec{Name: name})
			known[name] = true
		}
	}
	add(spec.DefaultBackend)
	for _, r := range spec.Routes {
		add(r.Backend)
		if r.Canary != nil {
			add(r.Canary.Backend)
		}
		if r.Mirror != nil {
			add(r.Mirror.Backend)
		}
	}
}

// specTexts returns every table description under testdata, as seeds.
func specTexts(t testing.TB) []string {
	t.Helper()
	var texts []string
	for _, dir := range []string{"match", "compile", "diff"} {
		paths, _ := filepath.Glob(filepath.Join("testdata", dir, "*.txt"))
		for _, path := range paths {
			s := readScript(t, path)
			for _, section := range []string{"", "new"} {
				if s.sections[section] != "" {
					texts = append(texts, s.sections[section])
				}
			}
		}
	}
	return texts
}
