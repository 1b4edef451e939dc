//go:build cluster

package kube_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube"
	"ramjet.dev/ingress/test/cluster"
)

// through is a user behind a proxy that can break the connection.
func (p *place) through(as *cluster.Access) (*cluster.Access, *cluster.Proxy) {
	p.t.Helper()
	proxy, err := cluster.NewProxy(p.plane.Address())
	p.must(err)
	p.t.Cleanup(proxy.Close)
	via, err := p.plane.Via(proxy, as)
	p.must(err)
	return via, proxy
}

// TestServerDownAtStart: it waits, says so once, and serves everything at once as soon as
// there is an API server.
func TestServerDownAtStart(t *testing.T) {
	p := newPlace(t)
	for i := range 20 {
		p.create(fmt.Sprint("i", i), fmt.Sprintf("i%d.test", i))
	}
	via, proxy := p.through(plane.Admin)
	proxy.Cut()
	r := p.run("pod-1", via, nil)
	eventually(t, "it is said", func() bool { return r.log.count("not ready, since the API server does not answer") == 1 })
	if r.routes() != -1 {
		t.Errorf("%d routes serve, of nothing", r.routes())
	}
	p.must(proxy.Open())
	eventually(t, "something serves", func() bool { return r.routes() >= 0 })
	if s := r.control.State(); r.routes() != 20 || s.Serving != 1 {
		t.Errorf("the first generation is %d, with %d routes", s.Serving, r.routes())
	}
	eventually(t, "it is said to be over", func() bool { return r.log.count("the API server answers again") == 1 })
	if n := r.log.count("does not answer"); n != 1 {
		t.Errorf("said %d times in less than a minute", n)
	}
}

// TestOutage: while the API server cannot be reached the table stays; what changed
// meanwhile is served after it, deletions too.
func TestOutage(t *testing.T) {
	p := newPlace(t)
	p.create("stays", "stays.test")
	p.create("goes", "goes.test")
	via, proxy := p.through(plane.Admin)
	r := p.run("pod-1", via, nil)
	r.serves(2)
	proxy.Cut()
	eventually(t, "it is said", func() bool {
		return r.log.count("the API server does not answer: still trying; what was read before stays in effect") == 1
	})
	p.must(p.NetworkingV1().Ingresses(p.name).Delete(t.Context(), "goes", metav1.DeleteOptions{}))
	p.create("new", "new.test")
	p.create("newer", "newer.test")
	if r.routes() != 2 || r.control.State().Serving != 1 {
		t.Errorf("%d routes of generation %d while nothing could be read", r.routes(), r.control.State().Serving)
	}
	p.must(proxy.Open())
	r.serves(3)
	p.create("newest", "newest.test") // and it goes on from there
	r.serves(4)
}

// TestReset: connections that are reset all the time lose nothing.
func TestReset(t *testing.T) {
	p := newPlace(t)
	via, proxy := p.through(plane.Admin)
	r := p.run("pod-1", via, nil)
	r.serves(0)
	for i := range 10 {
		p.create(fmt.Sprint("i", i), fmt.Sprintf("i%d.test", i))
		proxy.Reset()
	}
	r.serves(10)
}

// TestServerRestarts: the process of the API server is killed and comes back.
func TestServerRestarts(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	r := p.run("pod-1", plane.Admin, nil)
	r.serves(1)
	plane.KillAPIServer()
	p.must(plane.StartAPIServer(t.Context()))
	p.create("b", "b.test")
	r.serves(2)
}

// TestServerThatForgot: the API server comes back without its data, so that its versions
// are older than what was read before. It is believed; the record of the change says how
// to go back.
func TestServerThatForgot(t *testing.T) {
	own, err := startPlane(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	p := newPlaceIn(t, own)
	for i := range 300 { // versions that an empty server takes a while to reach
		p.create(fmt.Sprint("i", i), fmt.Sprintf("i%d.test", i))
	}
	r := p.run("pod-1", own.Admin, nil)
	r.serves(300)
	own.KillAPIServer()
	own.KillEtcd()
	p.must(own.ForgetEtcd())
	if r.routes() != 300 {
		t.Errorf("%d routes serve while there is no API server", r.routes())
	}
	p.must(own.StartEtcd(t.Context()))
	p.must(own.StartAPIServer(t.Context()))
	again := newPlaceIn(t, own)
	again.create("new", "new.test")
	r.serves(1)
	if r.log.count("of 300 routes removed at once; to go back: POST /admin/rollback") != 1 {
		t.Error("the log does not say how to go back")
	}
}

// TestSecretsForbidden: plain HTTP is served without Secrets, the log says why there is
// no TLS, and when they are allowed they are read without a restart.
func TestSecretsForbidden(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	r := p.run("pod-1", p.account("secrets"), nil)
	r.serves(1)
	eventually(t, "it is said", func() bool { return r.log.count("no TLS from Secrets") == 1 })
	p.must(func() error {
		_, err := plane.Admin.Kubectl(t.Context(), "", "-n", p.name, "create", "secret", "generic", "tls", "--type=kubernetes.io/tls",
			"--from-literal=tls.crt=x", "--from-literal=tls.key=y")
		return err
	}())
	p.account() // the same user, with all rights
	eventually(t, "the Secret is there", func() bool { return len(r.cluster.Snapshot().Secrets) == 1 })
	eventually(t, "it is said", func() bool { return r.log.count("allows again to read secrets") == 1 })
}

// TestIngressesForbidden: without what is needed it is not ready, says why, and is when
// it is allowed.
func TestIngressesForbidden(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	r := p.run("pod-1", p.account("ingresses", "endpointslices"), nil)
	for _, kind := range []string{"ingresses", "endpointslices"} {
		eventually(t, "it is said", func() bool {
			return r.log.count("not ready: the API server does not let us read "+kind) >= 1
		})
	}
	if r.routes() != -1 {
		t.Errorf("%d routes serve", r.routes())
	}
	p.account()
	r.serves(1)
}

// TestRightsComeLate: a Pod that starts before its rights is ready with its Secrets, whichever
// kind asks first when they have come.
func TestRightsComeLate(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	kinds := []string{"ingresses", "ingressclasses", "services", "endpointslices", "secrets"}
	r := p.run("pod-1", p.account(kinds...), nil)
	for _, kind := range kinds[:4] {
		eventually(t, "it is said", func() bool {
			return r.log.count("not ready: the API server does not let us read "+kind) >= 1
		})
	}
	p.account()
	r.serves(1)
	for _, c := range r.cluster.Conditions() {
		if !c.Synced {
			t.Errorf("it serves, and has not read %s", c.Resource)
		}
	}
}

// TestLeaseIsGivenBack: when the replica ends that leads, another does at once.
func TestLeaseIsGivenBack(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	first := p.run("pod-1", p.account(), nil)
	first.leads()
	second := p.run("pod-2", p.account(), func(o *kube.Options) { o.PublishAddress = "192.0.2.2" })
	eventually(t, "the second follows", func() bool { return second.log.count("following: another replica") == 1 })
	p.shows("a", "192.0.2.1", "1")
	began := time.Now()
	first.stop()
	second.leads()
	if took := time.Since(began); took > 10*time.Second { // the Lease would be honoured for 15 s
		t.Errorf("it took %v", took)
	}
	p.shows("a", "192.0.2.2", "1")
	lease, err := p.CoordinationV1().Leases(p.name).Get(t.Context(), "ramjet-ingress-"+p.name+".ns-"+p.name, metav1.GetOptions{})
	p.must(err)
	if h := lease.Spec.HolderIdentity; h == nil || (*h)[:6] != "pod-2_" {
		t.Errorf("the holder is %v", h)
	}
}

// TestPartition: a leader that loses touch stops before another begins, serves on, takes
// nothing back that it wrote, and follows when it is back.
func TestPartition(t *testing.T) {
	p := newPlace(t)
	p.create("a", "a.test")
	via, proxy := p.through(p.account())
	first := p.run("pod-1", via, nil)
	first.leads()
	second := p.run("pod-2", p.account(), func(o *kube.Options) { o.PublishAddress = "192.0.2.2" })
	p.shows("a", "192.0.2.1", "1")
	proxy.Freeze()
	eventually(t, "the first stops leading", func() bool {
		if second.cluster.Leading() && first.cluster.Leading() {
			t.Fatal("both lead")
		}
		return !first.cluster.Leading()
	})
	if first.routes() != 1 {
		t.Errorf("%d routes serve", first.routes())
	}
	if got := addresses(p.get("a")); got != "192.0.2.1" {
		t.Errorf("the status is %q after the leader lost touch", got)
	}
	second.leads()
	p.shows("a", "192.0.2.2", "1")
	proxy.Thaw()
	eventually(t, "the first follows", func() bool { return first.log.count("following: another replica") >= 1 })
	_, err := p.NetworkingV1().Ingresses(p.name).Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"rules":[{"host":"b.test"}]}}`), metav1.PatchOptions{})
	p.must(err)
	p.shows("a", "192.0.2.2", "2")
	eventually(t, "the first serves it too", func() bool { return first.control.State().Serving == 2 })
}
