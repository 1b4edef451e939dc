//go:build cluster

// Package kube runs the real daemon in Kubernetes mode against a real control
// plane (see ../cluster), with backends on addresses of a network that the tests
// make. What is looked at is what a client gets, what kubectl shows and what the
// log says.
//
// The tests need root and ip(8), for that network. Without them the package says
// so in one line and runs none of its tests; with RAMJET_CLUSTER_TESTS=required, as
// CI has it, that is a failure.
package kube

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"ramjet.dev/ingress/test/cluster"
	"ramjet.dev/ingress/test/daemon"
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	if why, required := cluster.Missing(); why != nil {
		fmt.Printf("test/kube: none of the tests was run: %v\n", why)
		if required {
			return 1
		}
		return 0
	}
	var err error
	if plane.binaries, err = cluster.Binaries(context.Background(), os.Stderr); err == nil {
		code, err = daemon.Run(m)
	}
	if err = errors.Join(err, closePlane()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// plane is what the tests of this package share: starting a control plane takes
// three seconds, emptying it none.
var plane struct {
	binaries string
	once     sync.Once
	cluster  *cluster.Cluster
	network  *cluster.Network
	err      error
}

// start makes what is shared, at its first use.
func start() (*cluster.Cluster, *cluster.Network, error) {
	plane.once.Do(func() {
		if plane.network, plane.err = cluster.NewNetwork(); plane.err == nil {
			plane.cluster, plane.err = cluster.Start(context.Background(), cluster.Options{Binaries: plane.binaries})
		}
	})
	return plane.cluster, plane.network, plane.err
}

func closePlane() error {
	var errs []error
	if plane.cluster != nil {
		errs = append(errs, plane.cluster.Close())
	}
	if plane.network != nil {
		errs = append(errs, plane.network.Close())
	}
	return errors.Join(errs...)
}
