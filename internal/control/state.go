package control

import (
	"context"
	"slices"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

// State is what there is to know about the configuration after one turn of the
// loop. It is immutable and may be kept.
type State struct {
	// Sequence counts the turns of the loop that took something from the feed or
	// changed something by command. It rises by one a turn, from 0.
	Sequence uint64
	// Handled is the number of the last generation that was taken from the feed,
	// whether recorded or suppressed as equal. nil = none yet.
	Handled *uint64
	// HasServing is false until a generation is published and never again: it is
	// readiness.
	HasServing bool
	// Serving is the number of the generation on the wire, meaningful with
	// HasServing only (0 is a number).
	Serving uint64
	// Pinned is the generation that holds the pin. nil = no pin.
	Pinned *uint64
	// PinnedAt is when the pin began, meaningful with Pinned only.
	PinnedAt time.Time
	// Kept is all generations that can be pinned or that serve, the newest first.
	Kept []generation.Generation
}

// newState takes the snapshot of a history.
func newState(h *generation.History, sequence uint64, handled *uint64) *State {
	s := &State{Sequence: sequence, Handled: handled, Kept: h.Kept()}
	if g, ok := h.Serving(); ok {
		s.HasServing, s.Serving = true, g.Number
	}
	if number, since, ok := h.Pinned(); ok {
		s.Pinned, s.PinnedAt = &number, since
	}
	return s
}

// Ready reports whether a generation was ever published. Once true it stays so.
func (s *State) Ready() bool { return s.HasServing }

// ServingGeneration is the record of the generation on the wire. It is false until
// Ready.
func (s *State) ServingGeneration() (generation.Generation, bool) {
	i := slices.IndexFunc(s.Kept, func(g generation.Generation) bool { return g.Number == s.Serving })
	if !s.HasServing || i < 0 {
		return generation.Generation{}, false
	}
	return s.Kept[i], true
}

// Tables is the tables of the kept generations, the newest first: what
// route.Compile takes counters and balancing state from.
func (s *State) Tables() []*route.Table {
	tables := make([]*route.Table, len(s.Kept))
	for i, g := range s.Kept {
		tables[i] = g.Table
	}
	return tables
}

// Sets is the certificates of the kept generations, the newest first: what
// certs.Build takes parsed certificates from.
func (s *State) Sets() []*certs.Set {
	sets := make([]*certs.Set, len(s.Kept))
	for i, g := range s.Kept {
		sets[i] = g.Certs
	}
	return sets
}

// State is the snapshot after the last change. It never waits and is never nil.
func (c *Control) State() *State { return c.state.Load() }

// Wait returns once the loop has finished the turn with the given sequence number,
// sinks and OnApplied included, with the state of that moment or a later one. To
// wait for the next change, ask for State().Sequence+1. The error is ErrStopped, or
// that of ctx.
func (c *Control) Wait(ctx context.Context, sequence uint64) (*State, error) {
	for {
		t := c.turn.Load()
		if t.sequence >= sequence {
			return c.State(), nil
		}
		if err := c.await(ctx, t); err != nil {
			return nil, err
		}
	}
}

// WaitHandled returns once a generation with this number or a later one was taken
// from the feed and its turn is finished: what was offered, or what superseded it,
// is in effect as far as the pin allows. Errors are those of Wait.
func (c *Control) WaitHandled(ctx context.Context, number uint64) (*State, error) {
	for {
		t := c.turn.Load()
		// The state may be ahead of the turn; it must not count before its turn ends.
		if s := c.State(); s.Sequence <= t.sequence && s.Handled != nil && *s.Handled >= number {
			return s, nil
		}
		if err := c.await(ctx, t); err != nil {
			return nil, err
		}
	}
}

// await waits for the end of the turn after t.
func (c *Control) await(ctx context.Context, t *turn) error {
	select {
	case <-t.next:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stopped:
	}
	// Both may have happened: a turn that was finished before the end counts.
	select {
	case <-t.next:
		return nil
	default:
		return ErrStopped
	}
}
