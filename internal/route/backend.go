package route

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// Backend is a named set of endpoints with a balancing policy. It is immutable; where
// the balancing has got to is state of the name and shared by all generations. A route
// to a name that the Spec does not describe has a Backend without endpoints.
type Backend struct {
	Name     string
	Policy   Policy
	Protocol Protocol
	// Endpoints are sorted by address, each address once, draining ones included.
	Endpoints []*Endpoint

	turns   []*Endpoint // who takes turn 0, 1, 2, … ; empty when nobody may
	state   *balance    // nil when unknown
	unknown bool        // named by a route but not described
}

// balance is the balancing state of a backend name. The padding gives the cursor a
// cache line of its own: every request of the backend writes to it.
type balance struct {
	cursor atomic.Uint64
	_      [56]byte
}

// Endpoint is one address of a backend. It is immutable; the number of requests in
// flight is state of backend name and address and shared by all generations.
type Endpoint struct {
	// Address is host:port.
	Address string
	// Weight is the share relative to the siblings; 0 drains.
	Weight int

	load *load
}

// load is the state of an endpoint, on a cache line of its own.
type load struct {
	inFlight atomic.Int64
	_        [56]byte
}

// Acquire notes that a request was sent to the endpoint.
func (e *Endpoint) Acquire() { e.load.inFlight.Add(1) }

// Release notes that a request that was noted with [Endpoint.Acquire] has ended. It
// may be called on the endpoint of the same identity in another generation.
func (e *Endpoint) Release() { e.load.inFlight.Add(-1) }

// InFlight returns the number of requests between Acquire and Release.
func (e *Endpoint) InFlight() int64 { return e.load.inFlight.Load() }

// Pick chooses the endpoint of the next attempt: one with a weight above zero that is
// not in tried (endpoints of this same Backend). nil means that none is left. It does
// not lock and does not allocate.
//
// roundRobin and random honour weights to one part in about a thousand. leastConn
// takes the lowest number of requests in flight per weight; endpoints that are equal
// take turns by weight.
func (b *Backend) Pick(tried []*Endpoint) *Endpoint {
	if len(b.turns) == 0 {
		return nil
	}
	switch b.Policy {
	case LeastConn:
		return b.pickLeast(tried)
	case Random:
		return b.pickRandom(tried)
	}
	return b.pickTurn(tried)
}

// next advances the cursor; the first value is 0.
func (b *Backend) next() uint64 { return b.state.cursor.Add(1) - 1 }

func (b *Backend) pickTurn(tried []*Endpoint) *Endpoint {
	n := uint64(len(b.turns))
	at := b.next() % n
	for range n {
		if e := b.turns[at]; !slices.Contains(tried, e) {
			return e
		}
		if at++; at == n {
			at = 0
		}
	}
	return nil
}

// pickLeast starts with the endpoint whose turn it is and looks for a better one, from
// a place that moves on with every round of turns: without that, the turns of a busy
// endpoint would always go to the same one.
func (b *Backend) pickLeast(tried []*Endpoint) *Endpoint {
	turn := b.next()
	best := b.turns[turn%uint64(len(b.turns))]
	if slices.Contains(tried, best) {
		best = nil
	}
	n := len(b.Endpoints)
	at := int(turn / uint64(len(b.turns)) % uint64(n))
	for range n {
		e := b.Endpoints[at]
		if e.Weight > 0 && (best == nil || e.lighter(best)) && !slices.Contains(tried, e) {
			best = e
		}
		if at++; at == n {
			at = 0
		}
	}
	return best
}

// lighter compares requests in flight per weight, without dividing.
func (e *Endpoint) lighter(than *Endpoint) bool {
	return e.InFlight()*int64(than.Weight) < than.InFlight()*int64(e.Weight)
}

func (b *Backend) pickRandom(tried []*Endpoint) *Endpoint {
	if len(tried) == 0 {
		return b.turns[rand.N(len(b.turns))]
	}
	left := uint64(0)
	for _, e := range b.Endpoints {
		if !slices.Contains(tried, e) {
			left += uint64(e.Weight)
		}
	}
	if left == 0 {
		return nil
	}
	draw := rand.Uint64N(left)
	for _, e := range b.Endpoints {
		if slices.Contains(tried, e) {
			continue
		}
		if draw < uint64(e.Weight) {
			return e
		}
		draw -= uint64(e.Weight)
	}
	return nil // not reached: the weights add up to left
}

// maxTurns bounds the sequence of turns. Weights whose sum is larger are scaled down,
// none of them below one turn.
const maxTurns = 1024

// newTurns computes who takes which turn. Every endpoint has as many turns as its
// weight, reduced by what all weights have in common, spread as evenly as they go: each
// turn raises the claim of every endpoint by its weight, the largest claim wins and
// pays back the sum of the weights.
func newTurns(endpoints []*Endpoint) []*Endpoint {
	serving := endpoints
	if slices.ContainsFunc(endpoints, draining) {
		serving = slices.DeleteFunc(slices.Clone(endpoints), draining)
	}
	shares, sum := reduceWeights(serving)
	if sum == len(serving) {
		return serving
	}
	turns := make([]*Endpoint, sum)
	claims := make([]int, len(serving))
	for t := range turns {
		winner := 0
		for i := range claims {
			if claims[i] += shares[i]; claims[i] > claims[winner] {
				winner = i
			}
		}
		claims[winner] -= sum
		turns[t] = serving[winner]
	}
	return turns
}

func draining(e *Endpoint) bool { return e.Weight == 0 }

// reduceWeights returns the number of turns of each endpoint and their sum.
func reduceWeights(endpoints []*Endpoint) (shares []int, sum int) {
	divisor, total := 0, 0
	for _, e := range endpoints {
		divisor, total = gcd(divisor, e.Weight), total+e.Weight
	}
	shares = make([]int, len(endpoints))
	for i, e := range endpoints {
		shares[i] = e.Weight / divisor
		if total/divisor > maxTurns {
			shares[i] = max(1, int(float64(e.Weight)/float64(total)*maxTurns+0.5))
		}
		sum += shares[i]
	}
	return shares, sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
