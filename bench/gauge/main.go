// Command gauge does for bench/compare.sh what wrk and h2load cannot: it waits for
// a proxy to answer, it drives full TLS handshakes and
// load at a fixed rate, and it turns the slices that
// were measured into a table.
//
//	gauge wait ADDRESS HOST PATH        until that answers 200, at most a minute
//	gauge first ADDRESS HOST PATH COMMAND ARGUMENT ... runs a command until that answers 200; prints after how many milliseconds it did
//	gauge handshakes ADDRESS LOOPS TIME full handshake, one GET, close; prints "requests errors"
//	gauge pace ADDRESS RATE TIME        GETs at a fixed rate; prints "requests errors p99", in microseconds
//	gauge hold ADDRESS CONNECTIONS      opens and uses them, prints "open", waits for a line, uses them again, prints how many lived
//	gauge table FILE                    Markdown, from lines "setup row role proxy microseconds user requests errors seconds p99"
//
// It is a tool of the benchmark and no part of the product.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gauge:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "wait":
		return wait(args[1], args[2], args[3])
	case len(args) >= 5 && args[0] == "first":
		return first(args[1], args[2], args[3], args[4:])
	case len(args) == 4 && args[0] == "handshakes":
		return drive(handshakes, args[1:])
	case len(args) == 4 && args[0] == "pace":
		return drive(pace, args[1:])
	case len(args) == 3 && args[0] == "hold":
		n, err := strconv.Atoi(args[2])
		if err != nil {
			return err
		}
		return hold(args[1], n, os.Stdin)
	case len(args) == 2 && args[0] == "table":
		return table(args[1], os.Stdout)
	}
	return fmt.Errorf("unknown arguments %q: see the top of bench/gauge/main.go", args)
}

// drive reads the arguments of a load and runs it.
func drive(load func(address string, n int, length time.Duration) error, args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	length, err := time.ParseDuration(args[2])
	if err != nil {
		return err
	}
	return load(args[0], n, length)
}
