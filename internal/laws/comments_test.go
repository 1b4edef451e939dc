package laws

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// TestPackageComments wants each package to say its job once.
func TestPackageComments(t *testing.T) {
	docs := make(map[string][]string) // package → files with a comment
	for _, s := range load(t).goes {
		docs[s.dir] = append(docs[s.dir], nil...)
		if strings.HasSuffix(s.file.Name.Name, "_test") || s.file.Doc == nil {
			continue
		}
		docs[s.dir] = append(docs[s.dir], s.path)
		want := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			want = "Command "
		}
		if !strings.HasPrefix(s.file.Doc.Text(), want) {
			t.Errorf("%s: the package comment does not begin with %q", s.path, want)
		}
	}
	for _, dir := range sorted(docs) {
		switch files := docs[dir]; len(files) {
		case 1:
		case 0:
			t.Errorf("package %s has no package comment: say its job, what it guarantees, and what it never knows", dir)
		default:
			t.Errorf("package %s has several package comments, in %s: keep one", dir, strings.Join(files, " and "))
		}
	}
}

// TestExportedComments wants a comment on every exported name outside tests.
func TestExportedComments(t *testing.T) {
	for _, s := range load(t).goes {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && !wellKnown(d) {
					t.Errorf("%s: %s has no comment: say what it does, its errors, and who may call it when", s.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				checkGroup(t, s, d)
			}
		}
	}
}

// wellKnown reports whether a function is a method on a type of the package's
// own, or one whose meaning an interface of the standard library fixes.
func wellKnown(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return false
	}
	x := f.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	if generic, ok := x.(*ast.IndexExpr); ok {
		x = generic.X
	}
	if id, ok := x.(*ast.Ident); ok && !id.IsExported() {
		return true
	}
	return slices.Contains([]string{"Error", "Unwrap", "String"}, f.Name.Name)
}

// checkGroup looks at a type, const or var declaration. A comment on a group
// covers the constants and variables in it.
func checkGroup(t *testing.T, s *source, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
				t.Errorf("%s: type %s has no comment: say what it is, who owns it, and whether it may be shared", s.at(spec), spec.Name.Name)
			}
		case *ast.ValueSpec:
			said := d.Doc != nil || spec.Doc != nil || spec.Comment != nil
			for _, name := range spec.Names {
				if name.IsExported() && !said {
					t.Errorf("%s: %s %s has no comment: say what it means, with its unit", s.at(spec), kindOf(d.Tok), name.Name)
				}
			}
		}
	}
}

func kindOf(t token.Token) string {
	if t == token.CONST {
		return "constant"
	}
	return "variable"
}
