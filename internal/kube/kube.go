// Package kube is the side of the daemon that faces the cluster: it knows what is in
// there, and tells it what became of it.
//
// Guarantees: whoever serves or compiles never waits for the cluster; everything that
// writes is done on the replica that leads, but for the Events about a pin, which the
// replica writes that holds it; nothing that is written is a cause for a compile;
// everything ends with Run.
//
// The package never knows the data plane: who compiles reads Snapshot after Changes, and
// says what came of it with Handle.
package kube

import (
	"context"
	"log/slog"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/kube/events"
	"ramjet.dev/ingress/internal/kube/lead"
	"ramjet.dev/ingress/internal/kube/watch"
	"ramjet.dev/ingress/internal/translate"
)

// Options says which part of which cluster, and what is told to it.
type Options struct {
	// Client reads and writes. Required.
	Client kubernetes.Interface
	// Server is where it does, for the log.
	Server string
	// Class is the value of the annotation that makes an Ingress ours, and the
	// IngressClass on which changes of the configuration are told. Required.
	Class string
	// Namespace narrows what is read to one namespace. "" = all.
	Namespace string
	// PublishService has the addresses for the status of Ingresses; it beats
	// PublishAddress, which is one IP address or host name. Zero = none.
	PublishService types.NamespacedName
	PublishAddress string
	// ReadOnlyIngresses switches off all writes to Ingresses.
	ReadOnlyIngresses bool
	// Pod is this replica. The Lease is in its namespace. Required.
	Pod types.NamespacedName
	// Serving is the generation on the wire, false if there is none yet. Required.
	Serving func() (uint64, bool)
	// Log takes what there is to say. Required.
	Log *slog.Logger
}

// Outcome is what came of one compile.
type Outcome struct {
	// Ours are the Ingresses that are served, as they were compiled.
	Ours []*networkingv1.Ingress
	// Warnings are all that stand, sorted, each once.
	Warnings []translate.Warning
	// Generation is the number of the generation that includes Ours.
	Generation uint64
}

// Cluster is the cluster as far as it matters here. It is safe for concurrent use.
type Cluster struct {
	options  Options
	watch    *watch.Watch
	leader   *lead.Leader
	class    *events.Class
	warnings *events.Warnings
	reporter *reporter

	mu       sync.Mutex
	standing events.Standing
}

// New prepares a Cluster. Nothing is sent before Run.
func New(o Options) *Cluster {
	c := &Cluster{
		options: o,
		watch: watch.New(watch.Options{
			Client: o.Client, Server: o.Server, Namespace: o.Namespace, PublishService: o.PublishService, Log: o.Log,
		}),
	}
	c.leader = lead.New(lead.Options{
		Client: o.Client.CoordinationV1(), Lease: leaseName(o),
		// Two processes of one name, as without pods, must not take each other for themselves.
		Identity: o.Pod.Name + "_" + rand.String(8), Log: o.Log,
		// What waits to be told is told now, or left to the other.
		Changed: func() { c.class.Nudge() },
	})
	teller := events.NewTeller(o.Client.EventsV1(), o.Pod.Name, o.Log)
	c.class = events.NewClass(events.ClassOptions{Teller: teller, Class: c.classReference, Leads: c.Leading, OthersAt: c.leader.OthersAt, Log: o.Log})
	c.warnings = events.NewWarnings(teller, c.leader.Valid, o.Log)
	c.reporter = newReporter(o, c.watch, c.leader.Valid)
	return c
}

// leaseName is the Lease that all replicas of one deployment compete for, and no other
// deployment: those differ in the class or in the namespace they serve.
func leaseName(o Options) types.NamespacedName {
	name := "ramjet-ingress"
	if o.Class != "ramjet" {
		name += "-" + o.Class
	}
	if o.Namespace != "" {
		name += ".ns-" + o.Namespace
	}
	return types.NamespacedName{Namespace: o.Pod.Namespace, Name: name}
}

// Run reads and writes until ctx is done, and returns when everything has ended. It may
// be called once.
func (c *Cluster) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.watch.Run(ctx) })
	running.Go(func() { c.class.Run(ctx) })
	running.Go(func() { c.leader.Run(ctx, c.write) })
	running.Wait()
}

// write is what only the replica does that leads.
func (c *Cluster) write(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { c.warnings.Run(ctx) })
	if !c.options.ReadOnlyIngresses {
		running.Go(func() { c.reporter.run(ctx) })
	}
	running.Wait()
}

// Changes receives after something changed that Snapshot shows, once everything was read
// for the first time.
func (c *Cluster) Changes() <-chan struct{} { return c.watch.Changes() }

// Snapshot is everything as it is now.
func (c *Cluster) Snapshot() translate.Snapshot { return c.watch.Snapshot() }

// Handle takes what came of a compile, once it is in effect. It does not wait for the
// cluster.
func (c *Cluster) Handle(o Outcome) {
	c.mu.Lock()
	fresh, over := c.standing.Update(o.Warnings)
	c.mu.Unlock()
	events.Log(c.options.Log, fresh)
	c.warnings.Update(fresh, over)
	c.reporter.handle(o)
}

// Record takes an event of the audit trail: it is an audit.Sink.
func (c *Cluster) Record(e audit.Event) {
	c.class.Record(e)
	c.reporter.nudge() // what was held back may be on the wire now
}

// Leading reports whether this replica writes to the cluster.
func (c *Cluster) Leading() bool { return c.leader.State() == lead.Leading }

// Warnings is how many warnings stand.
func (c *Cluster) Warnings() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.standing.Len()
}

// Conditions are how it stands with each kind that is read.
func (c *Cluster) Conditions() []watch.Condition { return c.watch.Conditions() }

// classReference names the IngressClass on which changes are told: that of our name, else
// the first that is ours, else one that is only a name.
func (c *Cluster) classReference() corev1.ObjectReference {
	reference := corev1.ObjectReference{APIVersion: "networking.k8s.io/v1", Kind: "IngressClass", Name: c.options.Class}
	var best *networkingv1.IngressClass
	for _, class := range c.watch.Classes() {
		if class.Spec.Controller != translate.ControllerName {
			continue
		}
		if class.Name == c.options.Class || best == nil || best.Name != c.options.Class && strings.Compare(class.Name, best.Name) < 0 {
			best = class
		}
	}
	if best != nil {
		reference.Name, reference.UID = best.Name, best.UID
	}
	return reference
}
