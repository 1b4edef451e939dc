//go:build endurance

package endurance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// kind is one kind of load: workers that do something at a steady pace.
type kind struct {
	name    string
	workers int
	pace    time.Duration // from one begin of a worker to its next, a fifth more or less
	// begin makes what a worker does each time.
	begin func(*visitor) func(context.Context) error
}

// excused wraps a failure that a rule of the product explains.
type excused struct{ error }

// errUncounted ends a turn in which nothing was asked.
var errUncounted = errors.New("not counted")

// visitor is a worker: a client, or several in turn.
type visitor struct {
	*world
	kind   string
	number int
	chance *rand.Rand
	dialer func() (*wire, error)

	asked int
	conn  *wire
	atEnd func()
}

// load starts the workers of all kinds. The function that it returns waits for their
// end, which comes after that of ctx.
func (w *world) load(ctx context.Context, kinds []kind) (wait func()) {
	var all sync.WaitGroup
	for n, k := range kinds {
		c := w.tally.kind(k.name)
		for worker := range k.workers {
			v := &visitor{world: w, kind: k.name, number: worker, chance: rand.New(rand.NewPCG(*seed, uint64(n<<16|worker))), dialer: w.dial, atEnd: func() {}}
			all.Go(func() { v.work(ctx, k, c) })
		}
	}
	return all.Wait
}

func (v *visitor) work(ctx context.Context, k kind, c *count) {
	once := k.begin(v)
	defer func() {
		v.leave()
		v.atEnd()
	}()
	// Workers do not begin in step.
	for next := time.Now().Add(time.Duration(v.chance.Int64N(int64(k.pace)))); wait(ctx, time.Until(next)); {
		begun := time.Now()
		err := once(ctx)
		took := time.Since(begun)
		var by excused
		switch {
		case err == nil:
			c.right.Add(1)
			c.whole.add(took)
			c.minute.add(took)
		case errors.Is(err, errUncounted):
		case errors.As(err, &by):
			c.excused.Add(1)
		default:
			c.wrong.Add(1)
			v.tally.fault(k.name, fmt.Errorf("after %s ms: %w", ms(took), err))
		}
		// Who is late does not catch up: the load is bounded.
		next = next.Add(k.pace*4/5 + time.Duration(v.chance.Int64N(int64(k.pace)*2/5)))
		if now := time.Now(); next.Before(now) {
			next = now
		}
	}
}

// id is a new name for a request.
func (v *visitor) id() string {
	v.asked++
	return fmt.Sprintf("%s-%d-%d", v.kind, v.number, v.asked)
}

// ask asks on the connection that is kept, or on a new one.
func (v *visitor) ask(q query) error {
	id := v.id()
	err := v.askAs(q, id)
	if q.body != nil {
		if ran := v.runs.forget(id); ran > 1 || (err == nil && q.from != "" && q.status == 0 && ran != 1) {
			err = errors.Join(err, fmt.Errorf("the request %s was served %d times", id, ran))
		}
	}
	return err
}

func (v *visitor) askAs(q query, id string) (err error) {
	if v.conn == nil {
		if v.conn, err = v.dialer(); err != nil {
			return err
		}
	}
	last, err := v.conn.ask(q, id)
	if last {
		v.leave()
	}
	return err
}

// leave closes the connection that is kept.
func (v *visitor) leave() {
	if v.conn != nil {
		v.conn.Close()
		v.conn = nil
	}
}

// some is a random number from low to high.
func (v *visitor) some(low, high int) int { return low + v.chance.IntN(high-low+1) }

// one is true once in n times.
func (v *visitor) one(n int) bool { return v.chance.IntN(n) == 0 }

// text is a body of a random size.
func (v *visitor) text(low, high int) []byte {
	size := v.some(low, high)
	from := v.chance.IntN(len(noise) - size)
	return noise[from : from+size]
}
