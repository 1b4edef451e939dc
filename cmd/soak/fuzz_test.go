package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// FuzzPlan: any bytes are a plan, or are refused in one line with nothing printed.
func FuzzPlan(f *testing.F) {
	plans, err := filepath.Glob("testdata/plans/*.plan")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range plans {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), uint64(30_000), uint64(2))
	}
	f.Fuzz(func(t *testing.T, plan string, window, budget uint64) {
		for _, name := range []string{"apply", "report"} {
			flags := []string{name, "-", "--soak-ms", strconv.FormatUint(window, 10), "--max-restarts", strconv.FormatUint(budget, 10)}
			status, stdout, stderr := call(plan, flags...)
			switch status {
			case exitOK:
				if stderr != "" {
					t.Errorf("%s: %q", name, stderr)
				}
			case exitRefused:
				if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "soak: -:") {
					t.Errorf("%s: stdout %q, stderr %q", name, stdout, stderr)
				}
			default:
				t.Errorf("%s: status %d", name, status)
			}
		}
	})
}
