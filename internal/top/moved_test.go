package top_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// address is where one daemon after another answers.
type address struct {
	*httptest.Server
	process atomic.Pointer[real]
}

// listen answers as a daemon does, until another one takes its place.
func listen(t *testing.T, d *real) *address {
	t.Helper()
	a := &address{}
	a.process.Store(d)
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { a.process.Load().handler.ServeHTTP(w, r) }))
	t.Cleanup(a.Close)
	return a
}

// oldest asks whether to pin generation 1.
func (r *rig) oldest() {
	r.t.Helper()
	r.Type("Gp")
	r.Wait("Pin generation 1", "y = yes")
}

// A daemon that is started again counts from 1 again: its generation 1 is not the one
// that was asked about. This is noticed also where the new process was not heard of yet.
func TestAnotherProcessUnderTheQuestion(t *testing.T) {
	for _, c := range []struct {
		intent string
		heard  bool
		want   string
	}{
		{"heard of", true, "Generation 1 is another one by now, nothing was changed"},
		{"not yet heard of", false, "409: generation 1 is another one by now, nothing was changed"},
	} {
		t.Run(c.intent, func(t *testing.T) {
			before, after := startReal(t), startRealOf(t, "h")
			a := listen(t, before)
			r := watchReal(t, &real{url: a.URL}, realToken, nil)
			after.apply(t, 4)
			r.oldest()
			a.process.Store(after)
			if c.heard {
				r.advanceUntil("gen 3→4")
			}
			r.Type("y")
			r.Wait(c.want, "gen 3→4")
			before.state(t, 3)
			after.state(t, 4)
			r.oldest() // and now the new one is meant
			r.Type("y")
			r.Wait("Pinned: generation 1 serves")
			after.state(t, 1, 1)
		})
	}
}

// A generation that is seen to be gone is not asked for.
func TestGoneUnderTheQuestion(t *testing.T) {
	d := startReal(t)
	r := watchReal(t, d, realToken, nil)
	r.oldest()
	for n := uint64(4); n <= 12; n++ {
		d.apply(t, n)
	}
	r.advanceUntil("gen 11→12")
	r.Type("y")
	r.Wait("Generation 1 is not kept any longer, nothing was changed")
	d.state(t, 12)
}

// A release is of the pin that was asked about, and not of one that somebody else holds
// by now.
func TestPinMovesUnderTheQuestion(t *testing.T) {
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	d, other := startReal(t), startRealOf(t, "h")
	a := listen(t, d)
	r := watchReal(t, &real{url: a.URL}, realToken, nil)
	must(d.Pin(ctx, 2))
	must(other.Pin(ctx, 2))
	r.advanceUntil("PINNED  generation 2")
	ask := func() {
		t.Helper()
		r.Type("u")
		r.Wait("Release generation 2 and publish the newest?", "y = yes")
	}

	ask()
	must(d.Release(ctx))
	must(d.Pin(ctx, 1))
	r.advanceUntil("PINNED  generation 1")
	r.Type("y")
	r.Wait("The pin is on generation 1 by now, nothing was changed")
	d.state(t, 1, 1)

	must(d.Release(ctx))
	must(d.Pin(ctx, 2))
	r.advanceUntil("PINNED  generation 2")
	ask()
	a.process.Store(other)
	other.apply(t, 4)
	r.advanceUntil("gen 3→4")
	r.Type("y")
	r.Wait("Generation 2 is another one by now, nothing was changed")
	other.state(t, 2, 2)

	ask()
	must(other.Release(ctx))
	r.advanceUntil("serving")
	r.Type("y")
	r.Wait("No pin is held any longer, nothing was changed")

	must(other.Pin(ctx, 2))
	r.advanceUntil("PINNED  generation 2")
	ask()
	must(other.Release(ctx))
	must(other.Pin(ctx, 2)) // the same: it is what was asked about
	r.clock.advance(time.Second)
	r.Type("y")
	r.Wait("Released: generation 4 serves")
	other.state(t, 4)
}
