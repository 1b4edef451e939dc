// Package control is the single writer of what is served. One loop receives
// compiled generations and the commands of operators, lets the history decide,
// publishes, and tells everybody who must know; nothing else in the process
// changes what is on the wire.
//
// Guarantees: neither a compiler nor an operator ever waits for a compile, because
// compiling is done by those who offer the result and the feed keeps only the
// latest; the state that readers see is an immutable snapshot behind one pointer;
// whoever waits for a change waits on an event, not on a clock.
//
// A turn of the loop does the following, in this order, each to its end:
//
//  1. The history decides: record, pin or release. Commands go before compiled
//     generations when both wait.
//  2. Publish actions are done: certificates, then table.
//  3. The new State is stored, so that whoever hears of the change can look it up.
//  4. OnApplied is called: what the serving table does not name can be let go.
//  5. Audit events are given to the sinks, each event to every sink in their order,
//     in the order of the events.
//  6. The turn is over: its sequence number is reached, and the command that asked
//     for it is answered.
//
// A publish is never behind a sink of the same turn, but the next turn is: sinks
// and OnApplied must not block, and a panic in one of them is not caught.
//
// The package never knows the sockets of the data plane, HTTP or Kubernetes.
package control

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

// ErrStopped says that the loop has ended, so that nothing is changed any more.
var ErrStopped = errors.New("control: the loop has stopped")

// Options says what a Control works with.
type Options struct {
	// History is the record of generations. Control owns it from here on.
	// Required.
	History *generation.History
	// Live is where publishes go. Nobody else may publish to it. Required.
	Live *generation.Live
	// Sinks take the audit events. They must not block.
	Sinks []audit.Sink
	// OnApplied is called on the loop after each change, with all kept
	// generations, the newest first, and the table that serves from now on. It is
	// the moment to let go of the idle connections to endpoints that this table
	// does not name; a kept generation that is pinned later opens its own again.
	// Requests that loaded an earlier table may still be under way, also against
	// an endpoint that is gone: what they hold must be closed when they return it,
	// not under them. It must not block. nil = nothing to do.
	OnApplied func(kept []generation.Generation, serving *route.Table)
	// Now is the clock for AppliedAt and PinnedAt. nil = time.Now.
	Now func() time.Time
}

// Control is the single writer. All its methods are safe for concurrent use.
type Control struct {
	options  Options
	feed     *generation.Feed
	commands chan command
	running  atomic.Bool
	stopped  chan struct{}
	state    atomic.Pointer[State]
	turn     atomic.Pointer[turn]
}

// command is a pin or a release on its way to the loop.
type command struct {
	// run asks the history; it is called on the loop.
	run func(*generation.History) ([]generation.Action, error)
	// answer receives exactly one value. It is buffered: the loop never waits for
	// the one who asked.
	answer chan answer
}

type answer struct {
	state *State
	err   error
}

// turn marks the last finished turn of the loop.
type turn struct {
	sequence uint64
	next     chan struct{} // closed when the next turn is finished
}

// New returns a Control that does nothing until Run.
func New(options Options) *Control {
	if options.Now == nil {
		options.Now = time.Now
	}
	c := &Control{
		options:  options,
		feed:     generation.NewFeed(),
		commands: make(chan command),
		stopped:  make(chan struct{}),
	}
	c.state.Store(newState(options.History, 0, nil))
	c.turn.Store(&turn{next: make(chan struct{})})
	return c
}

// Run is the loop. It returns nil once ctx is done, after finishing the turn that
// it is in; what is in the feed by then is not recorded. It may be called once.
func (c *Control) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return errors.New("control: run was called twice")
	}
	defer close(c.stopped)
	for ctx.Err() == nil {
		select { // an operator goes first
		case cmd := <-c.commands:
			c.handleCommand(cmd)
			continue
		default:
		}
		select {
		case <-ctx.Done():
		case cmd := <-c.commands:
			c.handleCommand(cmd)
		case <-c.feed.C():
			c.handleFeed()
		}
	}
	return nil
}

// Offer hands over a compiled generation. It never blocks. A generation that is
// offered before the previous one was taken replaces it.
//
// Numbers must rise from one offer to the next. A compiler that carries counters
// and parsed certificates over passes its own last result before those of
// State().Kept: it may be in the feed still, and then no history names it yet.
func (c *Control) Offer(g generation.Compiled) { c.feed.Offer(g) }

// Pin puts a kept generation back on the wire and holds it there. When it returns
// nil the generation serves, and the State is that after the pin. The error is a
// *generation.NotKeptError, a *generation.AlreadyPinnedError, ErrStopped, or that
// of ctx when the loop did not come to it in time; in all cases nothing was changed.
func (c *Control) Pin(ctx context.Context, number uint64) (*State, error) {
	return c.do(ctx, func(h *generation.History) ([]generation.Action, error) {
		return h.Pin(number, c.options.Now())
	})
}

// Release lets go of the pin and publishes the newest recorded generation; without
// a pin it changes nothing. Errors are ErrStopped and that of ctx.
func (c *Control) Release(ctx context.Context) (*State, error) {
	return c.do(ctx, func(h *generation.History) ([]generation.Action, error) {
		return h.Release(), nil
	})
}

// do has a command run on the loop. Once the loop has taken it the answer is waited
// for without regard to ctx: it is microseconds away, and a command must not be
// reported as given up that is then carried out.
func (c *Control) do(ctx context.Context, run func(*generation.History) ([]generation.Action, error)) (*State, error) {
	cmd := command{run: run, answer: make(chan answer, 1)}
	select {
	case c.commands <- cmd:
		a := <-cmd.answer
		return a.state, a.err
	case <-c.stopped:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Control) handleCommand(cmd command) {
	actions, err := cmd.run(c.options.History)
	if err != nil {
		cmd.answer <- answer{err: err}
		return
	}
	if len(actions) > 0 {
		c.apply(actions, c.State().Handled)
	}
	cmd.answer <- answer{state: c.State()}
}

func (c *Control) handleFeed() {
	g, ok := c.feed.Take()
	if !ok {
		return
	}
	c.apply(c.options.History.Record(g, c.options.Now()), &g.Number)
}

// apply is the rest of a turn, after the decision.
func (c *Control) apply(actions []generation.Action, handled *uint64) {
	for _, a := range actions {
		if p, ok := a.(generation.Publish); ok {
			c.options.Live.Publish(p.Compiled)
		}
	}
	state := newState(c.options.History, c.State().Sequence+1, handled)
	c.state.Store(state)
	if len(actions) > 0 && c.options.OnApplied != nil {
		c.options.OnApplied(state.Kept, c.options.Live.Table())
	}
	for _, a := range actions {
		if e, ok := a.(generation.Audit); ok {
			c.record(e.Event)
		}
	}
	c.finish(state.Sequence)
}

func (c *Control) record(e audit.Event) {
	for _, s := range c.options.Sinks {
		s.Record(e)
	}
}

// finish ends a turn and wakes those who wait for it.
func (c *Control) finish(sequence uint64) {
	previous := c.turn.Swap(&turn{sequence: sequence, next: make(chan struct{})})
	close(previous.next)
}
