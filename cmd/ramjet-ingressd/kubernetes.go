package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/kube"
	"ramjet.dev/ingress/internal/kube/connect"
	"ramjet.dev/ingress/internal/rebuild"
	"ramjet.dev/ingress/internal/translate"
)

// cluster is where the configuration comes from in Kubernetes mode. It owns its client.
type cluster struct {
	client *connect.Client
	kube   *kube.Cluster
	build  translate.Options
}

// newCluster finds the API server. Nothing is sent yet: it may be down.
func newCluster(c config, logger *slog.Logger) (*cluster, error) {
	where, err := connect.Config()
	switch {
	case errors.Is(err, connect.ErrNoCluster):
		return nil, fmt.Errorf("%w; or give --static-routes FILE, or --demo to try it", err)
	case err != nil:
		return nil, err
	}
	connect.RouteLibraryLog(logger)
	client, err := connect.New(where, "ramjet-ingressd/"+version, logger)
	if err != nil {
		return nil, err
	}
	return &cluster{
		client: client,
		kube:   kube.New(clusterOptions(c, client, logger)),
		build:  translateOptions(c),
	}, nil
}

func clusterOptions(c config, client *connect.Client, logger *slog.Logger) kube.Options {
	return kube.Options{
		Client:         client,
		Server:         client.Host,
		Namespace:      c.watchNamespace,
		PublishService: c.publishService,
		Log:            logger,
	}
}

func translateOptions(c config) translate.Options {
	return translate.Options{
		Class:            c.ingressClass,
		DefaultBackend:   c.defaultBackend,
		DefaultTLSSecret: c.defaultTLSSecret,
	}
}

// run starts the parts. They end with ctx, and are waited for in d.running.
func (k *cluster) run(ctx context.Context, d *daemon, ctl *control.Control) {
	build := rebuild.New(rebuild.Options{
		Changes:   k.kube.Changes(),
		Translate: func() translate.Translation { return translate.Translate(k.kube.Snapshot(), k.build) },
		Control:   ctl,
	})
	d.running.Go(func() { k.kube.Run(ctx) })
	d.running.Go(func() { build.Run(ctx) })
}

// describe is what the banner says of the cluster.
func (k *cluster) describe(c config) []any {
	namespace := c.watchNamespace
	if namespace == "" {
		namespace = "all"
	}
	return []any{"cluster", k.client.Host, "class", c.ingressClass, "namespace", namespace}
}

// close lets go of the client. A nil cluster has none.
func (k *cluster) close() {
	if k != nil {
		k.client.Close()
	}
}
