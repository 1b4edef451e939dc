package plan

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/probation"
)

var update = flag.Bool("update", false, "rewrite what is expected in testdata/lines.txt")

// TestLines reads the lines of testdata/lines.txt, each in quotes of Go, and compares
// what comes of it with the line below. The verdicts, though not the words, are those
// of the original, whose parser is serde_json.
func TestLines(t *testing.T) {
	const path = "testdata/lines.txt"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	quoted := ""
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "\t"):
			input, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatalf("%s: %v", quoted, err)
			}
			verdict := "\t" + verdictOn(input) + "\n"
			got.WriteString(verdict)
			if verdict != line && !*update {
				t.Errorf("%s\n got%swant%s", quoted, verdict, line)
			}
		default:
			quoted = strings.TrimSuffix(line, "\n")
			got.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var kinds = map[probation.EventKind]string{
	probation.Tick: "tick", probation.Serving: "serving", probation.Promoted: "promoted", probation.Exited: "exited",
}

// verdictOn says what comes of a line.
func verdictOn(line string) string {
	var p parser
	switch e, blank, err := p.line([]byte(line)); {
	case err != nil:
		return "refused: " + err.Error()
	case blank:
		return "blank"
	default:
		return fmt.Sprintf("%s of %q at %d", kinds[e.Kind], e.Version, e.TS)
	}
}
