//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"ramjet.dev/ingress/test/cluster"
)

// manifests are what everybody applies who installs the daemon.
var manifests = []string{"examples/ingressclass.yaml", "deploy/rbac.yaml"}

// furnish applies them. The ServiceAccount is in a namespace of this name.
func furnish(ctx context.Context, c *cluster.Cluster) error {
	if _, err := c.Admin.Kubectl(ctx, "", "create", "namespace", "ramjet-ingress"); err != nil {
		return err
	}
	for _, name := range manifests {
		if _, err := c.Admin.Kubectl(ctx, "", "apply", "-f", name); err != nil {
			return err
		}
	}
	return nil
}

const app = `
apiVersion: v1
kind: Service
metadata: {name: %[1]s}
spec: {ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [%[2]s], conditions: {ready: true}}]
`

const tryBackends = `
Two Services have a backend that answers with its name:

  kubectl create ingress shop --class=ramjet --rule='shop.test/*=blue:http'
  curl -H 'Host: shop.test' localhost:8080
  kubectl patch ingress shop --type=json -p '[{"op":"replace","path":"/spec/rules/0/http/paths/0/backend/service/name","value":"green"}]'
  curl -H 'Host: shop.test' localhost:8080
  kubectl describe ingressclass ramjet
  kubectl delete ingress shop

A backend of your own listens in their network, on any of its addresses:

  ip netns exec %s python3 -m http.server 9000 --bind %s
`

// backends makes Services to play with, where that is possible.
func backends(ctx context.Context, c *cluster.Cluster) (end func(), err error) {
	if why := cluster.HasNetworks(); why != nil {
		fmt.Printf("\nThere are no backends in it: %v.\n", why)
		return func() {}, nil
	}
	n, err := cluster.NewNetwork()
	if err != nil {
		return nil, err
	}
	end = func() { _ = n.Close() } // the next start removes what is left
	for _, name := range []string{"blue", "green"} {
		at := netip.AddrPortFrom(n.Address(), 8080)
		l, err := n.Listen(at)
		if err != nil {
			end()
			return nil, err
		}
		// It ends with the process.
		go func() { _ = http.Serve(l, says(name)) }() //nolint:gosec // nobody but this machine reaches it
		if _, err := c.Admin.Kubectl(ctx, fmt.Sprintf(app, name, at.Addr()), "apply", "-f", "-"); err != nil {
			end()
			return nil, err
		}
	}
	fmt.Printf(tryBackends, n.Name(), n.Address())
	return end, nil
}

func says(name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, name+" was asked for "+r.Host+r.RequestURI+"\n")
	})
}

// serve runs the daemon until ctx is done, and shows its log.
func serve(ctx context.Context, c *cluster.Cluster) error {
	dir, err := os.MkdirTemp("", cluster.FolderPattern())
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next start removes what is left
	binary := filepath.Join(dir, "ramjet-ingressd")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/ramjet-ingressd")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the daemon: %w", err)
	}
	fmt.Print("\nThe daemon serves on 127.0.0.1:8080 and 8443, its admin port is 10254. Ctrl-C ends everything.\n\n")
	return keep(ctx, os.Stdout, time.Second, func() *exec.Cmd {
		daemon := exec.Command(binary, "--http", "127.0.0.1:8080", "--https", "127.0.0.1:8443", "--admin", "127.0.0.1:10254",
			"--publish-address", "127.0.0.1")
		daemon.Env = append(os.Environ(), "KUBECONFIG="+c.Admin.Kubeconfig)
		daemon.Stdout, daemon.Stderr = os.Stdout, os.Stderr
		return daemon
	})
}
