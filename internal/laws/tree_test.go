// Package laws holds the rules of this repository that a compiler does not
// check: what may import what, what a kernel may not touch, what has to be
// documented, how long a file may be, what the dependencies are for. Each is a
// test that reads the source and prints what to do.
//
// It guarantees that a rule is either kept everywhere or changed here, with its
// reason, where a reviewer sees it. It never runs the code that it reads, and it
// knows no build tags: every file of the tree is looked at.
package laws

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the import path of the tree's root.
const module = "ramjet.dev/ingress"

// source is one Go file.
type source struct {
	path string // from the root, with slashes
	dir  string // path without the name
	test bool   // its name ends in _test.go
	text []byte
	file *ast.File
	set  *token.FileSet
}

// at is where n stands, as file:line.
func (s *source) at(n ast.Node) string {
	p := s.set.Position(n.Pos())
	return s.path + ":" + strconv.Itoa(p.Line)
}

// imports are the paths that the file imports.
func (s *source) imports() []string {
	var all []string
	for _, i := range s.file.Imports {
		all = append(all, strings.Trim(i.Path.Value, `"`))
	}
	return all
}

// tree is the whole repository, read once.
type tree struct {
	root  string
	files []string // every file that is not Git's or made by a build
	goes  []*source
}

var readTree = sync.OnceValues(func() (*tree, error) {
	root, err := findRoot()
	if err != nil {
		return nil, err
	}
	t := &tree{root: root}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "bench/results"}, rel):
			return fs.SkipDir
		case d.IsDir() && rel != "." && isModule(name): // another module has its own laws
			return fs.SkipDir
		case !d.Type().IsRegular() || rel == ".git": // a file in a further work tree
			return nil
		}
		t.files = append(t.files, rel)
		if path.Ext(rel) != ".go" {
			return nil
		}
		s := &source{path: rel, dir: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go"), set: token.NewFileSet()}
		if s.text, err = os.ReadFile(name); err != nil {
			return err
		}
		s.file, err = parser.ParseFile(s.set, rel, s.text, parser.ParseComments|parser.SkipObjectResolution)
		t.goes = append(t.goes, s)
		return err
	})
	return t, err
})

func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// findRoot is the nearest folder above the test's with a go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", os.ErrNotExist
		}
		dir = up
	}
}

// load is the tree, or the end of the test.
func load(t *testing.T) *tree {
	t.Helper()
	all, err := readTree()
	if err != nil {
		t.Fatalf("read the tree: %v", err)
	}
	return all
}

// read is the text of a file that has to be there.
func (t *tree) read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(t.root, filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// packages are the files of each folder that has Go code outside tests.
func (t *tree) packages() map[string][]*source {
	all := make(map[string][]*source)
	for _, s := range t.goes {
		if !s.test {
			all[s.dir] = append(all[s.dir], s)
		}
	}
	return all
}

// sorted are the keys of a map in order, so that failures come in the same
// order every time.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
