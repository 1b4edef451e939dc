package generation_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata; read the diff before you commit it")

// TestScripts runs the scripts in testdata. A script is steps, separated by empty
// lines. A step is a sentence of intent behind "#", a command, and "----" with the
// expected output below it:
//
//	history SIZE            a new history
//	record NUMBER HOST…     record a generation with a route for each host; a
//	                        second part, HOST+ID, gives the host a certificate
//	pin NUMBER, release     the commands of operators
//
// Output is the actions in order, an error, and then the state: which generation
// serves, which is pinned, and what is kept, the newest first, with "*" where it
// was published.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("%s differs; run with -update and read the diff. Got:\n%s", file, got)
			}
		})
	}
}

// runScript returns the script with the output that it has now.
func runScript(t *testing.T, text string) string {
	var out []string
	var m machine
	for step := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		input, _, _ := strings.Cut(step+"\n", "----\n")
		intent, command := "", ""
		for line := range strings.Lines(input) {
			if strings.HasPrefix(line, "#") {
				intent += line
			} else {
				command += strings.TrimSpace(line)
			}
		}
		if intent == "" || command == "" {
			t.Fatalf("a step needs a sentence and a command:\n%s", step)
		}
		out = append(out, intent+command+"\n----\n"+m.run(t, strings.Fields(command)))
	}
	return strings.Join(out, "\n")
}

// machine is a history and the clock of a script, which advances a second a step.
type machine struct {
	history *generation.History
	clock   time.Time
}

func (m *machine) run(t *testing.T, words []string) string {
	var actions []generation.Action
	var err error
	m.clock = m.clock.Add(time.Second)
	switch words[0] {
	case "history":
		m.history = generation.NewHistory(int(number(t, words[1])))
	case "record":
		c := generation.Compiled{Number: number(t, words[1]), Table: tableOf(t, words[2:])}
		actions = m.history.Record(c, m.clock)
	case "pin":
		actions, err = m.history.Pin(number(t, words[1]), m.clock)
	case "release":
		actions = m.history.Release()
	default:
		t.Fatalf("unknown command %q", words[0])
	}
	return printActions(actions) + printError(err) + printState(m.history)
}

func number(t *testing.T, word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// tableOf compiles a table with a route for each host.
func tableOf(t testing.TB, hosts []string, kept ...*route.Table) *route.Table {
	t.Helper()
	spec := route.Spec{Backends: []route.BackendSpec{{
		Name: "web", Endpoints: []route.EndpointSpec{{Address: "127.0.0.1:9001", Weight: 1}},
	}}}
	for _, h := range hosts {
		host, cert, hasCert := strings.Cut(h, "+")
		spec.Routes = append(spec.Routes, route.RouteSpec{
			Host: host, Path: "/", PathType: route.Prefix, Backend: "web", Owner: "prod/" + host,
		})
		if hasCert {
			id, err := strconv.ParseUint(cert, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			spec.Certs = append(spec.Certs, route.CertSpec{Host: host, ID: route.CertID(id), Owner: "prod/" + host})
		}
	}
	table, diagnostics := route.Compile(spec, kept...)
	if len(diagnostics) > 0 {
		t.Fatalf("compile: %v", diagnostics)
	}
	return table
}

func printActions(actions []generation.Action) string {
	var b strings.Builder
	for _, a := range actions {
		switch a := a.(type) {
		case generation.Publish:
			fmt.Fprintf(&b, "publish %d\n", a.Number)
		case generation.Audit:
			fmt.Fprintf(&b, "audit %s\n", a.Event)
		}
	}
	return b.String()
}

func printError(err error) string {
	var notKept *generation.NotKeptError
	var already *generation.AlreadyPinnedError
	switch {
	case errors.As(err, &notKept), errors.As(err, &already):
		return fmt.Sprintf("%T: %v\n", err, err)
	case err != nil:
		return "unexpected error: " + err.Error() + "\n"
	}
	return ""
}

func printState(h *generation.History) string {
	serving, pinned := "-", "-"
	if g, ok := h.Serving(); ok {
		serving = fmt.Sprint(g.Number)
	}
	if n, _, ok := h.Pinned(); ok {
		pinned = fmt.Sprint(n)
	}
	kept := ""
	for _, g := range h.Kept() {
		kept += fmt.Sprintf(" %d", g.Number)
		if g.Published {
			kept += "*"
		}
	}
	return fmt.Sprintf("serving %s, pinned %s, kept%s\n", serving, pinned, kept)
}
