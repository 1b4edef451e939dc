//go:build linux

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// orphan starts a process whose supervisor dies, and gets hold of it. What it writes before
// it finds the file "go", the supervisor may have read.
func orphan(t *testing.T, s Spec) *Found {
	t.Helper()
	helper := exec.Command(os.Args[0], "-test.run=TestHelperSupervisor")
	helper.Env = append(os.Environ(), "SOAK_TEST_SPEC="+s.StateDir, "SOAK_TEST_SCRIPT="+s.Command[2])
	if text, err := helper.CombinedOutput(); err == nil {
		t.Fatalf("the first supervisor was to die: %s", text)
	}
	all, err := Orphans(s.StateDir)
	if err != nil || len(all) != 1 {
		t.Fatalf("found %+v, %v", all, err)
	}
	held, err := Find(all[0].Identity)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// whenTold is the beginning of a script that waits for the file "go".
const whenTold = `while test ! -e go; do sleep 0.01; done; `

// tell makes that file.
func tell(t *testing.T, s Spec) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// much is a script that writes more than a pipe holds, and then says so.
const much = whenTold + `i=0; while [ $i -lt 40 ]; do head -c 49999 /dev/zero | tr '\0' x; echo; i=$((i+1)); done; echo last; echo oops >&2; echo done > ready; exec sleep 1000`

// TestFilesFromNowOn: a process that was started with pipes is read by a supervisor that
// has files for what releases write: otherwise it would stand still once the pipe is full.
func TestFilesFromNowOn(t *testing.T) {
	for _, where := range []string{"log", "file/log"} {
		s, out := spec(t, much)
		held := orphan(t, s)
		dir := filepath.Join(s.Dir, where)
		if err := os.WriteFile(filepath.Join(s.Dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.Output.FilesDir = dir
		p := held.Adopt(s)
		tell(t, s)
		until(t, "the end of what it writes", func() bool { return there(filepath.Join(s.Dir, "ready")) })
		if err := p.Stop(patience); err != nil {
			t.Fatal(err)
		}
		gone(t, p)
		if where == "log" {
			want := strings.Repeat(strings.Repeat("x", 49999)+"\n", 40) + "last\n"
			if text, err := os.ReadFile(filepath.Join(dir, "v1.out")); err != nil || string(text) != want {
				t.Errorf("%d bytes of %d, %v", len(text), len(want), err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "v1.err")); err != nil || string(text) != "oops\n" {
				t.Errorf("%q, %v", text, err)
			}
		}
		if (p.Unheard == nil) != (where == "log") {
			t.Errorf("%s: lost: %v", where, p.Unheard)
		}
		if left, _ := os.ReadDir(s.Output.PipesDir); len(left) != 0 || out.String() != "" {
			t.Errorf("pipes are left: %v; passed on: %.40q", left, out)
		}
	}
}

// TestFilesNoMore: a process that writes into files goes on doing so.
func TestFilesNoMore(t *testing.T) {
	s, out := spec(t, "echo out; echo done > ready; exec sleep 1000")
	pipes := s.Output
	s.Output = Output{FilesDir: filepath.Join(s.Dir, "log"), PipesDir: pipes.PipesDir}
	p := start(t, s)
	until(t, "the end of what it writes", func() bool { return there(filepath.Join(s.Dir, "ready")) })
	s.Output = pipes
	found, err := Find(p.ID)
	if err != nil {
		t.Fatal(err)
	}
	next := found.Adopt(s)
	if next.Unheard != nil {
		t.Errorf("lost: %v", next.Unheard)
	}
	p.Kill()
	gone(t, next)
	if text, err := os.ReadFile(filepath.Join(s.Dir, "log", "v1.out")); err != nil || string(text) != "out\n" || out.String() != "" {
		t.Errorf("%q, %v; passed on: %q", text, err, out)
	}
}
