//go:build linux

package cluster

import "os"

// Missing says why the tests that need a network of their own cannot run here, nil
// if they can. required reports whether that is a failure, as it is where
// RAMJET_CLUSTER_TESTS=required is set: in CI nothing shall be left out unnoticed.
func Missing() (why error, required bool) {
	return HasNetworks(), os.Getenv("RAMJET_CLUSTER_TESTS") == "required"
}
