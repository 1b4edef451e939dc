package generation

import (
	"fmt"
	"slices"
	"time"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/route"
)

// History is the record of the last generations and the state of the pin. It
// belongs to one goroutine: nothing in it is locked.
//
// The states are: empty, until the first Record; following, where the newest
// recorded generation serves; pinned, where another (or the same) one is held.
type History struct {
	size int
	// ring is the recorded generations, the newest first, at most size of them.
	ring []Generation
	// pinned is the generation that is held on the wire. It is kept here too
	// because the ring may evict it meanwhile.
	pinned *Generation
	// pinnedAt is when that began, meaningful with pinned only.
	pinnedAt time.Time
}

// NewHistory returns an empty history that keeps the last size generations, not
// counting a pinned one that is older. A size below 1 reads as 1.
func NewHistory(size int) *History {
	return &History{size: max(size, 1)}
}

// Record appends a generation at the time now and, unless a pin is held, asks for
// it to be published. A generation whose digest equals that of the newest
// recorded one is suppressed: nothing changes and nothing is asked for.
//
// Record panics when c has no table, or a number that is not above the newest
// recorded one: both are faults of the caller that would make the audit trail lie.
func (h *History) Record(c Compiled, now time.Time) []Action {
	if c.Table == nil {
		panic("generation: record of a generation without a table")
	}
	previous, any := h.newest()
	if any && previous.Table.Digest() == c.Table.Digest() {
		return nil
	}
	if any && c.Number <= previous.Number {
		panic(fmt.Sprintf("generation: record of %d after %d", c.Number, previous.Number))
	}
	diff := route.Compare(previous.Table, c.Table) // previous.Table is nil for the first
	record := Generation{
		Compiled:  c,
		AppliedAt: now,
		Published: h.pinned == nil,
		Diff:      diff,
		Summary:   diff.Summary(previous.Number, c.Number),
	}
	h.push(record)
	event := audit.Config{
		Generation: c.Number, Previous: previous.Number, Published: record.Published,
		Diff: diff, Warning: h.warning(previous, record),
	}
	if !record.Published {
		return []Action{Audit{event}}
	}
	return []Action{Publish{c}, Audit{event}}
}

// push puts a record in front and lets go of what is beyond the size.
func (h *History) push(g Generation) {
	h.ring = slices.Insert(h.ring, 0, g)
	if len(h.ring) > h.size {
		clear(h.ring[h.size:]) // or the array would keep the table alive
		h.ring = h.ring[:h.size]
	}
}

// warning remarks on a change that takes away more than half of the routes at
// once. It is applied like any other, since the history cannot know whether it is
// meant; but whoever reads the record should not have to look up the way back.
func (h *History) warning(previous, g Generation) string {
	if previous.Table == nil {
		return ""
	}
	had, lost := len(previous.Table.Routes()), len(g.Diff.RoutesRemoved)
	if lost*2 <= had {
		return ""
	}
	warning := fmt.Sprintf("%d of %d routes removed at once", lost, had)
	if added := len(g.Diff.RoutesAdded); added > 0 { // hosts that were renamed are no loss, as a rule
		warning += fmt.Sprintf(", %d added", added)
	}
	switch {
	case h.pinned != nil:
		return warning + fmt.Sprintf("; held back by the pin of generation %d", h.pinned.Number)
	case h.size == 1:
		return warning + "; the history is too short to go back"
	}
	return warning + fmt.Sprintf(`; to go back: POST /admin/rollback {"generation":%d}`, previous.Number)
}

// Pin puts a recorded generation back on the wire at the time now and holds it there:
// whatever is recorded from then on is not published until Release. Pinning the generation that
// serves holds it too, and publishes it again.
//
// The error is a *NotKeptError where the history does not hold the generation, else
// an *AlreadyPinnedError where a pin is held. In this order: releasing a pin moves
// the wire to the newest generation, and nobody should do that in order to learn
// that the one they want is gone.
func (h *History) Pin(number uint64, now time.Time) ([]Action, error) {
	i := slices.IndexFunc(h.ring, func(g Generation) bool { return g.Number == number })
	if i < 0 && (h.pinned == nil || h.pinned.Number != number) {
		return nil, &NotKeptError{Number: number}
	}
	if h.pinned != nil {
		return nil, &AlreadyPinnedError{Pinned: h.pinned.Number}
	}
	replaced := h.ring[0].Number // not pinned: the newest serves
	g := h.markPublished(i)
	h.pinned, h.pinnedAt = &g, now
	return []Action{Publish{g.Compiled}, Audit{audit.Pin{Generation: number, Replaced: replaced}}}, nil
}

// Release lets go of the pin and asks for the newest recorded generation to be
// published, the pinned one again if nothing was recorded meanwhile. Without a pin
// it does nothing.
func (h *History) Release() []Action {
	if h.pinned == nil {
		return nil
	}
	h.pinned = nil
	g := h.markPublished(0)
	return []Action{Publish{g.Compiled}, Audit{audit.Resume{Generation: g.Number}}}
}

// markPublished replaces the record at i of the ring by one that says published.
func (h *History) markPublished(i int) Generation {
	h.ring[i].Published = true
	return h.ring[i]
}

func (h *History) newest() (Generation, bool) {
	if len(h.ring) == 0 {
		return Generation{}, false
	}
	return h.ring[0], true
}

// Serving is the generation that is on the wire, once the actions are done that
// were returned so far. It is false before the first Record.
func (h *History) Serving() (Generation, bool) {
	if h.pinned != nil {
		return *h.pinned, true
	}
	return h.newest()
}

// Pinned is the number of the generation that holds the pin, and since when, if one
// does.
func (h *History) Pinned() (number uint64, since time.Time, held bool) {
	if h.pinned == nil {
		return 0, time.Time{}, false
	}
	return h.pinned.Number, h.pinnedAt, true
}

// Kept returns all generations that can be pinned or that serve, the newest first:
// the ring, and a pinned one that the ring has evicted. The slice is the caller's.
func (h *History) Kept() []Generation {
	kept := make([]Generation, len(h.ring), len(h.ring)+1)
	copy(kept, h.ring)
	if h.pinned != nil && h.pinned.Number < h.ring[len(h.ring)-1].Number {
		kept = append(kept, *h.pinned)
	}
	return kept
}
