package kube

import (
	"context"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube/observed"
	"ramjet.dev/ingress/internal/kube/pace"
	"ramjet.dev/ingress/internal/kube/status"
	"ramjet.dev/ingress/internal/kube/write"
)

const (
	// writeBurst writes of a kind to Ingresses are done at once, then one each writeEvery.
	writeBurst = 20
	writeEvery = 50 * time.Millisecond
	// eachBurst times one and the same thing is written to an Ingress at once, then once
	// each eachEvery: two who disagree about it would write for ever.
	eachBurst = 20
	eachEvery = time.Minute
	// planGap is the least time between two looks at what has to be written: what is
	// written comes back as a change, and a thousand of them are one.
	planGap = 100 * time.Millisecond
)

// source is what the reporter reads of the cluster.
type source interface {
	Ingresses() []*networkingv1.Ingress
	Classes() []*networkingv1.IngressClass
	// Published is the Service whose addresses are published, false before that is known.
	Published() (*corev1.Service, bool)
	// Touched receives after any of these changed in a way that no compile tells of.
	Touched() <-chan struct{}
}

// reporter writes into Ingresses what became of them: the addresses in their status, and
// the generation that has them as they are.
type reporter struct {
	options  Options
	cluster  source
	news     chan struct{}
	statuses *write.Queue[status.Change]
	observed *write.Queue[observed.Change]

	mu     sync.Mutex
	known  bool // there was an outcome
	ours   map[types.UID]bool
	record observed.Record
	plan   status.Plan
	absent bool // said that the published Service does not exist
}

func newReporter(o Options, cluster source, may func() bool) *reporter {
	r := &reporter{options: o, cluster: cluster, news: make(chan struct{}, 1)}
	budget, each := pace.Bucket{Burst: writeBurst, Every: writeEvery}, pace.Bucket{Burst: eachBurst, Every: eachEvery}
	r.statuses = write.New(write.Options[status.Change]{
		What: "the status of Ingresses", Budget: budget, Each: each, Same: status.Change.Same, May: may, Log: o.Log,
		Do: func(ctx context.Context, _ string, c status.Change) error {
			return r.noted(status.Write(ctx, o.Client.NetworkingV1(), c), func() { r.plan.Wrote(c) })
		},
	})
	r.observed = write.New(write.Options[observed.Change]{
		What: "annotations of Ingresses", Budget: budget, Each: each, Same: observed.Change.Same, May: may, Log: o.Log,
		Do: func(ctx context.Context, _ string, c observed.Change) error {
			return r.noted(observed.Write(ctx, o.Client.NetworkingV1(), c), func() { r.record.Wrote(c) })
		},
	})
	return r
}

// noted notes what was written, if it was.
func (r *reporter) noted(err error, wrote func()) error {
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		wrote()
	}
	return err
}

// handle takes what came of a compile, on every replica: one that leads later knows it.
func (r *reporter) handle(o Outcome) {
	ours := make(map[types.UID]bool, len(o.Ours))
	for _, ing := range o.Ours {
		ours[ing.UID] = true
	}
	r.mu.Lock()
	r.known, r.ours = true, ours
	r.record.Compiled(o.Ours, o.Generation)
	r.mu.Unlock()
	r.nudge()
}

// nudge makes it look again at what has to be written.
func (r *reporter) nudge() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// run writes until ctx is done.
func (r *reporter) run(ctx context.Context) {
	r.mu.Lock()
	r.plan.Forget()
	r.record.Forget()
	r.mu.Unlock()
	var writing sync.WaitGroup
	writing.Go(func() { r.statuses.Run(ctx) })
	writing.Go(func() { r.observed.Run(ctx) })
	r.look(ctx)
	writing.Wait()
	r.statuses.Clear()
	r.observed.Clear()
}

// look asks for what has to be written, whenever that may have changed.
func (r *reporter) look(ctx context.Context) {
	holdoff := pace.Holdoff{Gap: planGap}
	for {
		r.ask()
		holdoff.Ended(time.Now(), 0)
		select {
		case <-ctx.Done():
			return
		case <-r.news:
		case <-r.cluster.Touched():
		}
		t := time.NewTimer(holdoff.Wait(time.Now()))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// ask puts into the queues what has to be written, and takes back what has not any more.
func (r *reporter) ask() {
	live, classes := r.cluster.Ingresses(), r.cluster.Classes()
	serving, ready := r.options.Serving()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known || !ready {
		return
	}
	view := status.View{Live: live, Classes: classes, Ours: r.ours, Class: r.options.Class, Want: r.addresses()}
	statuses, over := r.plan.Changes(view)
	drop(r.statuses, over)
	for _, c := range statuses {
		r.statuses.Put(c.Name.String(), c, r.record.First(c.UID)) // who has just changed something waits for it
	}
	left := func(ing *networkingv1.Ingress, ours bool) bool {
		return status.Left(ing, classes, r.options.Class, ours)
	}
	annotations, over := r.record.Changes(live, serving, left)
	drop(r.observed, over)
	for _, c := range annotations {
		r.observed.Put(c.Name.String(), c, c.First)
	}
}

func drop[T any](q *write.Queue[T], over []types.NamespacedName) {
	for _, name := range over {
		q.Drop(name.String())
	}
}

// addresses are what is published now.
func (r *reporter) addresses() status.Addresses {
	if r.options.PublishService.Name == "" {
		return status.FromAddress(r.options.PublishAddress)
	}
	service, known := r.cluster.Published()
	switch {
	case !known:
		return status.Addresses{}
	case service != nil:
		r.absent = false
		return status.FromService(service)
	}
	if !r.absent {
		r.options.Log.Log(context.Background(), slog.LevelWarn, "the Service whose addresses are to be published does not exist: the status of Ingresses stays as it is", "service", r.options.PublishService.String())
	}
	r.absent = true
	return status.Addresses{}
}
