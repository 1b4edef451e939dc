package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusals: whatever is refused has status 2, one line on standard error that
// says what to do, and nothing on standard output.
func TestRefusals(t *testing.T) {
	const usage = "usage: soak apply|report PLAN"
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", `{"ts":0,"event":"serving","version":"v1"}`)
	late := file("late", storm+`{"ts":-1,"event":"tick"}`+"\n"+`{"ts":`)
	torn := file("torn", storm+`{"ts":9`)
	missing := filepath.Join(dir, "missing")
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, usage},
		{[]string{""}, usage},
		{[]string{"aply", good}, usage},
		{[]string{"repotr", good}, usage},
		{[]string{"frobnicate", good}, usage},
		{[]string{"deplyo", good, "v2"}, "soak: unknown command deplyo, did you mean deploy? See soak --help"},
		{[]string{"help", "frobnicate"}, usage},
		{[]string{"help", "deplyo"}, "soak: unknown command deplyo, did you mean deploy? See soak --help"},
		{[]string{good}, usage},
		{[]string{"apply"}, usage},
		{[]string{"report"}, usage},
		{[]string{"apply", good, good}, usage},
		{[]string{"report", good, "apply"}, usage},
		{[]string{"--soak-ms", "5"}, usage},
		{[]string{"--soak-ms"}, usage},
		{[]string{"apply", "--soak-ms", "5"}, usage},

		{[]string{"apply", missing}, "soak: " + missing + ": no such file or directory"},
		{[]string{"report", missing}, "soak: " + missing + ": no such file or directory"},
		{[]string{"apply", dir}, "soak: " + dir + ": is a directory"},
		{[]string{"apply", ""}, "soak: : no such file or directory"},
		{[]string{"apply", missing + "\n\x1b[31m"}, "soak: " + missing + `\n\x1b[31m: no such file or directory`},

		{[]string{"apply", late}, "soak: " + late + ":6: column 7: ts has to be an integer from 0 to 18446744073709551615"},
		{[]string{"report", late}, "soak: " + late + ":6: column 7: ts has to be an integer from 0 to 18446744073709551615"},
		{[]string{"apply", torn}, "soak: " + torn + ":6: ends where ',' or '}' is expected"},
		{[]string{"apply", "-"}, "soak: -:2: column 1: '?' where an object is expected"},

		{[]string{"apply", good, "--max-restrats=0"}, "soak: unknown flag --max-restrats, did you mean --max-restarts?"},
		{[]string{"apply", good, "--json"}, "soak: unknown flag --json, see soak apply --help"},
		{[]string{"apply", good, "--soak-ms"}, "soak: flag needs an argument: --soak-ms, see soak apply --help"},
		{[]string{"apply", good, "--soak-ms=-1"}, `soak: --soak-ms: "-1" is not a whole number from 0 to 18446744073709551615`},
		{[]string{"apply", good, "--soak-ms", "30s"}, `soak: --soak-ms: "30s" is not a whole number from 0 to 18446744073709551615`},
		{[]string{"report", good, "--max-restarts="}, `soak: --max-restarts: "" is not a whole number from 0 to 18446744073709551615`},
		{[]string{"--max-restarts=0x1", "report", good}, `soak: --max-restarts: "0x1" is not a whole number from 0 to 18446744073709551615`},
		{[]string{"apply", good, "--soak-ms=18446744073709551616"}, `soak: --soak-ms: "18446744073709551616" is not a whole number from 0 to 18446744073709551615`},
	} {
		status, stdout, stderr := call("\n?\n", c.args...)
		if status != exitRefused || stdout != "" || stderr != c.want+"\n" {
			t.Errorf("%q: status %d, stdout %q, stderr\n%s\nwant\n%s", c.args, status, stdout, stderr, c.want)
		}
	}
}

// storm is a plan with a ledger.
const storm = `{"ts":0,"event":"serving","version":"v1"}
{"ts":1000,"event":"promoted","version":"v2","previous":"v1"}
{"ts":3000,"event":"exited","version":"v2"}
{"ts":6000,"event":"exited","version":"v2"}
{"ts":9000,"event":"exited","version":"v2"}
`

// TestStandardInput: - is the plan that is piped in, and flags may stand anywhere.
func TestStandardInput(t *testing.T) {
	const want = `{"event":"rolled_back","exits_in_window":1,"from":"v2","max":0,"reason":"restart_budget_exceeded","to":"v1","ts":3000,"version":"v2","window_ms":5000}` + "\n"
	for _, args := range [][]string{
		{"apply", "-", "--max-restarts", "0", "--soak-ms", "5000"},
		{"apply", "--max-restarts=0", "--soak-ms=5000", "-"},
		{"--max-restarts", "0", "--soak-ms=5000", "apply", "-"},
		{"--max-restarts", "0", "apply", "--soak-ms=5000", "--", "-"},
	} {
		if status, stdout, stderr := call(storm, args...); status != exitOK || stdout != want || stderr != "" {
			t.Errorf("%q: status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}

// TestHelp: help is for whoever asks, wherever they do.
func TestHelp(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--help"}, "soak COMMAND --help says more"},
		{[]string{"-h"}, "soak COMMAND --help says more"},
		{[]string{"help"}, "soak COMMAND --help says more"},
		{[]string{"help", "run"}, "usage: soak run CONFIG [flags]"},
		{[]string{"version"}, "soak " + version + " ("},
		{[]string{"apply", "--help"}, "usage: soak apply PLAN [flags]"},
		{[]string{"report", "x", "y", "-h"}, "usage: soak report PLAN [flags]"},
		{[]string{"--version"}, "soak " + version + " ("},
	} {
		status, stdout, stderr := call("", c.args...)
		if status != exitOK || !strings.Contains(stdout, c.want) || stderr != "" {
			t.Errorf("%q: status %d, %q, stdout\n%s", c.args, status, stderr, stdout)
		}
	}
	_, help, _ := call("", "--help")
	for _, c := range commands() {
		if !strings.Contains(help, "  "+strings.TrimRight(c.name+" "+c.args, " ")+" ") {
			t.Errorf("help does not list %s", c.name)
		}
		if _, own, _ := call("", c.name, "--help"); !strings.Contains(own, "usage: soak "+c.name) {
			t.Errorf("the help of %s does not say how to use it", c.name)
		}
	}
	for _, c := range commands() {
		help += c.help()
	}
	for line := range strings.Lines(help) {
		if len(line) > 90 {
			t.Errorf("help is too wide: %q", line)
		}
	}
}
