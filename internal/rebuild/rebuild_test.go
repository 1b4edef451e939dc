package rebuild_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/rebuild"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/translate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a real control with a rebuild in front of it, and a state that stands for a
// cluster.
type rig struct {
	changes chan struct{}
	control *control.Control
	live    generation.Live
	began   time.Time
	build   *rebuild.Rebuild

	mu    sync.Mutex
	state translate.Translation
	done  []string // each compile: when, which generation, new or not
	last  rebuild.Result
	trail []string // the audit trail
}

func (r *rig) Record(e audit.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := e.Message()
	if c, ok := e.(audit.Config); ok && c.Warning != "" {
		text += "; " + c.Warning
	}
	r.trail = append(r.trail, text)
}

// begin starts both loops, which end with the test.
func begin(t *testing.T) *rig {
	r := &rig{changes: make(chan struct{}, 1), began: time.Now()}
	r.control = control.New(control.Options{History: generation.NewHistory(5), Live: &r.live, Sinks: []audit.Sink{r}})
	r.build = rebuild.New(rebuild.Options{
		Changes: r.changes, Control: r.control,
		Translate: func() translate.Translation {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.state
		},
		Done: func(one rebuild.Result) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last = one
			r.done = append(r.done, fmt.Sprintf("%v: %d %v", time.Since(r.began), one.Generation, one.New))
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.control.Run(ctx) })
	running.Go(func() { r.build.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return r
}

// set changes the state to a table with one backend of that many endpoints.
func (r *rig) set(endpoints int, material ...certs.Material) {
	b := route.BackendSpec{Name: "b"}
	for i := range endpoints {
		b.Endpoints = append(b.Endpoints, route.EndpointSpec{Address: fmt.Sprintf("192.0.2.%d:80", i+1), Weight: 1})
	}
	spec := route.Spec{Backends: []route.BackendSpec{b}, Routes: []route.RouteSpec{{Path: "/", PathType: route.Prefix, Backend: "b"}}}
	for _, m := range material {
		spec.Certs = append(spec.Certs, route.CertSpec{Host: m.Name, ID: m.ID()})
	}
	r.become(translate.Translation{Spec: spec, Certs: material})
}

// become changes the state.
func (r *rig) become(t translate.Translation) {
	r.mu.Lock()
	r.state = t
	r.mu.Unlock()
	select {
	case r.changes <- struct{}{}:
	default:
	}
}

func (r *rig) expect(t *testing.T, want ...string) {
	t.Helper()
	settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.done, want) {
		t.Errorf("got  %v\nwant %v", r.done, want)
	}
	r.done = nil
}

// settle waits until what was set has been compiled, unless the gap holds it back.
func settle() {
	after(rebuild.Settle)
	synctest.Wait()
}

// after waits, of a clock that only moves while all wait.
func after(d time.Duration) { <-time.After(d) }

// TestHoldoff: the first change is compiled once it has settled, those of a burst at least
// 100 ms apart and from the newest state, and after a quiet period it is at once again.
func TestHoldoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t)
		r.set(1)
		r.expect(t, "2ms: 1 true")
		for n := 2; n <= 26; n++ { // a change each 10 ms, from 10 ms to 250 ms
			after(10 * time.Millisecond)
			r.set(n)
		}
		after(time.Second)
		r.expect(t, "102ms: 2 true", "202ms: 3 true", "302ms: 4 true")
		if n := len(r.live.Table().Backends()[0].Endpoints); n != 26 {
			t.Errorf("%d endpoints serve, want the newest state", n)
		}
		r.set(1)
		r.expect(t, "1.256s: 5 true")
	})
}

// TestEqual: a compile with an equal result is no generation, and takes no number.
func TestEqual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t)
		r.set(1)
		r.expect(t, "2ms: 1 true")
		after(time.Second)
		r.set(1)
		r.expect(t, "1.004s: 1 false")
		after(time.Second)
		r.set(2)
		r.expect(t, "2.006s: 2 true")
		if r.build.Compiles() != 3 {
			t.Errorf("%d compiles", r.build.Compiles())
		}
		if at, ok := r.build.Latest(); !ok || !at.Equal(time.Now()) {
			t.Errorf("%v %v", at, ok)
		}
		if want := []string{"1 route added (gen 0→1)", "1 backend changed (gen 1→2)"}; !slices.Equal(r.trail, want) {
			t.Errorf("%v", r.trail)
		}
	})
}

// TestUnserved: a change of endpoints to which no route leads is found to be none, and one
// of others is found.
func TestUnserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t)
		r.set(1)
		r.expect(t, "2ms: 1 true")
		after(time.Second)
		r.mu.Lock()
		r.state.Spec.Backends = slices.Clone(r.state.Spec.Backends) // as a Translator would
		r.mu.Unlock()
		r.changes <- struct{}{}
		r.expect(t, "1.004s: 1 false") // and what comes after it does not wait
		r.mu.Lock()
		r.state.Spec.Backends = slices.Clone(r.state.Spec.Backends)
		r.state.Spec.Backends[0].Endpoints = append(r.state.Spec.Backends[0].Endpoints, route.EndpointSpec{Address: "192.0.2.9:80", Weight: 1})
		r.mu.Unlock()
		r.changes <- struct{}{}
		r.expect(t, "1.006s: 2 true")
		if n := len(r.live.Table().Backends()[0].Endpoints); n != 2 {
			t.Errorf("%d endpoints serve", n)
		}
	})
}

// TestHostsAlone: a host that is claimed without a route is a change like any other, also where
// nothing else is served.
func TestHostsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t)
		r.changes <- struct{}{}
		r.expect(t, "2ms: 1 true")
		after(time.Second)
		r.mu.Lock()
		r.state.Spec.Hosts = []string{"a.test"}
		r.mu.Unlock()
		r.changes <- struct{}{}
		r.expect(t, "1.004s: 2 true")
		if got := r.live.Table().Hosts(); !slices.Equal(got, []string{"a.test"}) {
			t.Errorf("the hosts are %v", got)
		}
	})
}

// TestCarriesOver: counters belong to identities and survive each compile, held back by a
// pin or not; a certificate is parsed once.
func TestCarriesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t)
		cert, key := certtest.NewAuthority(t).Pair(t, "a.test")
		material := certs.Material{Namespace: "prod", Name: "a.test", Cert: cert, Key: key}
		r.set(1, material)
		settle()
		counters := r.live.Table().Match("x.test", "/").Counters
		if r.last.Parsed != 1 {
			t.Errorf("%d parsed", r.last.Parsed)
		}
		if _, err := r.control.Pin(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		for n := 2; n < 20; n++ { // more than the history keeps
			after(time.Second)
			r.set(n, material)
			settle()
			if r.last.Parsed != 0 || r.last.Generation != uint64(n) {
				t.Errorf("%d parsed for generation %d", r.last.Parsed, r.last.Generation)
			}
		}
		if got := r.control.State(); got.Serving != 1 || got.Kept[0].Number != 19 || got.Kept[0].Published {
			t.Errorf("serving %d, newest %d", got.Serving, got.Kept[0].Number)
		}
		if _, err := r.control.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		table := r.live.Table()
		if table.Match("x.test", "/").Counters != counters || len(table.Backends()[0].Endpoints) != 19 {
			t.Error("the counters are others, or the table is not the newest")
		}
	})
}

// TestLargeRemoval: a change that takes most routes away is published like any other, and
// the record says how to go back.
func TestLargeRemoval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t)
		r.set(1)
		settle()
		r.mu.Lock()
		r.state = translate.Translation{}
		r.mu.Unlock()
		r.changes <- struct{}{}
		after(time.Second)
		settle()
		if n := len(r.live.Table().Routes()); n != 0 {
			t.Errorf("%d routes serve", n)
		}
		want := `1 route removed (gen 1→2); 1 of 1 routes removed at once; to go back: POST /admin/rollback {"generation":1}`
		if len(r.trail) != 2 || r.trail[1] != want {
			t.Errorf("got  %s\nwant %s", strings.Join(r.trail, "\n"), want)
		}
	})
}
