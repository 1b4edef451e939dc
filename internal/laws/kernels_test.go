package laws

import (
	"go/ast"
	"slices"
	"testing"
)

// clocks are what package time has for telling the time and waiting for it.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// TestKernelsHaveNoClock keeps time an argument and goroutines out of kernels:
// what a kernel does depends on what it is given, so a test can give it.
func TestKernelsHaveNoClock(t *testing.T) {
	for dir, files := range load(t).packages() {
		if !table[dir].kernel {
			continue
		}
		for _, s := range files {
			ast.Inspect(s.file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: a kernel starts no goroutine: return the work and let the shell do it", s.at(n))
				case *ast.CallExpr:
					if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" {
						t.Errorf("%s: a kernel starts no goroutine: return the work and let the shell do it", s.at(n))
					}
				case *ast.SelectorExpr:
					if named(n.X, "time") && slices.Contains(clocks, n.Sel.Name) {
						t.Errorf("%s: a kernel has no clock: take the time as an argument instead of time.%s", s.at(n), n.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// named reports whether an expression is just this name. Nobody renames the
// packages that are asked about.
func named(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
