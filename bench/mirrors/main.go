// Command mirrors measures what a mirror costs the requests that are mirrored.
//
//	go run ./bench/mirrors [-rounds N] [-slice TIME] [-rate N] [-body N] [-under "taskset -c 1"]
//
// One daemon runs for each thing that a mirror can be: off, up, refusing
// connections, hanging, slow by a second. All of them are warm, have the same
// primary, and get load in turns at a fixed rate: off, up, off, refusing, off, … The
// quantiles of each slice are divided by those of the slices without a mirror
// beside it; the table shows medians over all rounds. It exits with 1 when an answer
// was wrong.
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

// modes are what a mirror can be. The first is the reference.
var modes = []string{"off", "up", "refusing", "hanging", "slow"}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 10, "slices of each kind")
	flag.DurationVar(&o.slice, "slice", 2*time.Second, "length of a slice")
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
	rounds, rate, body int
	slice              time.Duration
	under              string
}

// slice is one measurement.
type slice struct {
	mode     string
	p50, p99 time.Duration
	requests int
	errors   int
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
		if _, err := d.load(o, o.slice/2); err != nil { // warm
			return err
		}
	}
	slices, err := measure(o, daemons)
	if err != nil {
		return err
	}
	failed := printTable(os.Stdout, o, slices)
	for _, mode := range modes[1:] {
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

// measure drives the daemons in turns, the reference before and after each.
func measure(o options, daemons map[string]*daemon) ([]slice, error) {
	var all []slice
	add := func(mode string) error {
		s, err := daemons[mode].load(o, o.slice)
		s.mode = mode
		all = append(all, s)
		return err
	}
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
		for _, mode := range modes[1:] {
			if err := errors.Join(add(modes[0]), add(mode)); err != nil {
				return nil, err
			}
		}
	}
	return all, add(modes[0])
}
