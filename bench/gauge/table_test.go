package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable: ratios are to the reference slices beside a slice, so that a drift of
// the machine in between does not count.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "slices")
	text := `pinned get-c64 reference nginx 1000 200 100 0 1 0
pinned get-c64 subject ours 3000 300 100 1 1 0
pinned get-c64 reference nginx 2000 700 100 0 1 0
pinned get-c64 subject ours 4000 600 100 0 1 0
pinned get-c64 reference nginx 2000 700 100 0 1 0
pinned get-c64 reference other 100 10 100 0 1 0
pinned get-c64 subject other:routes 110 10 100 0 1 0
pinned get-c64 reference other 100 10 100 0 1 0
unpinned pace reference nginx 1000 500 100 0 2 100
unpinned pace subject ours 1000 500 100 0 2 240
unpinned pace reference nginx 1000 500 100 0 2 300
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := table(file, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"**pinned**", "**unpinned**",
		"| get-c64 | nginx | 20.0 | 15.0 | 10.0–20.0 | 5.3 | 1 | – | 1 | – | – | 100 | 0 | 3 |\n",
		"| get-c64 | ours | 35.0 | 32.5 | 30.0–40.0 | 4.5 | **2.00** | 2.00–2.00 | 2.17 | – | – | 100 | 1 | 2 |\n",
		"| get-c64 | other:routes | 1.1 | 1.1 | 1.1–1.1 | 0.1 | **1.10** | 1.10–1.10 | 1.10 | – | – | 100 | 0 | 1 |\n",
		"| pace | nginx | 10.0 | 10.0 | 10.0–10.0 | 5.0 | 1 | – | 1 | 200 | 1 | 50 | 0 | 2 |\n",
		"| pace | ours | 10.0 | 10.0 | 10.0–10.0 | 5.0 | **1.00** | 1.00–1.00 | 1.00 | 240 | **1.20** (1.20–1.20) | 50 | 0 | 1 |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in:\n%s", want, out.String())
		}
	}
}
