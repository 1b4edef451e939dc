package rebuild_test

import (
	"testing"
	"testing/synctest"
	"time"

	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/translate"
)

// lacks is a translation with a route for each path, whose backend has no endpoints, and
// one that is served; and with a warning about each Secret that is missing.
func lacks(served string, paths []string, secrets ...string) (t translate.Translation) {
	t.Spec.Backends = []route.BackendSpec{{Name: "up", Endpoints: []route.EndpointSpec{{Address: "192.0.2.1:80", Weight: 1}}}, {Name: "none"}}
	t.Spec.Routes = []route.RouteSpec{{Host: served, Path: "/", PathType: route.Prefix, Backend: "up"}}
	for _, p := range paths {
		t.Spec.Routes = append(t.Spec.Routes, route.RouteSpec{Path: p, PathType: route.Prefix, Backend: "none"})
	}
	for _, s := range secrets {
		t.Warnings = append(t.Warnings, translate.Warning{Reason: translate.ReasonSecretUnusable, Message: s})
	}
	return t
}

// TestHalf: what an Ingress needs that has just come in is not held up by it. Each case is
// a cluster at rest, what comes in, and whether what comes 5 ms after that is compiled then
// or with the rest of a burst, 100 ms later.
func TestHalf(t *testing.T) {
	for _, c := range []struct {
		intent       string
		before, then translate.Translation
		soon         bool
	}{
		{"an Ingress with all it needs", lacks("a", nil), lacks("b", nil), false},
		{"an Ingress without its Service or endpoints", lacks("a", nil), lacks("a", []string{"/x"}), true},
		{"another beside one that has waited for long", lacks("a", []string{"/x"}), lacks("b", []string{"/x", "/y"}), true},
		{"something whole beside one that has waited for long", lacks("a", []string{"/x"}), lacks("b", []string{"/x"}), false},
		{"an Ingress without its Secret", lacks("a", nil), lacks("b", nil, "s"), true},
		{"another without its Secret", lacks("a", nil, "s"), lacks("b", nil, "s", "z"), true},
		{"something whole while a Secret is missing", lacks("a", nil, "s"), lacks("b", nil, "s"), false},
	} {
		t.Run(c.intent, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := begin(t)
				r.become(lacks("", nil))
				settle()
				after(2 * time.Second)
				r.become(c.before)
				settle()
				after(2 * time.Second)
				r.done = nil
				r.become(c.then)
				after(5 * time.Millisecond)
				r.become(lacks("last", []string{"/x"}))
				if c.soon {
					after(5 * time.Millisecond)
					r.expect(t, "4.006s: 3 true", "4.011s: 4 true")
					return
				}
				after(time.Second)
				r.expect(t, "4.006s: 3 true", "4.106s: 4 true")
			})
		})
	}
}

// TestScaledToZero: a route that loses its endpoints is whole, or a Service that goes up and
// down would be compiled more often than any other.
func TestScaledToZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t)
		r.set(1)
		r.expect(t, "2ms: 1 true")
		after(time.Second)
		r.set(0)
		after(5 * time.Millisecond)
		r.set(1)
		after(time.Second)
		r.expect(t, "1.004s: 2 true", "1.104s: 3 true")
	})
}
