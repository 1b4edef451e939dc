// Package kube is the side of the daemon that faces the cluster: it knows what is in
// there, and tells it what became of it.
//
// Guarantees: those who serve never wait for the cluster; everything that writes is done
// on the replica that leads, and ends with Run.
//
// The package never knows the data plane: who compiles reads Snapshot after Changes, and
// says what came of it with Handle.
package kube

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ramjet.dev/ingress/internal/kube/watch"
	"ramjet.dev/ingress/internal/translate"
)

// Options says which part of which cluster.
type Options struct {
	// Client reads and writes. Required.
	Client kubernetes.Interface
	// Server is where it does, for the log.
	Server string
	// Namespace narrows what is read to one namespace. "" = all.
	Namespace string
	// PublishService has the addresses for the status of Ingresses. Zero = none.
	PublishService types.NamespacedName
	// Log takes what there is to say. Required.
	Log *slog.Logger
}

// Cluster is the cluster as far as it matters here. It is safe for concurrent use.
type Cluster struct {
	watch *watch.Watch
}

// New prepares a Cluster. Nothing is sent before Run.
func New(o Options) *Cluster {
	return &Cluster{watch: watch.New(watch.Options{
		Client: o.Client, Server: o.Server, Namespace: o.Namespace, PublishService: o.PublishService, Log: o.Log,
	})}
}

// Run reads and writes until ctx is done, and returns when everything has ended. It may
// be called once.
func (c *Cluster) Run(ctx context.Context) { c.watch.Run(ctx) }

// Changes receives after something changed that Snapshot shows, once everything was read
// for the first time.
func (c *Cluster) Changes() <-chan struct{} { return c.watch.Changes() }

// Snapshot is everything as it is now.
func (c *Cluster) Snapshot() translate.Snapshot { return c.watch.Snapshot() }
