package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output of the plans")

// call runs the command as main does.
func call(stdin string, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(args, streams{in: strings.NewReader(stdin), out: &out, err: &err})
	return status, out.String(), err.String()
}

// TestPlans runs every plan of testdata, with the flags of the .flags file beside it
// if there is one, and compares what apply and report print with the .out file. A second
// promotion within a window, the instants around its end and time that goes back (S06) are
// among them.
func TestPlans(t *testing.T) {
	plans, err := filepath.Glob("testdata/plans/*.plan")
	if err != nil || len(plans) == 0 {
		t.Fatalf("plans: %d, %v", len(plans), err)
	}
	for _, path := range plans {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".plan"), func(t *testing.T) {
			flags := flagsOf(t, path)
			var got strings.Builder
			for _, name := range []string{"apply", "report"} {
				status, stdout, stderr := call("", append([]string{name, path}, flags...)...)
				if status != exitOK || stderr != "" {
					t.Fatalf("%s: status %d, %q", name, status, stderr)
				}
				got.WriteString("$ soak " + name + "\n" + stdout)
			}
			want := strings.TrimSuffix(path, ".plan") + ".out"
			if *update {
				if err := os.WriteFile(want, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			expected, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if got.String() != string(expected) {
				t.Errorf("got\n%s\nwant\n%s", got.String(), expected)
			}
		})
	}
}

// flagsOf are the flags that a plan is to be run with, from a file beside it.
func flagsOf(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(path, ".plan") + ".flags")
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))
}
