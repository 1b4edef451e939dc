//go:build cluster

package kube_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/test/cluster"
)

// plane is the control plane of all tests here. They have namespaces and classes of
// their own.
var plane *cluster.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func startPlane(ctx context.Context) (*cluster.Cluster, error) {
	binaries, err := cluster.Binaries(ctx, os.Stderr)
	if err != nil {
		return nil, err
	}
	return cluster.Start(ctx, cluster.Options{Binaries: binaries})
}

func run(m *testing.M) int {
	var err error
	if plane, err = startPlane(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, plane.Logs())
	}
	if err := plane.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
