// Package lead decides which of several replicas writes to the cluster.
//
// The one that holds a Lease (coordination.k8s.io) does. Whoever loses touch with the API
// server stops before another may take over.
//
// Guarantees: work runs on one replica at a time, as far as clocks run at the same speed;
// Run returns after the work has; at a stop the Lease is given back after the work has
// ended, so that a successor need not wait for it to run out; a process that was halted
// for longer than its Lease notices before it writes again, if it asks Valid.
//
// The package never knows what the work is.
package lead

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	// leaseDuration is what the Lease says: when a leader has not renewed it for so long,
	// another leads, at the latest.
	leaseDuration = 15 * time.Second
	// trust is how long a candidate leaves a Lease alone after it saw it renewed. What is
	// left of leaseDuration is the time in which it looks twice: to see the last renewal,
	// and to see that there was no other. The library waits up to 2.2 times retryPeriod
	// before each look.
	trust = 10 * time.Second
	// renewDeadline is how long the holder tries to renew it before it stops its work.
	renewDeadline = 7 * time.Second
	// retryPeriod is the time between two attempts to get or renew it: a small write each
	// second by one replica, a read by the others.
	retryPeriod = time.Second
	// releaseTimeout bounds giving it back: a process that ends does not wait for an API
	// server that does not answer.
	releaseTimeout = time.Second
	// repeat is the time between two lines about a Lease that cannot be had.
	repeat = time.Minute
)

// State is what is known of who leads.
type State uint32

const (
	// Undecided: it is not known yet, or not any more.
	Undecided State = iota
	// Leading: it is this replica.
	Leading
	// Following: it is another.
	Following
)

// Options says what is competed for.
type Options struct {
	// Client reads and writes the Lease. Required.
	Client coordinationv1.LeasesGetter
	// Lease is the name of the Lease. Required.
	Lease types.NamespacedName
	// Identity is this replica. No two that run at a time have the same. Required.
	Identity string
	// Changed is called after State changed, on any goroutine, but for a Lease that runs
	// out or is renewed late. nil = nothing to do.
	Changed func()
	// Log takes what there is to say. Required.
	Log *slog.Logger
}

// Leader is one candidate. Its methods are safe for concurrent use.
type Leader struct {
	options Options
	state   atomic.Uint32
	lock    *lock
}

// New returns a candidate that does nothing before Run.
func New(o Options) *Leader {
	return &Leader{options: o, lock: &lock{
		Interface: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: o.Lease.Namespace, Name: o.Lease.Name},
			Client:     o.Client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: o.Identity},
		},
		log: o.Log,
	}}
}

// State is what is known of who leads. A leader that has not renewed its Lease recently
// enough is undecided: somebody else may have it.
func (l *Leader) State() State {
	s := State(l.state.Load())
	// Counted from when the renewal was sent: the others count from when they saw it, which
	// is later.
	if s == Leading && time.Since(l.lock.sent()) >= renewDeadline {
		return Undecided
	}
	return s
}

// Valid reports whether this replica leads, and nobody else can. Ask it before each write.
func (l *Leader) Valid() bool { return l.State() == Leading }

// OthersAt is the last time at which another replica is known to have been there to lead: it
// got or renewed the Lease after it. A Lease that names another says no such thing, since
// it outlives its holder. The zero time is none.
func (l *Leader) OthersAt() time.Time { return l.lock.othersAt() }

// Run competes until ctx is done. While this replica leads it runs work, whose context
// ends when that is over; it returns after work has, and may run it again. It may be
// called once.
func (l *Leader) Run(ctx context.Context, work func(ctx context.Context)) {
	held := false
	for ctx.Err() == nil {
		held = l.term(ctx, work)
	}
	if held {
		l.release()
	}
}

// term competes for one period of leading, and is over when it is. held reports whether
// there was one.
func (l *Leader) term(ctx context.Context, work func(ctx context.Context)) (held bool) {
	var mu sync.Mutex
	var working sync.WaitGroup
	over := false
	e, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: l.lock, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				// It is called on a goroutine that nobody waits for, perhaps late.
				mu.Lock()
				if over {
					mu.Unlock()
					return
				}
				held = true
				working.Add(1)
				mu.Unlock()
				defer working.Done()
				l.become(Leading, "leading: this replica writes status and Events", "lease", l.options.Lease.String())
				work(leading)
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if identity != l.options.Identity && identity != "" {
					l.follow(identity)
				}
			},
		},
	})
	if err != nil {
		panic("lead: " + err.Error()) // the configuration is constant
	}
	e.Run(ctx)
	mu.Lock()
	over = true
	mu.Unlock()
	working.Wait()
	if State(l.state.Load()) == Leading {
		l.become(Undecided, "not leading any more", "lease", l.options.Lease.String())
	}
	return held
}

// become changes the state, and says so.
func (l *Leader) become(s State, text string, attrs ...any) {
	if State(l.state.Swap(uint32(s))) != s {
		l.options.Log.Info(text, attrs...)
		l.changed()
	}
}

// follow notes that another replica leads. It may come late, and must not end what began
// meanwhile.
func (l *Leader) follow(leader string) {
	if l.state.CompareAndSwap(uint32(Undecided), uint32(Following)) || l.State() == Following {
		l.options.Log.Info("following: another replica writes status and Events", "leader", leader)
		l.changed()
	}
}

func (l *Leader) changed() {
	if l.options.Changed != nil {
		l.options.Changed()
	}
}

// release gives the Lease back, if it is ours and the API server answers. The work has
// ended.
func (l *Leader) release() {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	record, _, err := l.lock.Get(ctx)
	if err != nil || record.HolderIdentity != l.options.Identity {
		return
	}
	now := metav1.Now()
	_ = l.lock.Update(ctx, resourcelock.LeaderElectionRecord{
		LeaderTransitions: record.LeaderTransitions, LeaseDurationSeconds: 1, AcquireTime: now, RenewTime: now,
	}) // or it runs out by itself
}
