//go:build cluster

package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ramjet.dev/ingress/test/cluster"
	"ramjet.dev/ingress/test/daemon"
)

// leaseTime is how long a leader may be dead before another leads: what the Lease says.
const leaseTime = 15 * time.Second

// launchNamed starts a replica as the pod of this name.
func (w *world) launchNamed(pod string, flags ...string) *controller {
	w.t.Helper()
	return w.launchAs(w.Admin, daemon.Setup{Env: []string{"POD_NAME=" + pod}}, flags...)
}

// get reads an Ingress of the namespace default.
func (w *world) get(name string) *networking.Ingress {
	w.t.Helper()
	i, err := w.Admin.Client.NetworkingV1().Ingresses("default").Get(w.ctx, name, meta.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return i
}

// addressesOf are those in the status of an Ingress.
func addressesOf(i *networking.Ingress) (all []string) {
	for _, a := range i.Status.LoadBalancer.Ingress {
		all = append(all, a.IP+a.Hostname)
	}
	return all
}

// published waits until the status of an Ingress has these addresses and no
// others.
func (w *world) published(name string, want ...string) {
	w.t.Helper()
	w.eventually("the status of "+name, func() error { return publishes(w.get(name), want...) })
}

func publishes(i *networking.Ingress, want ...string) error {
	if got := addressesOf(i); !slices.Equal(got, want) {
		return fmt.Errorf("addresses %q, want %q", got, want)
	}
	return nil
}

// leader is the pod that holds the Lease.
func (w *world) leader() string {
	w.t.Helper()
	leases, err := w.Admin.Client.CoordinationV1().Leases("default").List(w.ctx, meta.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range leases.Items {
		if l.Name == "ramjet-ingress" && l.Spec.HolderIdentity != nil {
			pod, _, _ := strings.Cut(*l.Spec.HolderIdentity, "_")
			return pod
		}
	}
	return ""
}

// TestTwoReplicas (K03): one leads and writes the status, and the other leaves it
// alone although its address is another. Killed, it is succeeded within the time
// of the Lease. Serving never stops on the one that lives.
func TestTwoReplicas(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	replicas := map[string]*controller{
		"pod-a": w.launchNamed("pod-a", "--publish-address", "192.0.2.10"),
		"pod-b": w.launchNamed("pod-b", "--publish-address", "192.0.2.20"),
	}
	address := map[string]string{"pod-a": "192.0.2.10", "pod-b": "192.0.2.20"}
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	for _, c := range replicas {
		c.comes("shop.test", "/", "shop")
	}
	w.eventually("a leader", func() error {
		if w.leader() == "" {
			return fmt.Errorf("nobody holds the Lease")
		}
		return nil
	})
	first := w.leader()
	second := "pod-a"
	if first == second {
		second = "pod-b"
	}
	w.published("shop", address[first])
	replicas[second].Log.Wait(t, "following")

	t.Log("in peace nobody writes")
	w.eventually("the observed generation", func() error {
		if w.get("shop").Annotations["ramjet.dev/observed-generation"] == "" {
			return fmt.Errorf("none")
		}
		return nil
	})
	writes := w.writesTo("shop", 5*time.Second)
	if len(writes) > 0 {
		t.Errorf("%d writes in steady state: %v", len(writes), writes)
	}

	t.Logf("%s leads and is killed", first)
	traffic := replicas[second].load(2, "shop.test", "/", from("shop"))
	replicas[first].Signal(syscall.SIGKILL)
	killed := time.Now()
	history := w.follow("shop")
	if err := within(w.ctx, leaseTime+daemon.Patience, func() error { return publishes(w.get("shop"), address[second]) }); err != nil {
		t.Fatal(err)
	}
	took := time.Since(killed)
	t.Logf("%s writes the status %s after the kill", second, took.Round(time.Millisecond))
	if took > leaseTime+10*time.Second { // which are for a busy machine, and less than another such time
		t.Errorf("a successor after %s, want the time of the Lease", took)
	}
	if w.leader() != second {
		t.Errorf("%q holds the Lease, want %s", w.leader(), second)
	}
	traffic.clean("the change of leaders")
	if seen := history(); !slices.Equal(seen, []string{address[second]}) {
		t.Errorf("the status went through %q, want only %s", seen, address[second])
	}
}

// writesTo counts what is written to an Ingress within a time.
func (w *world) writesTo(name string, during time.Duration) (fields []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, during)
	defer cancel()
	now := w.get(name).ResourceVersion
	changes, err := w.Admin.Client.NetworkingV1().Ingresses("default").Watch(ctx, meta.ListOptions{
		FieldSelector: "metadata.name=" + name, ResourceVersion: now,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer changes.Stop()
	for e := range changes.ResultChan() {
		if i, ok := e.Object.(*networking.Ingress); ok {
			fields = append(fields, i.ResourceVersion)
		}
	}
	return fields
}

// follow watches the status of an Ingress from now on; history gives the addresses
// that it changed to, in order.
func (w *world) follow(name string) (history func() []string) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	at := w.get(name)
	changes, err := w.Admin.Client.NetworkingV1().Ingresses("default").Watch(ctx, meta.ListOptions{
		FieldSelector: "metadata.name=" + name, ResourceVersion: at.ResourceVersion,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	last := strings.Join(addressesOf(at), " ")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range changes.ResultChan() {
			i, ok := e.Object.(*networking.Ingress)
			if !ok {
				continue
			}
			mu.Lock()
			if now := strings.Join(addressesOf(i), " "); now != last {
				seen, last = append(seen, now), now
			}
			mu.Unlock()
		}
	}()
	stop := func() {
		cancel()
		changes.Stop()
		<-done
	}
	w.t.Cleanup(stop)
	return func() []string {
		w.t.Helper()
		w.eventually("the watch has seen everything", func() error {
			now := strings.Join(addressesOf(w.get(name)), " ")
			mu.Lock()
			defer mu.Unlock()
			if last != now {
				return fmt.Errorf("%q, not yet %q", last, now)
			}
			return nil
		})
		stop()
		return seen
	}
}

// TestLeaderHandsOver: a leader that is asked to end gives the Lease back, so that
// its successor need not wait, and empties no status.
func TestLeaderHandsOver(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	a := w.launchNamed("pod-a", "--publish-address", "192.0.2.10")
	a.Log.Wait(t, "leading")
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	w.published("shop", "192.0.2.10")
	history := w.follow("shop")
	a.Signal(syscall.SIGTERM)
	if code := a.Exit(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	b := w.launchNamed("pod-b", "--publish-address", "192.0.2.20")
	begun := time.Now()
	b.Log.Wait(t, "leading")
	t.Logf("the next leads %s after its start", ms(time.Since(begun)))
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("the next leads after %s: the Lease was not given back", took)
	}
	w.published("shop", "192.0.2.20")
	if seen := history(); !slices.Equal(seen, []string{"192.0.2.20"}) {
		t.Errorf("the status went through %q", seen)
	}
}

// TestDeposedLeader (K03, K04): a leader that cannot reach the API server stops
// before another may lead. It keeps what is in the status, and writes again when
// it leads again.
func TestDeposedLeader(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	p, err := cluster.NewProxy(w.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	far, err := w.Via(p, w.Admin)
	if err != nil {
		t.Fatal(err)
	}
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	a := w.launchAs(far, daemon.Setup{Env: []string{"POD_NAME=pod-a"}}, "--publish-address", "192.0.2.10")
	a.Log.Wait(t, "leading")
	w.published("shop", "192.0.2.10")
	history := w.follow("shop")

	t.Log("no byte passes any more")
	p.Freeze()
	frozen := time.Now()
	a.Log.Wait(t, "not leading any more")
	if took := time.Since(frozen); took > 15*time.Second {
		t.Errorf("it stopped after %s, when another could lead", took)
	}
	a.is("shop.test", "/", "shop")

	t.Log("somebody empties the status meanwhile; the leader of before is back")
	i := w.get("shop")
	i.Status = networking.IngressStatus{}
	if _, err := w.Admin.Client.NetworkingV1().Ingresses("default").UpdateStatus(w.ctx, i, meta.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.Thaw()
	w.published("shop", "192.0.2.10")
	if seen := history(); !slices.Equal(seen, []string{"", "192.0.2.10"}) {
		t.Errorf("the status went through %q", seen)
	}
}

// TestStatusFollowsOwnership: the status is there while an Ingress is ours, and
// gone when it is not; --publish-service takes that of a Service, and
// --no-status-update writes nothing.
func TestStatusFollowsOwnership(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	front := service("front")
	front.Spec.Type = "LoadBalancer"
	w.put(front)
	front, err := w.Admin.Client.CoreV1().Services("default").Get(w.ctx, "front", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	give := func(ips ...string) {
		front.Status.LoadBalancer.Ingress = nil
		for _, ip := range ips {
			front.Status.LoadBalancer.Ingress = append(front.Status.LoadBalancer.Ingress, loadBalancer(ip))
		}
		if front, err = w.Admin.Client.CoreV1().Services("default").UpdateStatus(w.ctx, front, meta.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c := w.controller("--publish-service", "default/front", "--publish-address", "192.0.2.99")
	shop := ingress("shop", rule{host: "shop.test", path: "/", service: "shop"})
	w.put(shop)
	give("192.0.2.1")
	w.published("shop", "192.0.2.1")
	give("192.0.2.2", "192.0.2.3")
	w.published("shop", "192.0.2.2", "192.0.2.3")

	t.Log("another class: not ours any more")
	theirs := class("theirs")
	theirs.Spec.Controller = "example.com/other"
	w.put(theirs)
	shop.Spec.IngressClassName = &theirs.Name
	w.put(shop)
	c.comes("shop.test", "/", 404)
	w.published("shop")

	t.Log("ours again, by a daemon that may not write")
	c.Signal(syscall.SIGTERM)
	c.Exit()
	quiet := w.controller("--no-status-update", "--publish-address", "192.0.2.99")
	quiet.Log.Wait(t, "leading")
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "missing"}))
	w.warned("shop", "ServiceUnresolved", "missing") // it leads, and has seen it
	if i := w.get("shop"); len(addressesOf(i)) > 0 || slices.Contains(slices.Collect(maps.Keys(i.Annotations)), "ramjet.dev/observed-generation") {
		t.Errorf("status %q, annotations %v", addressesOf(i), i.Annotations)
	}
}

func loadBalancer(ip string) core.LoadBalancerIngress { return core.LoadBalancerIngress{IP: ip} }
