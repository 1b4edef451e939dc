package reactor

import (
	"math/rand/v2"
	"testing"
)

// told is the owner of a timer under test.
type told struct {
	timer
	w     *wheel
	fired func(*told)
}

func (t *told) ready()  {}
func (t *told) kill()   {}
func (t *told) expire() { t.fired(t) }

// TestWheelAgainstList sets, moves and clears timers at random and compares what
// fires with what a plain list says.
func TestWheelAgainstList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := &wheel{now: 5}
	now := 6 * tick
	want := map[*told]int64{}
	var all []*told
	fired := func(one *told) {
		at, ok := want[one]
		switch {
		case !ok:
			t.Fatalf("a timer fired that was not set")
		case at > now:
			t.Fatalf("a timer fired %d ns early", at-now)
		}
		delete(want, one)
	}
	for range 200 {
		one := &told{w: w, fired: fired}
		one.of = one
		all = append(all, one)
	}
	for range 20000 {
		one := all[r.IntN(len(all))]
		switch r.IntN(4) {
		case 0:
			w.set(&one.timer, 0)
			delete(want, one)
		case 1:
			w.remove(&one.timer)
			delete(want, one)
		default:
			at := now + 1 + r.Int64N([]int64{tick, 50 * tick, 5 * slots * tick}[r.IntN(3)])
			w.set(&one.timer, at)
			want[one] = at
		}
		if r.IntN(3) == 0 {
			now += r.Int64N(20 * tick)
			if next := w.next(); next != 0 && next <= w.now*tick {
				t.Fatalf("next is %d, the wheel stands at %d", next, w.now*tick)
			}
			w.advance(now)
		}
		for one, at := range want {
			if at <= now-tick {
				t.Fatalf("a timer of %d ticks ago has not fired (slot %d, wheel %d)", (now-at)/tick, one.slot, w.now)
			}
			if next := w.next(); next == 0 || next > max((at+tick-1)/tick, w.now+1)*tick {
				t.Fatalf("next is %d, a timer is due at %d", next, at)
			}
		}
	}
}
