package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata (read the diff)")

// TestGood reads every testdata/good/*.yaml; the .txt beside it is all it says.
func TestGood(t *testing.T) {
	each(t, "good", func(text []byte) string {
		c, err := parse("soak.yaml", "/etc/soak", text)
		if err != nil {
			return err.Error()
		}
		r, doubt := c.Readiness, ""
		if c.Doubt() != "" {
			doubt = c.Doubt() + "\n"
		}
		return fmt.Sprintf("stateDir %s\nbaseline %s\ncommand %q\ndir %s\nenv %q\nports %v\noutputDir %q\n"+
			"ready http=%q tcp=%v command=%q interval=%v timeout=%v deadline=%v\nrestart %v to %v\noverlap %v stopGrace %v\nwindow %v maxRestarts %d\n",
			c.StateDir, c.Baseline, c.Command, c.Dir, c.Env, c.Ports, c.OutputDir,
			r.HTTPPath, r.TCP, r.Command, r.Interval, r.Timeout, r.Deadline, c.Restart.Backoff, c.Restart.Max,
			c.Overlap, c.StopGrace, c.Window, c.MaxRestarts) + doubt
	})
}

// TestBad reads every testdata/bad/*.yaml; the .txt beside it is all that is wrong.
func TestBad(t *testing.T) {
	each(t, "bad", func(text []byte) string {
		c, err := parse("soak.yaml", "/etc/soak", text)
		if err == nil {
			return fmt.Sprintf("no fault found: %+v\n", *c)
		}
		return err.Error() + "\n"
	})
}

func each(t *testing.T, dir string, got func(text []byte) string) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			is, beside := got(text), strings.TrimSuffix(file, "yaml")+"txt"
			if *update {
				if err := os.WriteFile(beside, []byte(is), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(beside)
			if err != nil {
				t.Fatal(err)
			}
			if is != string(want) {
				t.Errorf("got\n%swant\n%s", is, want)
			}
		})
	}
}

// TestExample: the example that the documentation shows is a config.
func TestExample(t *testing.T) {
	c, err := Load("../../../examples/soak/soak.yaml")
	if err != nil || c.Doubt() != "" {
		t.Error(err, c.Doubt())
	}
}

func TestLoadRefuses(t *testing.T) {
	large := filepath.Join(t.TempDir(), "large.yaml")
	if err := os.WriteFile(large, make([]byte, maxFileBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"no-such.yaml": "no-such.yaml: the config cannot be read: no such file or directory",
		large:          large + ": it is larger than 1024 KiB: that is no config of soak",
	} {
		if _, err := Load(path); err == nil || err.Error() != want {
			t.Errorf("Load(%q) = %v, want %s", path, err, want)
		}
	}
}

func TestCheckVersion(t *testing.T) {
	for _, good := range []string{"v1", "2026-11-29.1", "1.4.2+build_7", "a", strings.Repeat("v", maxVersion)} {
		if err := CheckVersion(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "-rf", ".", "..", "../etc", "a/b", "a b", "ä", "a\n", "{port}", "+1", strings.Repeat("v", maxVersion+1)} {
		if CheckVersion(bad) == nil {
			t.Errorf("%q may name a release", bad)
		}
	}
}

func TestExpand(t *testing.T) {
	got := Expand("--{version} :{port}/{port} {other}", "v{port}", 81)
	if want := "--v{port} :81/81 {other}"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzParse looks for text that makes the reader panic or report more than one line
// for a fault.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"good", "bad"} {
		files, _ := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parse("soak.yaml", "/etc/soak", text)
		if err == nil && (len(c.Ports) < 2 || len(c.Command) == 0 || c.Restart.Max < c.Restart.Backoff) {
			t.Errorf("accepted: %+v", *c)
		}
		if err == nil {
			return
		}
		for _, e := range err.(Errors) {
			if strings.ContainsRune(e.Error(), '\n') {
				t.Errorf("more than one line: %q", e.Error())
			}
		}
	})
}
