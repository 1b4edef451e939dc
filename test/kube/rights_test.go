//go:build cluster

package kube

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbac "k8s.io/api/rbac/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/test/cluster"
	"ramjet.dev/ingress/test/daemon"
)

func may(verbs, group, resources string) rbac.PolicyRule {
	return rbac.PolicyRule{Verbs: strings.Fields(verbs), APIGroups: []string{group}, Resources: strings.Fields(resources)}
}

// The rights that the documents ask for, and none besides: across the cluster, and
// in the namespace of the daemon.
var (
	acrossRights = []rbac.PolicyRule{
		may("get list watch", "networking.k8s.io", "ingresses ingressclasses"),
		may("get list watch", "", "services secrets"),
		may("get list watch", "discovery.k8s.io", "endpointslices"),
		may("patch", "networking.k8s.io", "ingresses ingresses/status"),
		may("create patch", "events.k8s.io", "events"),
	}
	ownRights = []rbac.PolicyRule{
		may("get create update", "coordination.k8s.io", "leases"),
	}
)

// without is acrossRights without a resource.
func without(resource string) (rest []rbac.PolicyRule) {
	for _, r := range acrossRights {
		r.Resources = slices.DeleteFunc(slices.Clone(r.Resources), func(name string) bool { return name == resource })
		if len(r.Resources) > 0 {
			rest = append(rest, r)
		}
	}
	return rest
}

// account makes the ServiceAccount of a daemon.
func (w *world) account(name string, across []rbac.PolicyRule) *cluster.Access {
	w.t.Helper()
	a, err := w.ServiceAccount(w.ctx, "default", name, across, ownRights)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// refusals are the lines of the log about something that was forbidden.
func refusals(c *controller) (lines []string) {
	for line := range strings.Lines(c.Log.String()) {
		if has(strings.ToLower(line), "forbidden") || has(strings.ToLower(line), "not allowed") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// manifest is what an administrator applies to give the daemon its rights.
const manifest = "../../deploy/rbac.yaml"

// TestManifestGivesTheRights: what is applied is what the documents ask for, to the
// verb.
func TestManifestGivesTheRights(t *testing.T) {
	w := shared(t)
	w.namespace("ramjet-ingress")
	w.kubectl("", "apply", "-f", manifest)
	across, err := w.Admin.Client.RbacV1().ClusterRoles().Get(w.ctx, "ramjet-ingress", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := w.Admin.Client.RbacV1().Roles("ramjet-ingress").Get(w.ctx, "ramjet-ingress", meta.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := each(across.Rules), each(acrossRights); !slices.Equal(got, want) {
		t.Errorf("across the cluster:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got, want := each(inside.Rules), each(ownRights); !slices.Equal(got, want) {
		t.Errorf("in its namespace:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// each is what rules allow, one verb and resource a line.
func each(rules []rbac.PolicyRule) (all []string) {
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					all = append(all, verb+" "+group+"/"+resource)
				}
			}
		}
		if len(r.ResourceNames)+len(r.NonResourceURLs) > 0 {
			all = append(all, r.String())
		}
	}
	slices.Sort(all)
	return all
}

// TestRights: with the rights of the manifest and no others, everything works:
// traffic, certificates, status, observed generation, Events, the Lease.
func TestRights(t *testing.T) {
	w := shared(t)
	shop := w.secured("shop.test")
	w.namespace("ramjet-ingress")
	w.kubectl("", "apply", "-f", manifest)
	account, err := w.Token(w.ctx, "ramjet-ingress", "ramjet-ingress")
	if err != nil {
		t.Fatal(err)
	}
	c := w.launchAs(account, daemon.Setup{Env: []string{"POD_NAMESPACE=ramjet-ingress"}}, "--publish-address", "192.0.2.10", "--log-level", "debug")
	c.ready()
	c.comes("shop.test", "/", "shop")
	c.shows("shop.test", parse(t, shop))
	c.Log.Wait(t, "leading")
	w.published("shop", "192.0.2.10")
	w.put(ingress("broken", rule{host: "broken.test", path: "/", service: "missing"}))
	w.warned("broken", "ServiceUnresolved", "missing")
	c.rollback(c.generations().Serving)
	c.release()
	for _, reason := range []string{"ConfigApplied", "ConfigPinned", "ConfigResumed"} {
		w.eventually("an Event on the IngressClass", func() error { return w.told(reason) })
	}
	w.eventually("the observed generation", func() error {
		if w.get("shop").Annotations["ramjet.dev/observed-generation"] == "" {
			return fmt.Errorf("none")
		}
		return nil
	})
	if lines := refusals(c); len(lines) > 0 {
		t.Errorf("something was refused:\n%s", strings.Join(lines, "\n"))
	}
}

// told reports whether the IngressClass has an Event with a reason.
func (w *world) told(reason string) error {
	all := w.about("IngressClass", "ramjet")
	for _, e := range all {
		if e.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("no %s, only: %s", reason, lines(all))
}

// secured makes a backend, a certificate and an Ingress shop for a host, and
// returns the certificate.
func (w *world) secured(host string) (cert []byte) {
	w.t.Helper()
	w.simple("shop")
	cert, key := certtest.NewAuthority(w.t).Pair(w.t, host)
	w.put(tlsSecret("shop-tls", cert, key), withTLS(ingress("shop", rule{host: host, path: "/", service: "shop"}), "shop-tls", host))
	return cert
}

// TestWithoutRightToEvents: one line, at debug, and everything else works.
func TestWithoutRightToEvents(t *testing.T) {
	w := shared(t)
	shop := w.secured("shop.test")
	c := w.launch(w.account("no-events", without("events")), "--publish-address", "192.0.2.10", "--log-level", "debug")
	c.ready()
	c.shows("shop.test", parse(t, shop))
	w.published("shop", "192.0.2.10")
	for n := range 3 {
		w.put(ingress("shop", rule{host: "shop.test", path: fmt.Sprint("/", n), service: fmt.Sprint("missing-", n)}))
		c.comes("shop.test", fmt.Sprint("/", n), 503)
		c.Log.Wait(t, fmt.Sprint("missing-", n)) // the log has what the Events would have
	}
	c.rollback(c.generations().Serving)
	c.release()
	lines := refusals(c)
	if len(lines) != 1 || !has(lines[0], "DEBUG", "Events") {
		t.Errorf("%d lines about what is forbidden, want one at debug:\n%s", len(lines), strings.Join(lines, "\n"))
	}
}

// TestWithoutRightToSecrets: plain HTTP is served, the log says why TLS is not, and
// the right is honoured as soon as it is given.
func TestWithoutRightToSecrets(t *testing.T) {
	w := shared(t)
	shop := w.secured("shop.test")
	c := w.launch(w.account("no-secrets", without("secrets")))
	c.ready()
	c.comes("shop.test", "/", "shop")
	c.shows("shop.test", nil)
	var line struct{ Level, Msg, Error string }
	if err := json.Unmarshal([]byte(c.Log.Wait(t, "no TLS from Secrets")), &line); err != nil {
		t.Fatal(err)
	}
	if line.Level != "WARN" || !has(line.Msg, "get, list and watch on secrets") {
		t.Errorf("%+v", line)
	}
	w.warned("shop", "SecretUnusable", "cannot read Secrets")
	w.put(ingress("shop", rule{host: "shop.test", path: "/new", service: "shop"}))
	c.comes("shop.test", "/", 404)
	c.is("shop.test", "/new", "shop")

	t.Log("the right is given")
	w.account("no-secrets", acrossRights)
	w.put(withTLS(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}), "shop-tls", "shop.test"))
	c.shows("shop.test", parse(t, shop))
}

// TestWithoutRightToLeases: nothing is written, and serving does not depend on it.
func TestWithoutRightToLeases(t *testing.T) {
	w := shared(t)
	w.simple("shop")
	a, err := w.ServiceAccount(w.ctx, "default", "no-leases", acrossRights, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.put(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}))
	c := w.launchAs(a, daemon.Setup{}, "--publish-address", "192.0.2.10")
	c.ready()
	c.comes("shop.test", "/", "shop")
	c.Log.Wait(t, "cannot hold the Lease")
	if i := w.get("shop"); len(addressesOf(i)) > 0 {
		t.Errorf("status %q without a Lease", addressesOf(i))
	}
}

// TestWatchNamespace: with --watch-namespace rights in that namespace are enough for
// what is in there, and nothing of other namespaces is served.
func TestWatchNamespace(t *testing.T) {
	w := shared(t)
	w.namespace("inside")
	w.simple("inside/shop")
	w.simple("outside")
	w.put(
		ingress("inside/shop", rule{host: "inside.test", path: "/", service: "shop"}),
		ingress("outside", rule{host: "outside.test", path: "/", service: "outside"}))
	// IngressClasses belong to no namespace.
	a, err := w.ServiceAccount(w.ctx, "inside", "narrow", []rbac.PolicyRule{
		may("get list watch", "networking.k8s.io", "ingressclasses"),
	}, append(slices.Clone(acrossRights), ownRights...))
	if err != nil {
		t.Fatal(err)
	}
	c := w.launchAs(a, daemon.Setup{Env: []string{"POD_NAMESPACE=inside"}}, "--watch-namespace", "inside")
	c.ready()
	c.comes("inside.test", "/", "inside/shop")
	c.is("outside.test", "/", 404)
	c.Log.Wait(t, "leading")
}
