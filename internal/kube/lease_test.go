package kube

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestLeaseName: replicas of one deployment share a Lease, and two deployments never do.
func TestLeaseName(t *testing.T) {
	pod := types.NamespacedName{Namespace: "ramjet-ingress", Name: "pod-1"}
	seen := map[string]bool{}
	for _, o := range []Options{
		{Class: "ramjet"}, {Class: "edge"}, {Class: "edge.ns"}, {Class: "ramjet", Namespace: "shop"}, {Class: "edge", Namespace: "shop"},
		{Class: "edge", Namespace: "shop-2"}, {Class: "edge-ns", Namespace: "shop"},
	} {
		o.Pod = pod
		name := leaseName(o)
		if name.Namespace != pod.Namespace || len(validation.IsDNS1123Subdomain(name.Name)) > 0 || seen[name.Name] {
			t.Errorf("class %q, namespace %q: %s", o.Class, o.Namespace, name)
		}
		seen[name.Name] = true
	}
	if got := leaseName(Options{Class: "ramjet", Pod: pod}).Name; got != "ramjet-ingress" {
		t.Error(got)
	}
}
