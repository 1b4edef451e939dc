// Command mirrors measures what a mirror costs the requests that are mirrored.
//
//	go run ./bench/mirrors [-rounds N] [-turns N] [-slice TIME] [-rate N] [-body N] [-under "taskset -c 1"]
//
// One daemon runs for each thing that a mirror can be: off, off once more, up,
// refusing connections, hanging, slow by a second. All of them are warm, have the same
// primary, and get load in short turns at a fixed rate, in an order that rotates. The
// quantiles of a round, of all its turns together, are divided by those of the two
// daemons without a mirror taken together; the table shows medians over the rounds.
// The rows of those two say how far from 1 a ratio comes by itself. The exit status is
// 1 when an answer was wrong.
//
// It is a tool of the benchmark and no part of the product.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// modes are what a mirror can be. The first two are the reference.
var modes = []string{"off", "off, again", "up", "refusing", "hanging", "slow"}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 10, "rounds")
	flag.IntVar(&o.turns, "turns", 15, "turns of each daemon in a round")
	flag.DurationVar(&o.slice, "slice", 200*time.Millisecond, "length of a turn")
	flag.IntVar(&o.rate, "rate", 1000, "requests a second")
	flag.IntVar(&o.body, "body", 1<<10, "bytes of a request's body; 0 sends GET")
	flag.StringVar(&o.under, "under", "", "a command that the daemons run under")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "mirrors:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds, turns, rate, body int
	slice                     time.Duration
	under                     string
}

// result is what one daemon did in one round.
type result struct {
	took   []time.Duration
	failed int
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "mirrors-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary folder
	binary := filepath.Join(dir, "ramjet-ingressd")
	build := exec.Command("go", "build", "-o", binary, "./cmd/ramjet-ingressd")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the daemon (from the root of the tree): %w", err)
	}
	b, err := startBackends()
	if err != nil {
		return err
	}
	defer b.close()
	daemons := make(map[string]*daemon)
	for _, mode := range modes {
		d, err := startDaemon(append(strings.Fields(o.under), binary), dir, mode, b)
		if err != nil {
			return err
		}
		defer d.stop()
		daemons[mode] = d
		if r := d.load(o, time.Second); r.failed > 0 { // warm
			return fmt.Errorf("%d requests failed with the mirror %s", r.failed, mode)
		}
	}
	failed := printTable(os.Stdout, o, measure(o, daemons))
	for _, mode := range modes[2:] {
		counts, err := daemons[mode].counters()
		if err != nil {
			return err
		}
		fmt.Printf("copies with the mirror %s: %s\n", mode, counts)
	}
	if failed {
		return errors.New("requests failed: the numbers are worth nothing")
	}
	return nil
}

// measure drives the daemons in turns and returns the results of each round by mode.
func measure(o options, daemons map[string]*daemon) []map[string]*result {
	var rounds []map[string]*result
	for n := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", n+1, o.rounds)
		round := make(map[string]*result)
		for turn := range o.turns {
			for i := range modes {
				mode := modes[(i+turn)%len(modes)]
				one := daemons[mode].load(o, o.slice)
				if round[mode] == nil {
					round[mode] = new(result)
				}
				round[mode].took = append(round[mode].took, one.took...)
				round[mode].failed += one.failed
			}
		}
		rounds = append(rounds, round)
	}
	return rounds
}
