package top_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/top"
)

// real is the control loop and the admin port of a daemon with three generations,
// numbered 1 to 3.
type real struct {
	*control.Control
	handler http.Handler
	url     string
	host    string // of its routes, with a number behind it
}

const realToken = "open sesame"

func startReal(t *testing.T) *real { return startRealOf(t, "g") }

// startRealOf is startReal with routes of other hosts.
func startRealOf(t *testing.T, host string) *real {
	t.Helper()
	c := control.New(control.Options{History: generation.NewHistory(10), Live: &generation.Live{}, Now: func() time.Time { return epoch.Add(-time.Hour) }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	handler := admin.NewHandler(admin.Options{Controller: c, Metrics: &engine.Metrics{}, Token: realToken, Version: "test"})
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the control loop ended with: %v", err)
		}
	})
	r := &real{Control: c, handler: handler, url: server.URL, host: host}
	for n := uint64(1); n <= 3; n++ {
		r.apply(t, n)
	}
	return r
}

// apply records a generation with as many routes as its number says.
func (r *real) apply(t *testing.T, number uint64) {
	t.Helper()
	spec := route.Spec{Backends: []route.BackendSpec{{Name: "web", Endpoints: []route.EndpointSpec{{Address: "127.0.0.1:9001", Weight: 1}}}}}
	for i := range number {
		spec.Routes = append(spec.Routes, route.RouteSpec{Host: fmt.Sprintf("%s%d.test", r.host, i+1), Path: "/", PathType: route.Prefix, Backend: "web", Owner: "test"})
	}
	table, diagnostics := route.Compile(spec)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	r.Offer(generation.Compiled{Number: number, Table: table})
	if _, err := r.WaitHandled(context.Background(), number); err != nil {
		t.Fatal(err)
	}
}

// watchReal shows a daemon, with a token.
func watchReal(t *testing.T, d *real, token string, adjust func(*top.Options)) *rig {
	t.Helper()
	c := newClock()
	client := adminclient.New(adminclient.Options{Target: adminclient.Target{Name: "daemon:10254", URL: d.url}, Token: token, Timeout: time.Minute, Now: c.elapsed})
	t.Cleanup(client.Close)
	o := top.Options{Sources: []top.Source{client}, Interval: time.Second, Clock: c, Location: time.UTC}
	if token != "" {
		o.TokenFile = "token"
	}
	if adjust != nil {
		adjust(&o)
	}
	r := show(t, 80, 24, o)
	r.Wait("g3.test")
	r.Type("\t")
	r.Wait("SUMMARY", "1 route added, 1 host added (gen 2→3)")
	return r
}

// state is what the daemon serves and pins.
func (r *real) state(t *testing.T, serving uint64, pinned ...uint64) {
	t.Helper()
	s := r.State()
	var held []uint64
	if s.Pinned != nil {
		held = []uint64{*s.Pinned}
	}
	if s.Serving != serving || !slices.Equal(held, pinned) {
		t.Errorf("serving %d, pinned %v; want %d and %v", s.Serving, held, serving, pinned)
	}
}

// The emergency brake from the keyboard: pin the oldest, see what is held back
// meanwhile, release.
func TestPinAndRelease(t *testing.T) {
	d := startReal(t)
	r := watchReal(t, d, realToken, nil)
	r.Type("jj")
	r.Wait("▸      1")
	r.Type("p")
	r.Wait("Pin generation 1, applied", "y = yes, other keys = no")
	d.state(t, 3)
	r.Type("y")
	r.Wait("PINNED  generation 1", "2 newer not served", "Pinned: generation 1 serves")
	d.state(t, 1, 1)
	d.apply(t, 4)
	r.clock.advance(time.Second)
	r.Wait("held", "3 newer not served")
	r.Type("p")
	r.Wait("Pin generation 1", "y = yes") // the cursor stayed with its generation
	r.Type("y")
	r.Wait("409: a pin is held already, nothing was changed: release it first (u)")
	r.Type("u")
	r.Wait("Release generation 1 and publish the newest?", "y = yes")
	d.state(t, 1, 1)
	r.Type("y")
	r.Wait("Released: generation 4 serves")
	r.WaitFor("no pin", func(screen string) bool { return !contains(screen, "PINNED") })
	d.state(t, 4)
	r.Type("u")
	r.Wait("No pin is held")
}

// Nothing but y is a yes.
func TestAnythingElseCancels(t *testing.T) {
	d := startReal(t)
	r := watchReal(t, d, realToken, nil)
	for _, key := range []string{"n", "Y", "\r", "\x1b", "p", "q", " ", "\t", "\x1b[A"} {
		r.Type("p")
		r.Wait("Pin generation 3", "y = yes")
		r.Type(key)
		r.Wait("Cancelled: nothing was changed")
		r.Type("g")
		r.WaitFor("no notice", func(screen string) bool { return !contains(screen, "Cancelled") })
	}
	d.state(t, 3)
}

// A daemon with a token says 401 to who has none or another; the banner says what to
// do, in full at 80 columns.
func TestTokens(t *testing.T) {
	for _, c := range []struct{ token, advice string }{
		{"", "401: it wants a token, nothing was changed: start with --token-file PATH"},
		{"open barley", "401: wrong token, nothing was changed: correct it and start again (token)"},
	} {
		d := startReal(t)
		r := watchReal(t, d, c.token, nil)
		r.Type("p")
		r.Wait("Pin generation 3", "y = yes")
		r.Type("y")
		r.Wait(c.advice)
		d.state(t, 3)
		if _, err := d.Pin(context.Background(), 2); err != nil {
			t.Fatal(err)
		}
		r.advanceUntil("PINNED  generation 2") // the answer that follows the refusal may still be on its way
		r.Type("u")
		r.Wait("Release generation 2", "y = yes")
		r.Type("y")
		r.Wait(c.advice)
		d.state(t, 2, 2)
	}
}

// Read-only refuses, and shows no keys for what it refuses.
func TestReadOnly(t *testing.T) {
	d := startReal(t)
	r := watchReal(t, d, realToken, func(o *top.Options) { o.ReadOnly = true })
	for _, key := range []string{"p", "u"} {
		r.Type(key)
		screen := r.Wait("Nothing is changed: ramjet-top was started with --read-only")
		for _, hidden := range []string{"pin", "release"} {
			if contains(lastLine(screen), hidden) {
				t.Errorf("the keys are shown: %q", lastLine(screen))
			}
		}
		r.Type("y?")
		if screen := r.Wait("other screen"); contains(screen, "p     pin") || contains(screen, "release") {
			t.Errorf("the help shows pin and release:\n%s", screen)
		}
		r.Type("?")
		r.Wait("SUMMARY")
	}
	d.state(t, 3)
}

// What is applied while somebody looks does not slip under the cursor.
func TestCursorStaysWithItsGeneration(t *testing.T) {
	d := startReal(t)
	r := watchReal(t, d, realToken, nil)
	r.Wait("▸      3")
	d.apply(t, 4)
	r.clock.advance(time.Second)
	r.Wait("gen 3→4", "▸      3")
	r.Type("p")
	r.Wait("Pin generation 3", "y = yes")
	d.apply(t, 5)
	r.clock.advance(time.Second)
	r.Wait("gen 4→5", "Pin generation 3", "y = yes")
	r.Type("y")
	r.Wait("Pinned: generation 3 serves")
	d.state(t, 3, 3)
}

// A generation that the history let go of meanwhile is not pinned, and the banner
// says so.
func TestPinOfWhatIsGone(t *testing.T) {
	d := startReal(t)
	r := watchReal(t, d, realToken, nil)
	r.Type("jjp")
	r.Wait("Pin generation 1", "y = yes")
	for n := uint64(4); n <= 12; n++ {
		d.apply(t, n)
	}
	r.Type("y")
	r.Wait("404: generation 1 is not kept any longer, nothing was changed")
	d.state(t, 12)
}
