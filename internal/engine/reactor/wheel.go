package reactor

import "math/bits"

// A wheel has a slot for each of the next ticks; what is due later waits in the last
// one and is put in anew when that comes. Timers are moved lazily: one that is set to a
// later time stays where it is and is looked at when its slot comes, so that the
// timeouts of a connection that keeps moving cost a store for each move.
const (
	tick  = int64(16e6) // nanoseconds; a timer is late by this at most
	slots = 1024
)

// timer is a place in a wheel. The zero value is set to nothing.
type timer struct {
	next, prev *timer
	at         int64 // when it is due; 0 = never
	slot       int64 // the tick in whose slot it is; 0 = in none
	of         owner
}

// owner is whoever a loop tells of what happens: to a socket of his, or that his time
// is over.
type owner interface {
	ready()
	expire()
	kill()
}

// wheel is a loop's timers. Times are nanoseconds on the loop's clock, above 0.
type wheel struct {
	heads [slots]*timer
	used  [slots / 64]uint64
	now   int64 // the tick whose slot was emptied last
	told  owner // who was told last, for whoever catches his panic
}

// set makes t due at a time; 0 = never.
func (w *wheel) set(t *timer, at int64) {
	t.at = at
	if at == 0 {
		return
	}
	slot := min(max((at+tick-1)/tick, w.now+1), w.now+slots-1)
	if t.slot > 0 {
		if t.slot <= slot {
			return
		}
		w.unlink(t)
	}
	i := slot % slots
	t.slot, t.prev, t.next = slot, nil, w.heads[i]
	if t.next != nil {
		t.next.prev = t
	}
	w.heads[i] = t
	w.used[i/64] |= 1 << (i % 64)
}

// remove takes t out for good.
func (w *wheel) remove(t *timer) {
	t.at = 0
	if t.slot > 0 {
		w.unlink(t)
	}
}

func (w *wheel) unlink(t *timer) {
	i := t.slot % slots
	if t.prev == nil {
		w.heads[i] = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next != nil {
		t.next.prev = t.prev
	}
	if w.heads[i] == nil {
		w.used[i/64] &^= 1 << (i % 64)
	}
	t.next, t.prev, t.slot = nil, nil, 0
}

// advance empties the slots up to now and returns how many timers it told.
func (w *wheel) advance(now int64) (told int) {
	for to := now / tick; w.now < to; {
		if next := w.nextSlot(); next == 0 || next > to {
			w.now = to
			break
		} else {
			w.now = next
		}
		for t := w.heads[w.now%slots]; t != nil; t = w.heads[w.now%slots] {
			w.unlink(t)
			switch {
			case t.at == 0:
			case t.at > now:
				w.set(t, t.at)
			default:
				t.at = 0
				told++
				w.told = t.of
				t.of.expire()
			}
		}
	}
	return told
}

// nextSlot is the next tick with something in its slot; 0 = there is none.
func (w *wheel) nextSlot() int64 {
	first := (w.now + 1) % slots
	for n := int64(0); n <= slots/64; n++ {
		word := (first/64 + n) % (slots / 64)
		set := w.used[word]
		switch n {
		case 0:
			set &= ^uint64(0) << (first % 64)
		case slots / 64:
			set &^= ^uint64(0) << (first % 64)
		}
		if set != 0 {
			i := word*64 + int64(bits.TrailingZeros64(set))
			return w.now + 1 + (i-first+slots)%slots
		}
	}
	return 0
}

// next is when advance has to be called again at the latest; 0 = there is no timer.
func (w *wheel) next() int64 { return w.nextSlot() * tick }
