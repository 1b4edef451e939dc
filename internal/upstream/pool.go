package upstream

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure Pools.
type Options struct {
	// ConnectTimeout bounds one attempt to connect.
	ConnectTimeout time.Duration
	// ResponseTimeout and MaxHeaderBytes are those of HTTP/2 connections, which
	// net/http reads; HTTP/1.1 is read by the users of a Conn.
	ResponseTimeout time.Duration
	MaxHeaderBytes  int
	// IdlePerEndpoint bounds the idle connections kept per endpoint; 0 = none.
	IdlePerEndpoint int
}

// idleLife is how long a connection may idle before it is closed: longer than
// the keep-alive of most servers, so that they decide, and short enough that a
// burst does not pin descriptors for hours.
const idleLife = 90 * time.Second

// sweepEvery is how often the janitor looks for connections that their server
// has closed.
const sweepEvery = time.Second

// Pools are the pools of all endpoints. It is safe for concurrent use. Close it
// to end its janitor.
type Pools struct {
	options Options
	dialer  net.Dialer
	byAddr  sync.Map // string -> *pool
	named   atomic.Pointer[map[string]bool]
	leavers leavers
	stop    chan struct{}
	done    sync.WaitGroup
	closed  atomic.Bool

	keeping sync.Mutex // guards keepers
	keepers []Keeper
}

type pool struct {
	owner   *Pools
	address string
	// http10 is set while the endpoint's latest answer was one of HTTP/1.0: such a
	// server never sends 100 (RFC 9110 §15.2).
	http10 atomic.Bool

	mu      sync.Mutex
	h2      *http2  // nil = none was ever asked for
	idle    []*Conn // most recently used last
	retired bool    // the endpoint left the table: nothing is kept any more
}

// New returns empty pools and starts their janitor.
func New(options Options) *Pools {
	p := &Pools{
		options: options,
		dialer:  net.Dialer{Timeout: options.ConnectTimeout},
		stop:    make(chan struct{}),
	}
	p.done.Go(p.janitor)
	return p
}

// Close closes every idle connection, makes later Puts close theirs, and waits
// for the janitor. HTTP/1.1 connections in use are left to their users; those of
// HTTP/2 are closed.
func (p *Pools) Close() {
	if p.closed.Swap(true) {
		return
	}
	close(p.stop)
	p.done.Wait()
	p.Retain(nil)
	p.leavers.closeAll()
}

// Retain drops the idle connections to every endpoint whose address is not
// named, now, and those in use when they come back. It is called after a table
// was published; it takes no lock that is held during I/O.
func (p *Pools) Retain(addresses []string) {
	named := make(map[string]bool, len(addresses))
	for _, a := range addresses {
		named[a] = true
	}
	p.named.Store(&named)
	for _, q := range p.all() {
		if !named[q.address] {
			p.byAddr.CompareAndDelete(q.address, q)
			q.retire()
		}
	}
	p.tellKeepers(named)
}

func (p *Pools) all() []*pool {
	var all []*pool
	p.byAddr.Range(func(_, v any) bool {
		all = append(all, v.(*pool))
		return true
	})
	return all
}

// Idle counts the idle connections to one endpoint.
func (p *Pools) Idle(address string) int {
	n := p.keptElsewhere(address)
	v, ok := p.byAddr.Load(address)
	if !ok {
		return n
	}
	q := v.(*pool)
	q.mu.Lock()
	defer q.mu.Unlock()
	return n + len(q.idle)
}

func (p *Pools) of(address string) *pool {
	if v, ok := p.byAddr.Load(address); ok {
		return v.(*pool)
	}
	q := &pool{owner: p, address: address}
	v, _ := p.byAddr.LoadOrStore(address, q)
	q = v.(*pool)
	// A request that began before the table changed may name an endpoint that
	// has gone: it is served, and nothing of it is kept, not even the pool: the
	// endpoint may come back.
	if named := p.named.Load(); named != nil && !(*named)[address] {
		p.byAddr.CompareAndDelete(address, q)
		q.retire()
	}
	return q
}

// Kept returns an idle connection to the endpoint that is still good, nil when there is
// none.
func (p *Pools) Kept(address string) *Conn { return p.of(address).take() }

// Dial returns a new connection to the endpoint. The error of a failed connect names the
// address and wraps the cause; ctx ends the attempt early.
func (p *Pools) Dial(ctx context.Context, address string) (*Conn, error) {
	q := p.of(address)
	raw, err := p.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return newConn(raw.(*net.TCPConn), q), nil
}

// take pops the most recently used idle connection that is still good.
func (q *pool) take() *Conn {
	for {
		q.mu.Lock()
		last := len(q.idle) - 1
		if last < 0 {
			q.mu.Unlock()
			return nil
		}
		c := q.idle[last]
		q.idle[last] = nil
		q.idle = q.idle[:last]
		q.mu.Unlock()
		if c.quiet() {
			c.reused = true
			return c
		}
		c.Close()
	}
}

// put keeps c, or closes it when the pool is full or the endpoint is gone.
func (q *pool) put(c *Conn) {
	c.idleSince = time.Now()
	q.mu.Lock()
	keep := !q.retired && len(q.idle) < q.owner.options.IdlePerEndpoint
	if keep {
		q.idle = append(q.idle, c)
	}
	q.mu.Unlock()
	if !keep {
		c.Close()
	}
}

func (q *pool) retire() {
	q.mu.Lock()
	q.retired = true
	idle, h2 := q.idle, q.h2
	q.idle = nil
	q.mu.Unlock()
	for _, c := range idle {
		c.Close()
	}
	if h2 != nil {
		q.owner.leave(h2)
		h2.closeIdle()
	}
}

// janitor closes, once a second, what servers have hung up on and what idled
// too long, so that descriptors do not wait in CLOSE_WAIT for the next request.
func (p *Pools) janitor() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			for _, q := range p.all() {
				q.sweep(now)
			}
			p.leavers.sweep()
		}
	}
}

func (q *pool) sweep(now time.Time) {
	var dead []*Conn
	q.mu.Lock()
	kept := q.idle[:0]
	for _, c := range q.idle {
		if now.Sub(c.idleSince) > idleLife || !c.quiet() {
			dead = append(dead, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(q.idle[len(kept):])
	q.idle = kept
	q.mu.Unlock()
	for _, c := range dead {
		c.Close()
	}
}
