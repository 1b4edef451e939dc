package laws

import (
	"bytes"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// machinePath is a place that exists on one machine only.
var machinePath = regexp.MustCompile(`(^|[^\w/.*-])/(wo` + `rk|root|home)/`)

// TestNoMachinePaths keeps the places of somebody's machine out of the tree: a
// clone has to work anywhere.
func TestNoMachinePaths(t *testing.T) {
	all := load(t)
	for _, name := range all.files {
		text := all.read(t, name)
		if strings.ContainsRune(text, 0) {
			continue // not a text
		}
		for i, line := range bytes.Split([]byte(text), []byte("\n")) {
			if found := machinePath.Find(line); found != nil {
				t.Errorf("%s:%d: %q is a place on one machine: write a path from the root of the tree, or a variable", name, i+1, found)
			}
		}
	}
}

// sleepers are the tests that wait by the clock, with the reason why there is
// no event to wait for.
var sleepers = because{}

// testNames are what a test calls its testing.TB.
var testNames = []string{"t", "b", "f", "tb"}

// TestTestsNeitherSleepNorSkip keeps tests fast and honest: one that sleeps is
// slow when all is well and fails when the machine is slow; one that skips says
// "passed" where nothing was looked at.
func TestTestsNeitherSleepNorSkip(t *testing.T) {
	slept := make(map[string]bool)
	for _, s := range load(t).goes {
		if !s.test && !table[s.dir].testOnly {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch {
			case named(x.X, "time") && x.Sel.Name == "Sleep":
				slept[s.path] = true
				if sleepers[s.path] == "" {
					t.Errorf("%s: a test never sleeps: wait for the event (a channel, a sequence number, a line of the log), or use testing/synctest", s.at(x))
				}
			case strings.HasPrefix(x.Sel.Name, "Skip") && slices.ContainsFunc(testNames, func(name string) bool { return named(x.X, name) }):
				t.Errorf("%s: a test never skips: put what needs more than Go behind a build tag and a target of the Makefile", s.at(x))
			}
			return true
		})
	}
	for _, name := range sorted(sleepers) {
		if !slept[name] {
			t.Errorf("%s may sleep and does not: remove it from the list", name)
		}
	}
}
