package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// command is one row of the table: what help says, and what runs.
type command struct {
	name  string
	args  string // its arguments, as help writes them
	short string // what it does, in half a line
	long  string // what else its own help says; lines that end, "" if nothing
	wrong string // the usage line for wrong arguments; "" is made from name and args

	least, most int // how many arguments there have to be
	flags       *pflag.FlagSet
	run         func(s streams, args []string) int // args are as many as wanted
}

// commands is the table, in the order of help. Each call makes new flags.
func commands() []command {
	return []command{
		applyCommand(),
		reportCommand(),
		runCommand(),
		deployCommand(),
		rollbackCommand(),
		statusCommand(),
		ledgerCommand(),
	}
}

// newFlags is an empty set of flags for a command.
func newFlags(name string) *pflag.FlagSet {
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	set.SortFlags = false
	return set
}

// usage is the command line in one line.
func (c command) usage() string {
	if c.wrong != "" {
		return c.wrong
	}
	return strings.TrimRight("soak "+c.name+" "+c.args, " ")
}

// help is what the command prints when it is asked for help.
func (c command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "soak %s: %s.\n\nusage: soak %s %s", c.name, c.short, c.name, c.args)
	if c.flags.HasFlags() {
		b.WriteString(" [flags]\n\n" + c.flags.FlagUsagesWrapped(82))
	} else {
		b.WriteString("\n")
	}
	if c.long != "" {
		b.WriteString("\n" + c.long)
	}
	return b.String()
}

const helpHead = `soak keeps a promoted release on probation: its exits are counted until its soak
window closes, and only then is it good, and the release to go back to.

usage: soak COMMAND [flags] ARGUMENTS

`

const helpTail = `
soak COMMAND --help says more about each.

Exit status: 0 when all is well, 1 when something could not be finished, 2 when
arguments or a file are refused: nothing was done or printed then.

Examples:
  soak apply plan.jsonl
  soak report plan.jsonl --max-restarts 0
  producer | soak apply - | jq 'select(.event == "rolled_back")'
  soak run shop.yaml
  soak deploy shop.yaml v2
  soak rollback shop.yaml
`

// helpText is what soak --help prints.
func helpText() string {
	all := commands()
	width := 0
	for _, c := range all {
		width = max(width, len(c.name)+1+len(c.args))
	}
	var b strings.Builder
	b.WriteString(helpHead)
	for _, c := range all {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, c.name+" "+c.args, c.short)
	}
	b.WriteString(helpTail)
	return b.String()
}
