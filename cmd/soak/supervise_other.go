//go:build !linux

package main

import (
	"fmt"
	"runtime"
)

// supervised refuses: package process is for Linux.
func supervised(s streams, _, _ string) int {
	return s.fail(exitRefused, fmt.Errorf("run: a supervisor needs Linux (process descriptors and /proc), and this is %s; apply, report, status and ledger work here", runtime.GOOS))
}
