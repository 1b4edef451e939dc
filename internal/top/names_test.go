package top_test

import (
	"testing"

	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top"
)

// renamed is a daemon of the script that is seen under another name.
type renamed struct {
	top.Source
	name string
}

func (r renamed) Target() adminclient.Target { return adminclient.Target{Name: r.name} }

// Pods behind one proxy are told apart, wherever they are named: in the tables, in the
// banners, and in the question, whose sentence is whole.
func TestReplicasBehindProxy(t *testing.T) {
	const proxy = "http://127.0.0.1:8001/api/v1/namespaces/ramjet/pods/ramjet-ingress-6d5f7c9b8-"
	for _, size := range []struct {
		name          string
		width, height int
		question      string
	}{
		{"80x24", 80, 24, "Pin generation 41 on …pw2xn:10254, applied 3h ago?"},
		{"40x20", 40, 20, "Pin 41 on …pw2xn:…?"},
	} {
		t.Run(size.name, func(t *testing.T) {
			clock := newClock()
			daemons := []*scripted{serve(t, clock), serve(t, clock), serve(t, clock)}
			for _, d := range daemons {
				shop(d)
			}
			daemons[2].broken = hangUp
			r := watch(t, size.width, size.height, clock, func(o *top.Options) {
				for i, pod := range []string{"k7qzd", "pw2xn", "x9c4v"} {
					o.Sources[i] = renamed{o.Sources[i], proxy + pod + ":10254/proxy"}
				}
			}, daemons...)
			r.Wait("2 of 3 replicas", "STALE")
			r.Type("\tjjj")
			r.Wait("▸ …pw2xn:")
			r.Type("p")
			r.golden("proxied-"+size.name, size.question, "y = yes", "…k7qzd:", "STALE")
		})
	}
}

// The name of the only daemon keeps its ends: the pod behind a proxy is in the last one.
func TestLongNameOfOne(t *testing.T) {
	clock := newClock()
	s := serve(t, clock)
	shop(s)
	r := watch(t, 80, 24, clock, func(o *top.Options) {
		o.Sources[0] = renamed{o.Sources[0], "http://127.0.0.1:8001/api/v1/namespaces/ramjet/pods/a:10254/proxy"}
	}, s)
	r.Wait("http://127.0.0.1:8001/…jet/pods/a:10254/proxy", "3h12m")
}
