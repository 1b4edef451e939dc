//go:build linux

package supervise

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestMakeDir: each folder that gets an entry is put on the disk, those that were there
// before are left alone.
func TestMakeDir(t *testing.T) {
	root := t.TempDir()
	a, b, c := filepath.Join(root, "a"), filepath.Join(root, "a", "b"), filepath.Join(root, "a", "b", "c")
	if got := changed(c); !slices.Equal(got, []string{root, a, b}) {
		t.Errorf("before: %v", got)
	}
	if err := makeDir(c); err != nil {
		t.Fatal(err)
	}
	if got := changed(c); !slices.Equal(got, []string{b}) || !exists(c) {
		t.Errorf("after: %v", got)
	}
	if got := changed("/"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("of the root: %v", got)
	}
}
