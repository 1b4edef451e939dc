package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/kube"
	"ramjet.dev/ingress/internal/kube/connect"
	"ramjet.dev/ingress/internal/rebuild"
	"ramjet.dev/ingress/internal/translate"
)

// cluster is where the configuration comes from in Kubernetes mode. It owns its client.
type cluster struct {
	client *connect.Client
	config config
	log    *slog.Logger
	kube   *kube.Cluster    // from run on
	build  *rebuild.Rebuild // from run on
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
		config: c,
		log:    logger,
	}, nil
}

// clusterOptions are those of the flags.
func clusterOptions(c config) kube.Options {
	return kube.Options{
		Class:             c.ingressClass,
		Namespace:         c.watchNamespace,
		PublishService:    c.publishService,
		PublishAddress:    c.publishAddress,
		ReadOnlyIngresses: c.noStatusUpdate,
	}
}

// thisPod is the name of this replica: what the pod was told about itself, else what can
// be found out.
func thisPod() types.NamespacedName {
	pod := types.NamespacedName{Namespace: os.Getenv("POD_NAMESPACE"), Name: os.Getenv("POD_NAME")}
	if pod.Name == "" {
		pod.Name, _ = os.Hostname()
	}
	if pod.Name == "" { // the name is for people, and must only not be empty
		pod.Name = "ramjet-ingressd"
	}
	if pod.Namespace == "" {
		pod.Namespace = connect.PodNamespace()
	}
	return pod
}

func translateOptions(c config) translate.Options {
	return translate.Options{
		Class:            c.ingressClass,
		DefaultBackend:   c.defaultBackend,
		DefaultTLSSecret: c.defaultTLSSecret,
	}
}

// prepare makes the parts. serving is the generation on the wire. What the parts are to
// be told of goes to the result, which is an audit.Sink.
func (k *cluster) prepare(serving func() (uint64, bool), logger *slog.Logger) audit.Sink {
	o := clusterOptions(k.config)
	o.Client, o.Server, o.Pod, o.Serving, o.Log = k.client, k.client.Host, thisPod(), serving, logger
	k.kube = kube.New(o)
	return k.kube
}

// run starts the parts. They end with ctx, and are waited for in running.
func (k *cluster) run(ctx context.Context, running *sync.WaitGroup, ctl *control.Control) {
	options := translateOptions(k.config)
	var translator translate.Translator
	k.build = rebuild.New(rebuild.Options{
		Changes:   k.kube.Changes(),
		Translate: func() translate.Translation { return translator.Translate(k.kube.Snapshot(), options) },
		Control:   ctl,
		Done: func(r rebuild.Result) {
			k.log.Debug("compiled", "took", r.Took, "generation", r.Generation, "new", r.New, "ingresses", len(r.Translation.Ours),
				"routes", len(r.Translation.Spec.Routes), "parsed", r.Parsed, "warnings", len(r.Warnings))
			k.kube.Handle(kube.Outcome{Ours: r.Translation.Ours, Warnings: r.Warnings, Generation: r.Generation})
		},
	})
	running.Go(func() { k.kube.Run(ctx) })
	running.Go(func() { k.build.Run(ctx) })
}

// describe is what the banner says of the cluster.
func (k *cluster) describe(c config) []any {
	namespace := c.watchNamespace
	if namespace == "" {
		namespace = "all"
	}
	return []any{"cluster", k.client.Host, "class", c.ingressClass, "namespace", namespace}
}

// numbers are the metrics of Kubernetes mode. A nil cluster has none.
func (k *cluster) numbers() []admin.Number {
	if k == nil {
		return nil
	}
	one := func(of func() float64) func(func(float64, string)) {
		return func(yield func(float64, string)) { yield(of(), "") }
	}
	return []admin.Number{
		{
			Name: "compiles_total", Help: "Times that the objects of the cluster were compiled, with or without a change.", Counter: true,
			Values: one(func() float64 { return float64(k.build.Compiles()) }),
		},
		{
			Name: "last_compile_timestamp_seconds", Help: "When they were last compiled, as Unix time; absent before the first time.",
			Values: func(yield func(float64, string)) {
				if at, ok := k.build.Latest(); ok {
					yield(float64(at.UnixMilli())/1000, "")
				}
			},
		},
		{
			Name: "watch_up", Help: "1 while the last request to read objects of this kind succeeded.", Label: "resource",
			Values: func(yield func(float64, string)) {
				for _, c := range k.kube.Conditions() {
					yield(bit(c.Up), c.Resource)
				}
			},
		},
		{
			Name: "leader", Help: "1 while this replica writes to the cluster.",
			Values: one(func() float64 { return bit(k.kube.Leading()) }),
		},
		{
			Name: "warnings", Help: "Warnings about objects that stand now.",
			Values: one(func() float64 { return float64(k.kube.Warnings()) }),
		},
	}
}

// bit is a truth as a metric.
func bit(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// close lets go of the client. A nil cluster has none.
func (k *cluster) close() {
	if k != nil {
		k.client.Close()
	}
}
