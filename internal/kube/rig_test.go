//go:build cluster

package kube_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/kube"
	"ramjet.dev/ingress/internal/kube/connect"
	"ramjet.dev/ingress/internal/rebuild"
	"ramjet.dev/ingress/internal/translate"
	"ramjet.dev/ingress/test/cluster"
)

// patience is how long a test waits for what must happen, on a machine that is busy.
const patience = 90 * time.Second

// place is a namespace with an IngressClass of the same name, and admin rights.
type place struct {
	t     *testing.T
	plane *cluster.Cluster
	name  string
	kubernetes.Interface
}

func newPlace(t *testing.T) *place { return newPlaceIn(t, plane) }

func newPlaceIn(t *testing.T, plane *cluster.Cluster) *place {
	t.Helper()
	p := &place{t: t, plane: plane, Interface: plane.Admin.Client, name: strings.ToLower(t.Name())}
	_, err := p.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.name}}, metav1.CreateOptions{})
	p.must(err)
	p.class(p.name, translate.ControllerName)
	return p
}

func (p *place) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) class(name, controller string) {
	p.t.Helper()
	_, err := p.NetworkingV1().IngressClasses().Create(p.t.Context(), &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller},
	}, metav1.CreateOptions{})
	p.must(err)
}

// create makes an Ingress with one host and a Service that does not exist.
func (p *place) create(name, host string) {
	p.t.Helper()
	prefix := networkingv1.PathTypePrefix
	_, err := p.NetworkingV1().Ingresses(p.name).Create(p.t.Context(), &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: networkingv1.IngressSpec{IngressClassName: &p.name, Rules: []networkingv1.IngressRule{{
			Host: host, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
					Service: &networkingv1.IngressServiceBackend{Name: "absent", Port: networkingv1.ServiceBackendPort{Number: 80}},
				}}},
			}},
		}}},
	}, metav1.CreateOptions{})
	p.must(err)
}

// patch changes an Ingress as a user would.
func (p *place) patch(name, format string, args ...any) {
	p.t.Helper()
	_, err := p.NetworkingV1().Ingresses(p.name).Patch(p.t.Context(), name, types.MergePatchType, fmt.Appendf(nil, format, args...), metav1.PatchOptions{})
	p.must(err)
}

func (p *place) get(name string) *networkingv1.Ingress {
	p.t.Helper()
	i, err := p.NetworkingV1().Ingresses(p.name).Get(p.t.Context(), name, metav1.GetOptions{})
	p.must(err)
	return i
}

// eventually waits for something that must become so; what it looks at changes without an
// event that a test could wait for.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	over := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-over:
			t.Fatalf("never: %s", what)
		}
	}
}

// written is a log that can be read while it is written.
type written struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *written) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *written) count(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.b.String(), text)
}

// replica is one daemon without its data plane: everything from the cluster to what is
// live and back.
type replica struct {
	t       *testing.T
	log     written
	live    generation.Live
	control *control.Control
	build   *rebuild.Rebuild
	cluster *kube.Cluster
	client  *connect.Client
	stopped sync.Once
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// run starts a replica of the place's deployment. change may change its options.
func (p *place) run(name string, as *cluster.Access, change func(*kube.Options)) *replica {
	p.t.Helper()
	r := &replica{t: p.t}
	logger := slog.New(slog.NewTextHandler(&r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	r.client, err = connect.New(as.Config, "test", logger)
	p.must(err)
	o := kube.Options{
		Client: r.client, Server: r.client.Host, Class: p.name, Namespace: p.name, PublishAddress: "192.0.2.1",
		Pod: types.NamespacedName{Namespace: p.name, Name: name}, Log: logger,
		Serving: func() (uint64, bool) { s := r.control.State(); return s.Serving, s.Ready() },
	}
	if change != nil {
		change(&o)
	}
	r.cluster = kube.New(o)
	r.control = control.New(control.Options{
		History: generation.NewHistory(10), Live: &r.live, Sinks: []audit.Sink{audit.LogSink(logger), r.cluster},
	})
	r.build = rebuild.New(rebuild.Options{
		Changes: r.cluster.Changes(), Control: r.control,
		Translate: func() translate.Translation {
			return translate.Translate(r.cluster.Snapshot(), translate.Options{Class: o.Class})
		},
		Done: func(one rebuild.Result) {
			r.cluster.Handle(kube.Outcome{Ours: one.Translation.Ours, Warnings: one.Warnings, Generation: one.Generation})
		},
	})
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.running.Go(func() { _ = r.control.Run(ctx) })
	r.running.Go(func() { r.build.Run(ctx) })
	r.running.Go(func() { r.cluster.Run(ctx) })
	p.t.Cleanup(r.stop)
	return r
}

// stop ends a replica and waits for it.
func (r *replica) stop() {
	r.stopped.Do(func() {
		r.cancel()
		r.running.Wait()
		r.client.Close()
		if r.t.Failed() {
			r.log.mu.Lock()
			r.t.Logf("%s", r.log.b.String())
			r.log.mu.Unlock()
		}
	})
}

// routes is how many routes serve, -1 before the first generation.
func (r *replica) routes() int {
	if t := r.live.Table(); t != nil {
		return len(t.Routes())
	}
	return -1
}

func (r *replica) serves(n int) {
	r.t.Helper()
	eventually(r.t, fmt.Sprintf("%d routes serve", n), func() bool { return r.routes() == n })
}

func (r *replica) leads() {
	r.t.Helper()
	eventually(r.t, "it leads", r.cluster.Leading)
}

// rights are those of deploy/rbac.yaml, without some resources.
func (p *place) rights(without ...string) (across, inside []rbacv1.PolicyRule) {
	across = []rbacv1.PolicyRule{}
	for _, r := range []struct{ group, resource, verbs string }{
		{"networking.k8s.io", "ingresses", "get list watch patch"},
		{"networking.k8s.io", "ingressclasses", "get list watch"},
		{"", "services", "get list watch"},
		{"discovery.k8s.io", "endpointslices", "get list watch"},
		{"", "secrets", "get list watch"},
		{"networking.k8s.io", "ingresses/status", "patch"},
		{"events.k8s.io", "events", "create patch"},
	} {
		if !strings.Contains(strings.Join(without, " ")+" ", r.resource+" ") {
			across = append(across, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: strings.Fields(r.verbs)})
		}
	}
	return across, []rbacv1.PolicyRule{{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}}}
}

// account is a user with these rights.
func (p *place) account(without ...string) *cluster.Access {
	p.t.Helper()
	across, inside := p.rights(without...)
	as, err := p.plane.ServiceAccount(p.t.Context(), p.name, "ramjet", across, inside)
	p.must(err)
	return as
}
