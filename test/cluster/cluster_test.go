//go:build cluster

package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func begin(t *testing.T, o Options) *Cluster {
	t.Helper()
	dir, err := Binaries(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	o.Binaries = dir
	begun := time.Now()
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a control plane in %s", time.Since(begun).Round(time.Millisecond))
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if exists(c.dir) {
			t.Errorf("%s is left behind", c.dir)
		}
	})
	return c
}

// TestObjectsOutliveTheirServer: SIGKILL of the API server, then of etcd, loses
// nothing, and the kubeconfigs of before work again.
func TestObjectsOutliveTheirServer(t *testing.T) {
	c := begin(t, Options{})
	ctx := t.Context()
	out, err := c.Admin.Kubectl(ctx, "", "version")
	if err != nil || !strings.Contains(out, "Server Version: v1.37.2") {
		t.Errorf("%s, %v", out, err)
	}
	if _, err := c.Admin.Kubectl(ctx, "", "create", "configmap", "kept", "--from-literal=a=b"); err != nil {
		t.Fatal(err)
	}
	c.KillAPIServer()
	if _, err := net.Dial("tcp", c.Address()); err == nil {
		t.Error("a killed API server listens")
	}
	c.KillEtcd()
	if err := c.StartEtcd(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}
	kept, err := c.Admin.Client.CoreV1().ConfigMaps("default").Get(ctx, "kept", meta.GetOptions{})
	if err != nil || kept.Data["a"] != "b" {
		t.Errorf("%v, %v", kept, err)
	}
}

// TestServiceAccountHasItsRightsOnly, and no others than those it was given last.
func TestServiceAccountHasItsRightsOnly(t *testing.T) {
	c := begin(t, Options{})
	ctx := t.Context()
	read := func(resource string) rbac.PolicyRule {
		return rbac.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"list"}}
	}
	reads := func(a *Access) (services, secretsHere, secretsThere bool) {
		allowed := func(err error) bool {
			if err != nil && !errors.IsForbidden(err) {
				t.Fatal(err)
			}
			return err == nil
		}
		_, err := a.Client.CoreV1().Services("kube-system").List(ctx, meta.ListOptions{})
		services = allowed(err)
		_, err = a.Client.CoreV1().Secrets("default").List(ctx, meta.ListOptions{})
		secretsHere = allowed(err)
		_, err = a.Client.CoreV1().Secrets("kube-system").List(ctx, meta.ListOptions{})
		return services, secretsHere, allowed(err)
	}
	a, err := c.ServiceAccount(ctx, "default", "reader", []rbac.PolicyRule{read("services")}, []rbac.PolicyRule{read("secrets")})
	if err != nil {
		t.Fatal(err)
	}
	// The authorizer of the API server learns of a new binding by a watch.
	eventually(t, func() error {
		if services, here, there := reads(a); !services || !here || there {
			return fmt.Errorf("services %v, own Secrets %v, other Secrets %v", services, here, there)
		}
		return nil
	})
	if _, err := a.Kubectl(ctx, "", "get", "services", "--all-namespaces"); err != nil {
		t.Error(err)
	}
	if _, err := c.ServiceAccount(ctx, "default", "reader", nil, nil); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		if services, here, there := reads(a); services || here || there {
			return fmt.Errorf("services %v, own Secrets %v, other Secrets %v after its rights were taken", services, here, there)
		}
		return nil
	})
}

// TestControllers: with the right one running, Endpoints of a Service become
// EndpointSlices, as a person expects who plays with it.
func TestControllers(t *testing.T) {
	c := begin(t, Options{Controllers: []string{"endpointslice-controller", "serviceaccount-controller", "namespace-controller"}})
	ctx := t.Context()
	const manifest = `
apiVersion: v1
kind: Service
metadata: {name: app, namespace: default}
spec:
  selector: {app: app}
  ports: [{name: web, port: 80, targetPort: 8080}]
`
	if out, err := c.Admin.Kubectl(ctx, manifest, "apply", "-f", "-"); err != nil {
		t.Fatal(out, err)
	}
	eventually(t, func() error {
		list, err := c.Admin.Client.DiscoveryV1().EndpointSlices("default").List(ctx, meta.ListOptions{LabelSelector: "kubernetes.io/service-name=app"})
		if err == nil && len(list.Items) == 0 {
			err = fmt.Errorf("no EndpointSlice of the Service")
		}
		return err
	})
}

// TestViaProxy: the daemon's connection can be cut without the test's.
func TestViaProxy(t *testing.T) {
	c := begin(t, Options{})
	p, err := NewProxy(c.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	far, err := c.Via(p, c.Admin)
	if err != nil {
		t.Fatal(err)
	}
	w, err := far.Client.CoreV1().ConfigMaps("default").Watch(t.Context(), meta.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if _, err := c.Admin.Client.CoreV1().ConfigMaps("default").Create(t.Context(),
		&core.ConfigMap{ObjectMeta: meta.ObjectMeta{Name: "seen"}}, meta.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// kube-root-ca.crt is not there without its controller: the first is ours.
	if event := <-w.ResultChan(); event.Object.(*core.ConfigMap).Name != "seen" {
		t.Errorf("%v", event)
	}
	p.Cut()
	for range w.ResultChan() { //nolint:revive // until it is closed
	}
	if _, err := far.Client.CoreV1().Namespaces().List(t.Context(), meta.ListOptions{}); err == nil {
		t.Error("an answer through a proxy that is cut")
	}
	if _, err := c.Admin.Client.CoreV1().Namespaces().List(t.Context(), meta.ListOptions{}); err != nil {
		t.Errorf("beside the proxy: %v", err)
	}
}

// TestNetwork: backends listen on as many addresses as a test wants, of both
// families, and are reached from here.
func TestNetwork(t *testing.T) {
	n, err := NewNetwork()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() }) // also after a fault on the way
	six, err := n.Address6()
	if err != nil {
		t.Fatal(err)
	}
	addresses := []netip.Addr{n.Address(), n.Address(), six, n.Address()}
	if len(slices.Compact(slices.Clone(addresses))) != len(addresses) {
		t.Errorf("%v", addresses)
	}
	for range 600 { // more than there are: those of before come again, and none that is not for backends
		if last := n.Address().As4()[3]; last < 10 || last == 255 {
			t.Fatalf("an address that ends in %d", last)
		}
	}
	for _, a := range addresses {
		at := netip.AddrPortFrom(a, 8080)
		l, err := n.Listen(at)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, a) })}
		go func() { _ = s.Serve(l) }()
		r, err := http.Get("http://" + at.String())
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || string(body) != a.String() {
			t.Errorf("%s answers %q, %v", a, body, err)
		}
		s.Close()
	}
	if l, err := net.Listen("tcp", netip.AddrPortFrom(addresses[0], 8080).String()); err == nil {
		l.Close()
		t.Error("this side can listen on an address of the other")
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if exists(namespacePath(n.name)) {
		t.Error("the namespace is left behind")
	}
	if _, err := net.InterfaceByName(n.near()); err == nil {
		t.Error("the interface is left behind")
	}
}

// eventually asks again until the answer is nil.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}
