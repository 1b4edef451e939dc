package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ramjet.dev/ingress/internal/soak/ledger"
	"ramjet.dev/ingress/internal/soak/supervise"
)

const ledgerHelp = `FILE is ledger.jsonl in the state folder of a config, or that folder; - is standard
input. A name that ends in .yaml or .yml is a config. A last line that was not written
to its end is left out, and that is said on standard error. A line that cannot be read
is refused with its number, and the exit status is 2.
`

func ledgerCommand() command {
	flags := newFlags("ledger")
	asJSON := flags.Bool("json", false, "print the lines as they are")
	return command{
		name: "ledger", args: "FILE|CONFIG", short: "print a ledger as a table",
		long: ledgerHelp, least: 1, most: 1, flags: flags,
		run: func(s streams, args []string) int { return printLedger(s, *asJSON, args[0]) },
	}
}

func printLedger(s streams, asJSON bool, path string) int {
	path, status := ledgerAt(s, path)
	if status != exitOK {
		return status
	}
	contents, err := readLedger(s, path)
	if err != nil {
		return s.fail(exitRefused, err)
	}
	text := string(contents.Text())
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if !asJSON {
		text = table(text)
	}
	if len(contents.Torn) > 0 {
		fmt.Fprintln(s.err, "soak: the last line was not written to its end and is left out: "+contents.Describe())
	}
	return write(s, text)
}

// ledgerAt is the ledger that is meant by a config or a state folder. With a status
// other than exitOK the faults were printed.
func ledgerAt(s streams, path string) (string, int) {
	if ext := filepath.Ext(path); ext == ".yaml" || ext == ".yml" {
		c, status := load(s, path)
		if status != exitOK {
			return "", status
		}
		path = c.StateDir
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, supervise.LedgerName)
	}
	return path, exitOK
}

func readLedger(s streams, path string) (ledger.Contents, error) {
	if path != "-" {
		return ledger.Read(path)
	}
	data, err := io.ReadAll(s.in)
	if err != nil {
		return ledger.Contents{}, fmt.Errorf("read standard input: %w", err)
	}
	return ledger.Parse("-", data)
}

// table is a ledger for people: a row for each line, with everything that is on it,
// also what this program does not know.
func table(text string) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LINE\tTIME\tEVENT\tVERSION\tDETAILS")
	n := 0
	for line := range strings.Lines(text) {
		n++
		var members map[string]json.RawMessage
		_ = json.Unmarshal([]byte(line), &members) // it was read before
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", n, moment(members["ts"]), word(members["event"]), word(members["version"]), details(members))
	}
	_ = t.Flush() // into memory
	return b.String()
}

// moment is a time as people read it.
func moment(raw json.RawMessage) string {
	var ms int64
	if json.Unmarshal(raw, &ms) != nil {
		return string(raw)
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// word is a member without its quotes.
func word(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return oneLine(string(raw))
	}
	return oneLine(text)
}

// details are the members that have no column, in the order of their names.
func details(members map[string]json.RawMessage) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != "ts" && name != "event" && name != "version" {
			all = append(all, oneLine(name)+"="+word(members[name]))
		}
	}
	return strings.Join(all, " ")
}
