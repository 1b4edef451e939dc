package top_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top"
	"ramjet.dev/ingress/internal/top/tally"
	"ramjet.dev/ingress/test/terminal"
)

var update = flag.Bool("update", false, "write the screens of testdata anew")

func TestMain(m *testing.M) {
	if where := os.Getenv(panicVariable); where != "" {
		os.Exit(breakDown(where))
	}
	goleak.VerifyTestMain(m)
}

// epoch is the time of day at which every test begins.
var epoch = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// clock is one that a test moves.
type clock struct {
	mu      sync.Mutex
	now     time.Duration
	waiting map[chan struct{}]time.Duration
	changed *sync.Cond
}

func newClock() *clock {
	c := &clock{waiting: make(map[chan struct{}]time.Duration)}
	c.changed = sync.NewCond(&c.mu)
	return c
}

func (c *clock) elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Now() tally.Moment {
	now := c.elapsed()
	return tally.Moment{Clock: now, Wall: epoch.Add(now)}
}

func (c *clock) Wait(ctx context.Context, d time.Duration) {
	c.mu.Lock()
	over := make(chan struct{})
	c.waiting[over] = c.now + d
	c.changed.Broadcast()
	c.mu.Unlock()
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// advance moves the clock once somebody waits for it.
func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.waiting) == 0 {
		c.changed.Wait()
	}
	c.now += d
	for over, at := range c.waiting {
		if at <= c.now {
			close(over)
			delete(c.waiting, over)
		}
	}
}

// scripted is an admin port with the numbers of a test. Its fields are changed
// between two answers only, under its lock.
type scripted struct {
	*httptest.Server
	clock *clock

	mu          sync.Mutex
	token       string
	routes      admin.Routes
	generations admin.Generations
	series      map[string]float64
	started     time.Time        // of the process
	broken      http.HandlerFunc // answers instead
	changes     []string         // that were asked for
}

// serve starts an admin port with a few routes and generations.
func serve(t testing.TB, c *clock) *scripted {
	t.Helper()
	s := &scripted{
		clock: c, started: epoch.Add(-(3*time.Hour + 12*time.Minute)),
		routes: admin.Routes{Version: 1, Generation: 42},
		series: map[string]float64{
			`ramjet_requests_total{code="1xx"}`: 0, `ramjet_requests_total{code="2xx"}`: 120000, `ramjet_requests_total{code="3xx"}`: 300,
			`ramjet_requests_total{code="4xx"}`: 800, `ramjet_requests_total{code="5xx"}`: 12,
			"ramjet_active_connections": 56, "ramjet_route_table_generation": 42, "ramjet_pinned": 0,
			"ramjet_upstream_latency_seconds_sum": 400, "ramjet_upstream_latency_seconds_count": 120000,
		},
	}
	s.generations = admin.Generations{Version: 1, Serving: 42}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// change does something to the script between two answers.
func (s *scripted) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Date", epoch.Add(s.clock.elapsed()).Format(http.TimeFormat))
	if s.broken != nil {
		s.broken(w, r)
		return
	}
	switch r.URL.Path {
	case admin.PathMetrics:
		s.writeMetrics(w)
	case admin.PathRoutes:
		_ = json.NewEncoder(w).Encode(s.routes)
	case admin.PathGenerations:
		_ = json.NewEncoder(w).Encode(s.generations)
	case admin.PathRollback:
		s.rollback(w, r)
	}
}

func (s *scripted) writeMetrics(w http.ResponseWriter) {
	s.series["process_start_time_seconds"] = float64(s.started.UnixMilli()) / 1000
	fmt.Fprintln(w, "# TYPE ramjet_upstream_latency_seconds histogram")
	fmt.Fprintf(w, "ramjet_upstream_latency_seconds_bucket{le=\"+Inf\"} %v\n", s.series["ramjet_upstream_latency_seconds_count"])
	for _, name := range slices.Sorted(maps.Keys(s.series)) {
		fmt.Fprintf(w, "%s %v\n", name, s.series[name])
	}
	fmt.Fprintln(w, "# TYPE go_goroutines gauge\ngo_goroutines 12")
}

func (s *scripted) rollback(w http.ResponseWriter, r *http.Request) {
	s.changes = append(s.changes, r.Method+" "+r.Header.Get("Authorization"))
	if s.token != "" && r.Header.Get("Authorization") != "Bearer "+s.token {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(admin.Failure{Error: "this needs the admin token"})
		return
	}
	s.generations.Pinned, s.generations.PinnedAt = nil, nil
	s.generations.Serving = s.generations.Generations[0].Generation
	if r.Method == http.MethodPost {
		var body admin.Rollback
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.generations.Pinned, s.generations.Serving = &body.Generation, body.Generation
		s.generations.PinnedAt = new(epoch.Add(s.clock.elapsed()))
	}
	_ = json.NewEncoder(w).Encode(admin.Pin{Pinned: s.generations.Pinned, Serving: s.generations.Serving})
}

// route adds one with endpoints of a backend.
func (s *scripted) route(host, path, pathType, backend string, endpoints int) *admin.Route {
	s.routes.Routes = append(s.routes.Routes, admin.Route{Host: host, Path: path, PathType: pathType, Backend: backend, Endpoints: endpoints})
	return &s.routes.Routes[len(s.routes.Routes)-1]
}

// traffic counts what a route answered, with a latency for each in milliseconds.
func (s *scripted) traffic(host, path string, requests, errors uint64, millis float64) {
	for i := range s.routes.Routes {
		if r := &s.routes.Routes[i]; r.Host == host && r.Path == path {
			r.Requests += requests
			r.Errors5xx += errors
			r.LatencyCount += requests
			r.LatencyMillis += millis * float64(requests)
		}
	}
	s.series[`ramjet_requests_total{code="2xx"}`] += float64(requests - errors)
	s.series[`ramjet_requests_total{code="5xx"}`] += float64(errors)
	s.series["ramjet_upstream_latency_seconds_count"] += float64(requests)
	s.series["ramjet_upstream_latency_seconds_sum"] += millis * float64(requests) / 1000
}

// rig is a cockpit on a terminal.
type rig struct {
	*terminal.Terminal
	t     testing.TB
	clock *clock
	ended chan error
	stop  context.CancelFunc
}

// watch starts a cockpit for admin ports, as adjusted, and ends it with the test.
func watch(t testing.TB, width, height int, c *clock, adjust func(*top.Options), daemons ...*scripted) *rig {
	t.Helper()
	o := top.Options{Interval: time.Second, Clock: c, Location: time.UTC}
	for i, d := range daemons {
		target := adminclient.Target{Name: fmt.Sprintf("10.0.0.%d:10254", i+7), URL: d.URL}
		client := adminclient.New(adminclient.Options{Target: target, Token: d.token, Now: c.elapsed, Timeout: terminal.Patience})
		t.Cleanup(client.Close)
		o.Sources = append(o.Sources, client)
	}
	if adjust != nil {
		adjust(&o)
	}
	return show(t, width, height, o)
}

// show runs a cockpit on a terminal.
func show(t testing.TB, width, height int, o top.Options) *rig {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	c, _ := o.Clock.(*clock)
	r := &rig{Terminal: terminal.New(t, width, height), t: t, clock: c, ended: make(chan error, 1), stop: stop}
	m := top.New(ctx, o)
	go func() {
		r.ended <- top.Run(ctx, m, r.TTY, r.TTY, []string{"TERM=xterm-256color", "LANG=C.UTF-8"})
		close(r.ended)
	}()
	t.Cleanup(func() {
		defer stop()
		r.Type("\x03") // Ctrl-C quits from everywhere
		for err := range r.ended {
			if err != nil {
				t.Errorf("the cockpit ended with: %v", err)
			}
		}
	})
	return r
}

// advanceUntil lets seconds go by until the screen shows a text. One is not enough where
// an answer may be on its way: nobody is asked again before it came.
func (r *rig) advanceUntil(text string) {
	r.t.Helper()
	for begun := time.Now(); !strings.Contains(r.Screen(), text); {
		if time.Since(begun) > terminal.Patience {
			r.t.Fatalf("the screen never showed %s, at last:\n%s", text, r.Screen())
		}
		r.clock.advance(time.Second)
	}
}

// golden waits for the screen of a file. It must begin to show all of texts, which
// is what -update waits for.
func (r *rig) golden(name string, texts ...string) {
	r.t.Helper()
	path := filepath.Join("testdata", "screens", name+".txt")
	if *update {
		screen := r.Wait(texts...)
		if err := os.WriteFile(path, []byte(screen), 0o600); err != nil {
			r.t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	want := string(text)
	for _, text := range texts {
		if !strings.Contains(want, text) {
			r.t.Errorf("%s does not have %q in it", path, text)
		}
	}
	defer func() {
		if r.t.Failed() {
			r.t.Logf("wanted:\n%s", want)
		}
	}()
	r.WaitFor("the text of "+path, func(screen string) bool { return screen == want })
}
