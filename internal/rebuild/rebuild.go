// Package rebuild turns what a cluster says into what is served: it waits for a change,
// translates and compiles the newest state, and offers it to control.
//
// Guarantees: the first change after a quiet period is compiled at once, with what comes
// within two milliseconds of it, those of a burst at least a gap apart, always from the
// newest state; a compile whose result is equal to the one before uses up no generation
// number and holds up the next for ten times as long as it took, a gap at most, and so do
// one that found half of a change and the two after it, once in a burst; counters,
// balancing state and parsed certificates of the kept generations are carried over; when
// Done hears of a compile, what came of it is in effect, as far as a pin allows.
//
// The package never knows where objects come from, what the warnings are for, or
// sockets.
package rebuild

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/kube/pace"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/translate"
)

// Gap is the least time between the end of a compile and the begin of the next.
const Gap = 100 * time.Millisecond

// Settle is how long the first change after a quiet period waits for what belongs to it:
// the objects of one kubectl apply come on several watches, and one may overtake another.
const Settle = 2 * time.Millisecond

// Options says what a Rebuild works with. All fields but Done and Gap are required.
type Options struct {
	// Changes receives after the objects changed.
	Changes <-chan struct{}
	// Translate translates the objects as they are now.
	Translate func() translate.Translation
	// Control takes the result. Nobody else offers to it.
	Control *control.Control
	// Done is called after each compile, on the goroutine of Run: the next compile
	// waits for it. nil = nothing to do.
	Done func(Result)
	// Gap is the least time between two compiles. 0 = Gap.
	Gap time.Duration
}

// Result is what came of one compile.
type Result struct {
	// Translation is what was compiled.
	Translation translate.Translation
	// Warnings are those of translating and of compiling, sorted.
	Warnings []translate.Warning
	// Generation is the number of the generation that has what was compiled: a new
	// one, or the one before if that is equal.
	Generation uint64
	// New reports whether Generation is new.
	New bool
	// Parsed is how many certificates had to be parsed.
	Parsed int
	// Took is the time from the objects to the offer.
	Took time.Duration

	half bool // what belongs to it is likely to follow
}

// Rebuild is the loop. Its methods are safe for concurrent use.
type Rebuild struct {
	options  Options
	last     generation.Compiled // what was offered last; belongs to Run, like found
	found    found
	compiles atomic.Uint64
	latest   atomic.Int64 // when the last compile ended, Unix nanoseconds
}

// New returns a loop that does nothing before Run.
func New(o Options) *Rebuild {
	if o.Gap == 0 {
		o.Gap = Gap
	}
	return &Rebuild{options: o}
}

// found is what compiling said of a translation.
type found struct {
	translation translate.Translation
	diagnostics []route.Diagnostic
	problems    []certs.Problem
}

// Compiles is how many compiles there were.
func (r *Rebuild) Compiles() uint64 { return r.compiles.Load() }

// Latest is when the last compile ended. It is false if there was none.
func (r *Rebuild) Latest() (time.Time, bool) {
	at := r.latest.Load()
	return time.Unix(0, at), at != 0
}

// Run compiles until ctx is done. It may be called once.
func (r *Rebuild) Run(ctx context.Context) {
	holdoff := pace.Holdoff{Gap: r.options.Gap, Settle: min(Settle, r.options.Gap)}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.options.Changes:
		}
		if !rest(ctx, holdoff.Wait(time.Now())) {
			return
		}
		// What changed while it rested is part of what is read now.
		select {
		case <-r.options.Changes:
		default:
		}
		result, err := r.compile(ctx)
		if err != nil {
			return // control has stopped, or we are to
		}
		if r.options.Done != nil {
			r.options.Done(result)
		}
		now := time.Now()
		if result.half {
			holdoff.Half()
		}
		if result.New {
			holdoff.Ended(now, result.Took)
		} else { // the Service that comes before its Ingress must not hold that up
			holdoff.Looked(now, result.Took)
		}
	}
}

// rest waits for d. It is false if ctx ended first.
func rest(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// compile makes a generation of the newest state, and waits until it is in effect. The
// wait is for microseconds, since control does not compile; after it, what it recorded
// is among what it keeps, so that no number is ever lost between two offers.
func (r *Rebuild) compile(ctx context.Context) (Result, error) {
	began := time.Now()
	t := r.options.Translate()
	if r.last.Table != nil && equal(r.found.translation, t) {
		r.note()
		return Result{Translation: t, Warnings: t.Explain(r.found.diagnostics, r.found.problems), Generation: r.last.Number, Took: time.Since(began)}, nil
	}
	state := r.options.Control.State()
	var set *certs.Set
	var problems []certs.Problem
	result := Result{Translation: t, Generation: r.last.Number}
	var parsing sync.WaitGroup
	parsing.Go(func() { set, result.Parsed, problems = certs.Each(spread).Build(t.Certs, state.Sets()...) })
	table, diagnostics := route.Compile(t.Spec, state.Tables()...)
	parsing.Wait()
	result.Warnings, result.Took = t.Explain(diagnostics, problems), time.Since(began)
	result.half = half(r.found.translation, t, r.last.Table, table)
	r.found = found{t, diagnostics, problems}
	r.note()
	if r.last.Table != nil && r.last.Table.Digest() == table.Digest() {
		return result, nil
	}
	r.last = generation.Compiled{Number: r.last.Number + 1, Table: table, Certs: set}
	result.Generation, result.New = r.last.Number, true
	r.options.Control.Offer(r.last)
	_, err := r.options.Control.WaitHandled(ctx, r.last.Number)
	return result, err
}

// note counts a compile.
func (r *Rebuild) note() {
	r.compiles.Add(1)
	r.latest.Store(time.Now().UnixNano())
}
