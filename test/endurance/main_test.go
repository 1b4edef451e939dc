//go:build endurance

// Package endurance runs the real daemon for minutes or hours under a mixed load
// that is far from what it could take, while everything around it changes: routes,
// certificates, endpoints, pins, backends that die. Every answer is checked: that
// it is the one that was asked for, from a backend that may give it, byte by byte.
//
// At the end there was no answer that is not explained by a rule of the product,
// and the process is as large as it was: memory, descriptors, goroutines.
//
// It runs in Kubernetes mode against a real control plane (see ../cluster), because
// that is where tables and certificates change; so it needs root and ip(8). Load
// and backends are in this process, so what is measured is the daemon alone.
package endurance

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"ramjet.dev/ingress/test/cluster"
	"ramjet.dev/ingress/test/daemon"
)

var (
	lasts  = flag.Duration("for", 2*time.Minute, "how long the load lasts")
	engine = flag.String("engine", "reactor", "--engine of the daemon")
	seed   = flag.Uint64("seed", 0, "what chance begins with; 0 = the time")
)

// binaries is the folder of the control plane's programs.
var binaries string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if why, required := cluster.Missing(); why != nil {
		fmt.Printf("test/endurance: nothing was run: %v\n", why)
		if required {
			return 1
		}
		return 0
	}
	dir, err := cluster.Binaries(context.Background(), os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binaries = dir
	code, err := daemon.Run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
