package lead_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"

	"ramjet.dev/ingress/internal/kube/lead"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // the library says each attempt
	goleak.VerifyTestMain(m)
}

// leases is a server with one Lease, which it gives out and takes as a whole.
type leases struct {
	client.LeaseInterface

	mu    sync.Mutex
	lease *coordinationv1.Lease
	deaf  bool      // no renewal gets through
	wary  bool      // nothing is allowed
	dead  string    // nor one of this holder
	sent  time.Time // the last that got through
}

func (l *leases) Leases(string) client.LeaseInterface { return l }

func (l *leases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wary {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, name, nil)
	}
	if l.lease == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, name)
	}
	return l.lease.DeepCopy(), nil
}

func (l *leases) Create(_ context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: "leases"}, lease.Name)
	}
	return l.put(lease)
}

func (l *leases) Update(_ context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.put(lease)
}

func (l *leases) put(lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	if l.wary {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, lease.Name, nil)
	}
	if l.deaf || l.dead != "" && *lease.Spec.HolderIdentity == l.dead {
		return nil, apierrors.NewServiceUnavailable("deaf")
	}
	l.lease, l.sent = lease.DeepCopy(), time.Now()
	return lease, nil
}

// candidate is a replica that notes each state that it was told of.
type candidate struct {
	leader *lead.Leader
	stop   func()

	mu     sync.Mutex
	told   []lead.State
	warned int
}

// Enabled and Handle count the warnings that it logs.
func (c *candidate) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (c *candidate) Handle(context.Context, slog.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.warned++
	return nil
}

func (c *candidate) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c *candidate) WithGroup(string) slog.Handler      { return c }

func compete(t *testing.T, on *leases, identity string) *candidate {
	c := &candidate{}
	c.leader = lead.New(lead.Options{
		Client: on, Lease: types.NamespacedName{Namespace: "ops", Name: "lease"}, Identity: identity, Log: slog.New(c),
		Changed: func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.told = append(c.told, c.leader.State())
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.leader.Run(ctx, func(leading context.Context) { <-leading.Done() }) })
	c.stop = func() { cancel(); running.Wait() }
	return c
}

func (c *candidate) expect(t *testing.T, when string, want ...lead.State) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.told, want) {
		t.Fatalf("%s: told of %v, want %v", when, c.told, want)
	}
}

// TestChanged: who leads, who follows and who is neither any more hears of it, so that what
// waits to be written by a leader does not wait for the day on which a follower becomes one.
func TestChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server leases
		a := compete(t, &server, "a")
		synctest.Wait()
		a.expect(t, "alone", lead.Leading)
		if !a.leader.Valid() {
			t.Error("it leads, and may not write")
		}
		b := compete(t, &server, "b")
		synctest.Wait()
		b.expect(t, "behind another", lead.Following)
		if b.leader.Valid() {
			t.Error("it follows, and may write")
		}

		a.stop()
		a.expect(t, "at its end", lead.Leading, lead.Undecided)
		<-time.After(5 * time.Second) // less than the Lease would last that was not given back
		synctest.Wait()
		b.expect(t, "after the other went", lead.Following, lead.Leading)
		b.stop()
	})
}

// TestHalted: a leader whose Lease is not renewed in time is none any more, even before it has
// had the time to notice, and its work is over before another may begin.
func TestHalted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server leases
		a := compete(t, &server, "a")
		synctest.Wait()
		server.mu.Lock()
		server.deaf = true
		server.mu.Unlock()
		<-time.After(7 * time.Second)
		if s := a.leader.State(); s != lead.Undecided || a.leader.Valid() {
			t.Errorf("%v seven seconds after the last renewal", s)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		a.expect(t, "before another may lead", lead.Leading, lead.Undecided)
		a.stop()
	})
}

// TestRefused: an API server that starts refuses for a moment what it allows. A leader goes on
// leading over that, and warns of nothing before it leads no more; who never led warns at
// once, because a right is missing. Both warn once a minute.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server leases
		refuse := func(wary bool) {
			server.mu.Lock()
			defer server.mu.Unlock()
			server.wary = wary
		}
		a := compete(t, &server, "a")
		synctest.Wait()
		for _, step := range []struct {
			wary   bool
			lasts  time.Duration
			leads  bool
			warned int
		}{
			{true, 5 * time.Second, true, 0},
			{false, time.Minute, true, 0},
			{true, 5 * time.Second, true, 0},
			{true, 5 * time.Second, false, 1},
			{true, 50 * time.Second, false, 1},
			{true, 20 * time.Second, false, 2},
			{false, 30 * time.Second, true, 2},
		} {
			refuse(step.wary)
			<-time.After(step.lasts)
			synctest.Wait()
			a.mu.Lock()
			if a.warned != step.warned || a.leader.Valid() != step.leads {
				t.Errorf("after %+v: leads %v, warned %d times", step, a.leader.Valid(), a.warned)
			}
			a.mu.Unlock()
		}
		a.stop()

		refuse(true)
		b := compete(t, &server, "b")
		synctest.Wait()
		if b.warned != 1 {
			t.Errorf("it may not lead, and warned of that %d times", b.warned)
		}
		b.stop()
	})
}

// TestLongerLease: the Lease of a version with longer times is left alone for as long as it
// says.
func TestLongerLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const says = 60 * time.Second
		holder, seconds, now := "older", int32(says.Seconds()), metav1.NowMicro()
		server := leases{lease: &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
		}}}
		a := compete(t, &server, "a")
		<-time.After(says - time.Second)
		synctest.Wait()
		a.expect(t, "while the other may lead", lead.Following)
		<-time.After(5 * time.Second)
		synctest.Wait()
		a.expect(t, "after it", lead.Following, lead.Leading)
		a.stop()
	})
}

// TestSuccession: a leader that dies is succeeded within the time that its Lease says, and
// not before it would have stopped by itself; whenever the others happen to look.
func TestSuccession(t *testing.T) {
	const lease, stops = 15 * time.Second, 8 * time.Second
	var most time.Duration
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			var server leases
			a := compete(t, &server, "a")
			b := compete(t, &server, "b")
			<-time.After(20 * time.Second)
			server.mu.Lock()
			server.dead = *server.lease.Spec.HolderIdentity
			last, says := server.sent, *server.lease.Spec.LeaseDurationSeconds
			server.mu.Unlock()
			if says != int32(lease.Seconds()) {
				t.Errorf("the Lease says %d s", says)
			}
			heir := b
			if server.dead == "b" {
				heir = a
			}
			for !heir.leader.Valid() {
				<-time.After(10 * time.Millisecond)
			}
			took := time.Since(last)
			if took > lease || took <= stops {
				t.Errorf("succeeded %v after its last renewal", took)
			}
			most = max(most, took)
			a.stop()
			b.stop()
		})
	}
	t.Logf("the latest came after %v", most)
}

// TestOthersAt: another was there as long as it renewed the Lease, which goes on to name it
// when it is dead. A replica is no other to itself.
func TestOthersAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var server leases
		a := compete(t, &server, "a")
		<-time.After(20 * time.Second)
		if at := a.leader.OthersAt(); !at.IsZero() {
			t.Errorf("alone, and another was there at %v", at)
		}
		b := compete(t, &server, "b")
		synctest.Wait()
		if at := b.leader.OthersAt(); b.leader.State() != lead.Following || !at.IsZero() {
			t.Errorf("another was there at %v, of whom there is but a Lease", at)
		}
		<-time.After(20 * time.Second)
		synctest.Wait()
		if ago := time.Since(b.leader.OthersAt()); ago > 7*time.Second {
			t.Errorf("another is there, and was last %v ago", ago)
		}

		server.mu.Lock()
		server.dead = "a"
		last := server.sent
		server.mu.Unlock()
		for b.leader.State() == lead.Following {
			if at := b.leader.OthersAt(); at.After(last) {
				t.Fatalf("another is there at %v, which renewed for the last time at %v", at, last)
			}
			<-time.After(10 * time.Millisecond)
		}
		<-time.After(20 * time.Second)
		synctest.Wait()
		if at := b.leader.OthersAt(); at.After(last) || last.Sub(at) > 7*time.Second {
			t.Errorf("another was there last at %v, and renewed for the last time at %v", at, last)
		}
		a.stop()
		b.stop()
	})
}
