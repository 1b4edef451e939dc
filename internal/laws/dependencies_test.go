package laws

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dependencyList = "docs/dependencies.md"

// TestDependencies wants every direct dependency to be used, and to have its
// reason in the list.
func TestDependencies(t *testing.T) {
	all := load(t)
	required := directModules(all.read(t, "go.mod"))
	listed := listedModules(all.read(t, dependencyList))
	used := make(map[string]bool)
	for _, s := range all.goes {
		for _, name := range s.imports() {
			if standard(name) || name == module || strings.HasPrefix(name, module+"/") {
				continue
			}
			owner := ownerOf(name, required)
			used[owner] = true
			if owner == "" {
				t.Errorf("%s imports %s, which go.mod requires only indirectly: run go mod tidy", s.path, name)
			}
		}
	}
	for _, m := range required {
		if !slices.Contains(listed, m) {
			t.Errorf("go.mod requires %s, and %s does not say what for: add a line with the reason", m, dependencyList)
		}
		if !used[m] {
			t.Errorf("go.mod requires %s and nothing imports it: run go mod tidy and take it out of %s", m, dependencyList)
		}
	}
	for _, m := range listed {
		if !slices.Contains(required, m) {
			t.Errorf("%s lists %s, which go.mod does not require directly: remove the line", dependencyList, m)
		}
	}
}

// directModules are the modules that a go.mod requires itself.
func directModules(mod string) []string {
	var all []string
	for line := range strings.Lines(mod) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "require ")
		fields := strings.Fields(line)
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") {
			all = append(all, fields[0])
		}
	}
	return all
}

// listedModules are the names in the first column of the list's table.
func listedModules(list string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(list, -1) {
		all = append(all, m[1])
	}
	return all
}

// ownerOf is the module that a package belongs to, "" if none of these.
func ownerOf(importPath string, modules []string) string {
	for _, m := range modules {
		if importPath == m || strings.HasPrefix(importPath, m+"/") {
			return m
		}
	}
	return ""
}
