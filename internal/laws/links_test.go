package laws

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// link is a Markdown link or image; its target is without a title.
var link = regexp.MustCompile(`\]\(([^)\s]+)[^)]*\)`)

// TestLinks wants the links between the documents, and from them to the code, to
// lead somewhere.
func TestLinks(t *testing.T) {
	all := load(t)
	for _, name := range all.files {
		if path.Ext(name) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(all.read(t, name), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(all.root, filepath.FromSlash(path.Dir(name)), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s, which is not there: write it, or correct the link", name, m[1])
			}
		}
	}
}
