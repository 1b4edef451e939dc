package probation

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what is expected in testdata/*.txt")

// TestScripts runs the scripts of testdata. A line is an event: its time, its name,
// and a version and a reason if it has them; or "state", or "knobs" with the two for the
// next window. What comes of it stands below, indented. Each script is replayed, too.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("scripts: %d, %v", len(scripts), err)
	}
	for _, path := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
		})
	}
}

var names = map[string]EventKind{
	"tick": Tick, "serving": Serving, "promoted": Promoted, "exited": Exited,
	"deploy": Deploy, "readiness_failed": ReadinessFailed, "abandoned": Abandoned, "operator": Operator,
}

// play runs a script and returns it with what came of each line.
func play(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	s := New(DefaultPolicy)
	var ledger []Entry
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "state":
			fmt.Fprintf(&out, "\t%s, current %q, last good %q, earlier %q, starting %q, %d restarts\n",
				s.Phase, s.Current, s.LastGood, s.Earlier(), s.Starting, s.Restarts)
		case words[0] == "knobs":
			s = s.Under(Policy{SoakMS: number(t, words[1]), MaxRestarts: number(t, words[2])})
		default:
			words = append(words, "", "")
			kind, known := names[words[1]]
			if !known {
				t.Fatalf("%q: unknown event", line)
			}
			var entries []Entry
			s, entries = Step(s, Event{TS: number(t, words[0]), Kind: kind, Version: words[2], Reason: Reason(words[3])})
			ledger = append(ledger, entries...)
			for _, e := range entries {
				fmt.Fprintf(&out, "\t%s\n", e)
			}
		}
	}
	if again, err := Replay(DefaultPolicy, ledger); err != nil || again.Under(s.Policy) != s {
		t.Errorf("replayed: %+v, %v\nwant %+v", again, err, s)
	}
	return out.String()
}

func number(t *testing.T, word string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
