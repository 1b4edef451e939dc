//go:build linux

// Command play leaves a control plane running for a person to try things with, on
// request with the real daemon in front of two backends. It ends with Ctrl-C, and
// leaves nothing behind.
//
// It guarantees that what it prints can be pasted into a shell. It knows of the
// product only its binary.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"ramjet.dev/ingress/test/cluster"
)

func main() {
	build := flag.Bool("build", false, "only build the control plane, if the tests with it can run here")
	daemon := flag.Bool("daemon", false, "also build and run ramjet-ingressd, on 127.0.0.1:8080, 8443 and 10254")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := func(ctx context.Context) error { return play(ctx, *daemon) }
	if *build {
		run = prepare
	}
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// prepare builds the control plane for tests that will run. Where they cannot, it
// is not worth ten minutes.
func prepare(ctx context.Context) error {
	why, required := cluster.Missing()
	switch {
	case why == nil:
		_, err := cluster.Binaries(ctx, os.Stdout)
		return err
	case required:
		return fmt.Errorf("the tests with a control plane cannot run here, and have to: %w", why)
	}
	fmt.Printf("the tests with a control plane will not run here: %v\n", why)
	return nil
}

// play runs everything until ctx is done.
func play(ctx context.Context, withDaemon bool) (err error) {
	binaries, err := cluster.Binaries(ctx, os.Stdout)
	if err != nil {
		return err
	}
	c, err := cluster.Start(ctx, cluster.Options{
		Binaries: binaries,
		// What a person misses most without them: namespaces end, Services with a
		// selector have EndpointSlices.
		Controllers: []string{"namespace-controller", "serviceaccount-controller", "endpointslice-controller", "garbage-collector-controller"},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := furnish(ctx, c); err != nil {
		return err
	}
	fmt.Printf(hello, c.Admin.Kubeconfig, binaries, os.Getpid())
	defer outages(ctx, c)()
	end, err := backends(ctx, c)
	if err != nil {
		return err
	}
	defer end()
	if withDaemon {
		return serve(ctx, c)
	}
	fmt.Print(withoutDaemon)
	<-ctx.Done()
	fmt.Println("ending")
	return nil
}

// outages kills the API server when SIGUSR1 comes, and starts it again at the next. end
// makes an end of that.
func outages(ctx context.Context, c *cluster.Cluster) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	said := make(chan os.Signal, 1)
	signal.Notify(said, syscall.SIGUSR1)
	var running sync.WaitGroup
	running.Go(func() {
		defer signal.Stop(said)
		for down := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-said:
			}
			if down = !down; down {
				c.KillAPIServer()
				fmt.Println("the API server is dead")
				continue
			}
			if err := c.StartAPIServer(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "the API server does not come back:", err)
				continue
			}
			fmt.Println("the API server is back")
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

const hello = `
A control plane is running. In another shell:

  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl get ingressclasses

The API server dies with this, and comes back when it is said again:

  kill -USR1 %d
`

const withoutDaemon = `
The daemon, with that KUBECONFIG:

  go run ./cmd/ramjet-ingressd

or start this with --daemon. Ctrl-C ends everything.
`
