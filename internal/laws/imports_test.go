package laws

import (
	"path"
	"strings"
	"testing"
)

// TestImports keeps imports pointing down, each for a written reason.
func TestImports(t *testing.T) {
	all := load(t).packages()
	for _, dir := range sorted(all) {
		if _, ok := table[dir]; !ok {
			t.Errorf("package %s is not in the table of %s: add it there with its layer and what it may import", dir, "internal/laws/table_test.go")
		}
	}
	for _, dir := range sorted(table) {
		if len(all[dir]) == 0 {
			t.Errorf("package %s is in the table and not in the tree: remove its line", dir)
			continue
		}
		checkImports(t, dir, table[dir], all[dir])
	}
}

func checkImports(t *testing.T, dir string, r rule, files []*source) {
	used := make(map[string]bool)
	for _, s := range files {
		for _, full := range s.imports() {
			name := strings.TrimPrefix(full, module+"/")
			own := name != full
			if !own && standard(full) {
				continue
			}
			if !own {
				name = permission(name, r.imports)
			}
			used[name] = true
			reason, allowed := r.imports[name]
			switch {
			case own && table[name].testOnly && !r.testOnly:
				t.Errorf("%s imports %s, which is only for tests: import it from a _test.go file", s.path, name)
			case own && table[name].layer > r.layer:
				t.Errorf("%s (layer %d) imports %s (layer %d): imports point down only; move what both need below them, or pass it in as a value or a function",
					s.path, r.layer, name, table[name].layer)
			case own && r.program:
			case !allowed:
				t.Errorf("%s imports %s, which the table does not allow: do without it, or add it to the imports of %q with its reason", s.path, name, dir)
			case reason == "":
				t.Errorf("%s may import %s for no reason: write one into the table", dir, name)
			}
		}
	}
	for _, name := range sorted(r.imports) {
		if !used[name] {
			t.Errorf("%s may import %s and does not: remove the permission", dir, name)
		}
	}
}

// permission is the module under which an import of another module is allowed,
// the import itself if under none.
func permission(importPath string, allowed because) string {
	for _, m := range sorted(allowed) {
		if strings.HasPrefix(importPath, m+"/") {
			return m
		}
	}
	return importPath
}

// standard reports whether an import path belongs to the standard library: its
// first element has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// TestKernelsArePure keeps sockets, files and loggers out of the kernels.
func TestKernelsArePure(t *testing.T) {
	all := load(t).packages()
	for _, dir := range sorted(table) {
		r := table[dir]
		if !r.kernel {
			if len(r.except) > 0 {
				t.Errorf("%s is no kernel and needs no exceptions: remove them", dir)
			}
			continue
		}
		used := make(map[string]bool)
		for _, s := range all[dir] {
			for _, name := range s.imports() {
				instead, bad := impurity(name)
				if !bad {
					continue
				}
				used[name] = true
				if r.except[name] == "" {
					t.Errorf("%s imports %s: %s", s.path, name, instead)
				}
			}
		}
		for _, name := range sorted(r.except) {
			if !used[name] {
				t.Errorf("%s may import %s although it is a kernel, and does not: remove the exception", dir, name)
			}
		}
	}
}

// impurity reports whether a kernel may not import a path, and what to do.
func impurity(importPath string) (instead string, bad bool) {
	if instead, bad = impure[importPath]; bad {
		return instead, true
	}
	for dir := path.Dir(importPath); dir != "."; dir = path.Dir(dir) {
		if instead, bad = impure[dir+"/"]; bad {
			return instead, true
		}
	}
	return "", false
}
