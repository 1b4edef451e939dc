package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tableOf compiles a table with a route for each host.
func tableOf(t testing.TB, hosts ...string) *route.Table {
	t.Helper()
	spec := route.Spec{Backends: []route.BackendSpec{{
		Name: "web", Endpoints: []route.EndpointSpec{{Address: "127.0.0.1:9001", Weight: 1}},
	}}}
	for _, h := range hosts {
		spec.Routes = append(spec.Routes, route.RouteSpec{
			Host: h, Path: "/", PathType: route.Prefix, Backend: "web", Owner: "prod/" + h,
		})
	}
	table, diagnostics := route.Compile(spec)
	if len(diagnostics) > 0 {
		t.Fatalf("compile: %v", diagnostics)
	}
	return table
}

// compiled is a generation with one host that its number names.
func compiled(t testing.TB, number uint64) generation.Compiled {
	return generation.Compiled{Number: number, Table: tableOf(t, fmt.Sprintf("g%d.test", number))}
}

// rig is a running Control and what it did, in order.
type rig struct {
	*control.Control
	live *generation.Live
	mu   sync.Mutex
	log  []string
}

// note appends to the log of a rig.
func (r *rig) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// did returns the log so far and empties it.
func (r *rig) did() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	log := r.log
	r.log = nil
	return log
}

type sinkFunc func(audit.Event)

func (f sinkFunc) Record(e audit.Event) { f(e) }

// start runs a Control until the test ends.
func start(t testing.TB, size int, adjust func(*rig, *control.Options)) *rig {
	t.Helper()
	r := &rig{live: &generation.Live{}}
	options := control.Options{History: generation.NewHistory(size), Live: r.live}
	if adjust != nil {
		adjust(r, &options)
	}
	r.Control = control.New(options)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return r
}

// apply offers a generation and waits for the end of its turn.
func (r *rig) apply(t testing.TB, c generation.Compiled) *control.State {
	t.Helper()
	r.Offer(c)
	s, err := r.WaitHandled(context.Background(), c.Number)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *rig) mustPin(t testing.TB, number uint64) *control.State {
	t.Helper()
	s, err := r.Pin(context.Background(), number)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (r *rig) mustRelease(t testing.TB) *control.State {
	t.Helper()
	s, err := r.Release(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// brief is a state in words.
func brief(s *control.State) string {
	pinned := "-"
	if s.Pinned != nil {
		pinned = fmt.Sprint(*s.Pinned)
	}
	kept := ""
	for _, g := range s.Kept {
		kept += fmt.Sprintf(" %d", g.Number)
	}
	return fmt.Sprintf("#%d ready %v serving %d pinned %s kept%s", s.Sequence, s.Ready(), s.Serving, pinned, kept)
}

// The state follows publish, pin and release; snapshots taken before do not change.
func TestStates(t *testing.T) {
	r := start(t, 2, nil)
	states := []*control.State{r.State()}
	states = append(states, r.apply(t, compiled(t, 1)), r.apply(t, compiled(t, 2)))
	states = append(states, r.mustPin(t, 1))
	states = append(states, r.apply(t, compiled(t, 3)))
	states = append(states, r.mustRelease(t), r.mustRelease(t))
	want := []string{
		"#0 ready false serving 0 pinned - kept",
		"#1 ready true serving 1 pinned - kept 1",
		"#2 ready true serving 2 pinned - kept 2 1",
		"#3 ready true serving 1 pinned 1 kept 2 1",
		"#4 ready true serving 1 pinned 1 kept 3 2 1",
		"#5 ready true serving 3 pinned - kept 3 2",
		"#5 ready true serving 3 pinned - kept 3 2", // there was nothing to release
	}
	for i, s := range states {
		if got := brief(s); got != want[i] {
			t.Errorf("state %d: %s\nwant     %s", i, got, want[i])
		}
	}
	if g, ok := states[4].ServingGeneration(); !ok || g.Number != 1 || !g.Published {
		t.Errorf("serving %+v", g.Number)
	}
	if _, ok := states[0].ServingGeneration(); ok {
		t.Error("something serves before the first publish")
	}
	if tables := states[4].Tables(); len(tables) != 3 || len(states[4].Sets()) != 3 || tables[0] != states[4].Kept[0].Table {
		t.Errorf("%d tables", len(tables))
	}
}

// A suppressed generation is handled, and that is all.
func TestSuppressed(t *testing.T) {
	r := start(t, 3, func(r *rig, o *control.Options) {
		o.OnApplied = func([]generation.Generation, *route.Table) { r.note("applied") }
		o.Sinks = []audit.Sink{sinkFunc(func(e audit.Event) { r.note("%s", e.Kind()) })}
	})
	first := compiled(t, 1)
	r.apply(t, first)
	again := first
	again.Number = 2
	s := r.apply(t, again)
	if got := brief(s); got != "#2 ready true serving 1 pinned - kept 1" || *s.Handled != 2 {
		t.Error(got)
	}
	if got := r.did(); !slices.Equal(got, []string{"applied", "config"}) {
		t.Error(got)
	}
}

// The order of a turn: on the wire, visible, applied, every sink in turn; then those
// who wait.
func TestOrderOfATurn(t *testing.T) {
	r := start(t, 2, func(r *rig, o *control.Options) {
		o.OnApplied = func(kept []generation.Generation, serving *route.Table) {
			numbers := []uint64{}
			for _, g := range kept {
				numbers = append(numbers, g.Number)
			}
			r.note("applied, kept %v, live %v, state %d", numbers, r.live.Table() == serving, r.State().Serving)
		}
		for _, name := range []string{"first", "second"} {
			o.Sinks = append(o.Sinks, sinkFunc(func(e audit.Event) {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				_, err := r.Wait(ctx, r.State().Sequence)
				r.note("%s: %s, state %d, turn over %v", name, e.Kind(), r.State().Serving, err == nil)
			}))
		}
	})
	r.apply(t, compiled(t, 1))
	r.apply(t, compiled(t, 2))
	r.did()
	r.mustPin(t, 1)
	want := []string{
		"applied, kept [2 1], live true, state 1",
		"first: pin, state 1, turn over false",
		"second: pin, state 1, turn over false",
	}
	if got := r.did(); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	r.apply(t, compiled(t, 3))
	want = []string{
		"applied, kept [3 2 1], live true, state 1",
		"first: config, state 1, turn over false",
		"second: config, state 1, turn over false",
	}
	if got := r.did(); !slices.Equal(got, want) {
		t.Errorf("held back\n%s", strings.Join(got, "\n"))
	}
}

// Refused commands change nothing and say why, in types.
func TestRefusals(t *testing.T) {
	r := start(t, 2, nil)
	var notKept *generation.NotKeptError
	if _, err := r.Pin(context.Background(), 1); !errors.As(err, &notKept) || notKept.Number != 1 {
		t.Errorf("nothing recorded: %v", err)
	}
	before := r.apply(t, compiled(t, 1))
	if _, err := r.Pin(context.Background(), 9); !errors.As(err, &notKept) {
		t.Errorf("not kept: %v", err)
	}
	if r.State() != before {
		t.Error("a refusal changed the state")
	}
	r.mustPin(t, 1)
	var already *generation.AlreadyPinnedError
	if _, err := r.Pin(context.Background(), 1); !errors.As(err, &already) || already.Pinned != 1 {
		t.Errorf("already pinned: %v", err)
	}
}

// The clock is the one that was given.
func TestAppliedAt(t *testing.T) {
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	r := start(t, 2, func(_ *rig, o *control.Options) { o.Now = func() time.Time { return at } })
	if s := r.apply(t, compiled(t, 1)); !s.Kept[0].AppliedAt.Equal(at) {
		t.Error(s.Kept[0].AppliedAt)
	}
	if s := r.mustPin(t, 1); !s.PinnedAt.Equal(at) {
		t.Errorf("pinned at %v", s.PinnedAt)
	}
	if s := r.mustRelease(t); !s.PinnedAt.IsZero() {
		t.Errorf("no pin, at %v", s.PinnedAt)
	}
}

// Those who wait are woken by the turn, many at a time, and by the end of the loop.
func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := control.New(control.Options{History: generation.NewHistory(2), Live: &generation.Live{}})
		ctx, cancel := context.WithCancel(context.Background())
		var waiters sync.WaitGroup
		woken := make(chan uint64, 10)
		for range 5 {
			waiters.Go(func() {
				if s, err := c.Wait(context.Background(), 1); err == nil {
					woken <- s.Sequence
				}
			})
		}
		waiters.Go(func() {
			if _, err := c.Wait(context.Background(), 9); !errors.Is(err, control.ErrStopped) {
				t.Errorf("waiting for what never came: %v", err)
			}
		})
		waiters.Go(func() {
			if _, err := c.WaitHandled(context.Background(), 9); !errors.Is(err, control.ErrStopped) {
				t.Errorf("waiting for a generation that never came: %v", err)
			}
		})
		go func() { _ = c.Run(ctx) }()
		synctest.Wait()
		if len(woken) != 0 {
			t.Error("woken before anything happened")
		}
		c.Offer(compiled(t, 1))
		synctest.Wait()
		if len(woken) != 5 {
			t.Errorf("%d of 5 woken", len(woken))
		}
		short, give := context.WithTimeout(context.Background(), time.Second)
		defer give()
		if _, err := c.Wait(short, 2); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waiting for too long: %v", err)
		}
		cancel()
		waiters.Wait()
		// What was reached before the end is still an answer.
		if s, err := c.Wait(context.Background(), 1); err != nil || s.Serving != 1 {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Commands to a loop that has ended, or never comes to them, say so.
func TestCommandsWithoutLoop(t *testing.T) {
	c := control.New(control.Options{History: generation.NewHistory(2), Live: &generation.Live{}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := c.Release(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("before the loop: %v", err)
	}
	if err := c.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
	if _, err := c.Pin(context.Background(), 1); !errors.Is(err, control.ErrStopped) {
		t.Errorf("after the loop: %v", err)
	}
	if err := c.Run(ctx); err == nil {
		t.Error("ran twice")
	}
}

// A compile under way, and one that is never taken, keep no operator waiting: the
// feed is one value, and a command is one turn.
func TestPinDoesNotWaitForCompiles(t *testing.T) {
	blocked, unblock := make(chan struct{}), make(chan struct{})
	r := start(t, 3, func(_ *rig, o *control.Options) {
		var once sync.Once
		o.Sinks = []audit.Sink{sinkFunc(func(e audit.Event) {
			if c, ok := e.(audit.Config); ok && c.Generation == 2 {
				once.Do(func() { close(blocked); <-unblock })
			}
		})}
	})
	r.apply(t, compiled(t, 1))
	r.Offer(compiled(t, 2))
	<-blocked // the loop is inside the turn of generation 2
	for n := uint64(3); n < 50; n++ {
		r.Offer(compiled(t, n)) // returns at once all the same
	}
	pinned := make(chan error)
	go func() {
		_, err := r.Pin(context.Background(), 1)
		pinned <- err
	}()
	close(unblock)
	if err := <-pinned; err != nil || r.State().Serving != 1 {
		t.Errorf("serving %d, %v", r.State().Serving, err)
	}
	// Of all that was offered meanwhile the last one is recorded, and nothing else.
	s, err := r.WaitHandled(context.Background(), 49)
	if err != nil || len(s.Kept) != 3 || s.Kept[0].Number != 49 || s.Kept[1].Number != 2 {
		t.Errorf("%v: %s", err, brief(s))
	}
}

// Pins, releases and publishes from everywhere at once: the state that a command
// returns is one in which it holds, and the wire ends where the state says.
func TestConcurrentCommands(t *testing.T) {
	r := start(t, 100, nil)
	r.apply(t, compiled(t, 1))
	var users sync.WaitGroup
	users.Go(func() {
		for n := uint64(2); n <= 50; n++ {
			r.Offer(compiled(t, n))
		}
	})
	for range 3 {
		users.Go(func() {
			for range 50 {
				if s, err := r.Pin(context.Background(), 1); err == nil && (s.Pinned == nil || s.Serving != 1) {
					t.Errorf("pinned, and %s", brief(s))
				}
				if s, err := r.Release(context.Background()); err != nil || s.Serving != s.Kept[0].Number {
					t.Errorf("released, and %v %s", err, brief(s))
				}
			}
		})
	}
	users.Wait()
	s, err := r.WaitHandled(context.Background(), 50)
	if err != nil || s.Serving != 50 || r.live.Table() != s.Kept[0].Table {
		t.Errorf("%v: %s", err, brief(s))
	}
}
