package laws

import (
	"bytes"
	"slices"
	"testing"
)

// Most lines of a file outside tests. Longer files hold more than one subject.
const (
	kernelLines = 400
	shellLines  = 500
)

// TestFileLength keeps files at one subject each.
func TestFileLength(t *testing.T) {
	for _, s := range load(t).goes {
		if s.test {
			continue
		}
		most := shellLines
		if table[s.dir].kernel {
			most = kernelLines
		}
		if n := bytes.Count(s.text, []byte("\n")); n > most {
			t.Errorf("%s has %d lines, at most %d are wanted: split it by subject", s.path, n, most)
		}
	}
}

// drawers are package names that say nothing about what is inside.
var drawers = []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "shared", "lib", "types", "pkg"}

// TestPackageNames keeps drawers out of the tree.
func TestPackageNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range load(t).goes {
		if seen[s.dir] {
			continue
		}
		seen[s.dir] = true
		if slices.Contains(drawers, s.file.Name.Name) {
			t.Errorf("%s: a package named %s says nothing: name it for what it holds", s.dir, s.file.Name.Name)
		}
	}
}
