package route

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestCompare runs the scripts of testdata/diff: a table, a new one, and what changed
// in words, with the summary as the last line.
func TestCompare(t *testing.T) {
	scripts(t, "diff", func(t *testing.T, s *script) {
		var old *Table
		if s.sections[""] != "" {
			old = compileLoose(t, s.sections[""])
		}
		table := compileLoose(t, s.sections["new"])
		d := Compare(old, table)
		s.expect(t, "diff", printDiff(t, d)+d.Summary(41, 42)+"\n")

		sharing, _ := Compile(specOf(t, s.sections["new"]), old)
		if shared := Compare(old, sharing); !reflect.DeepEqual(shared, d) {
			t.Errorf("a table that shares with the old one differs in another way: %+v", shared)
		}
	})
}

func specOf(t testing.TB, text string) Spec {
	t.Helper()
	spec := parse(t, text)
	describeBackends(&spec)
	return spec
}

// compileLoose compiles a description that need not describe its backends.
func compileLoose(t testing.TB, text string, kept ...*Table) *Table {
	t.Helper()
	table, _ := Compile(specOf(t, text), kept...)
	return table
}

// printDiff prints the JSON form, one key per line, without empty lists.
func printDiff(t *testing.T, d Diff) string {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("a list is null: %s", text)
	}
	var lists map[string]any
	if err := json.Unmarshal(text, &lists); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, key := range sortedKeys(lists) {
		if list, ok := lists[key].([]any); ok {
			for _, item := range list {
				fmt.Fprintf(&b, "%s: %s\n", key, item)
			}
			continue
		}
		if lists[key] == true {
			fmt.Fprintf(&b, "%s\n", key)
		}
	}
	return b.String()
}

// TestDiffKeys fixes the names of the JSON form, which others parse.
func TestDiffKeys(t *testing.T) {
	text, err := json.Marshal(Compare(nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"routes_added":[],"routes_removed":[],"backends_changed":[],"certs_rotated":[],"certs_added":[],` +
		`"certs_removed":[],"hosts_added":[],"hosts_removed":[],"mirrors_added":[],"mirrors_removed":[],"default_backend_changed":false}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestSummaryOfTheFirstGeneration(t *testing.T) {
	table := compileLoose(t, `
		default-backend fallback
		route a.test / Prefix -> web
		route a.test /api Prefix -> api
		  mirror shadow
		route b.test / Prefix -> web
		route *.c.test / Prefix -> web
		route * / Prefix -> web`)
	const want = "5 routes added, 3 hosts added, 1 mirror added, default backend now fallback (gen 0→0)"
	if got := Compare(nil, table).Summary(0, 0); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
