package tally

import (
	"fmt"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/plain"
)

// Replica is one daemon as it was last heard of. It is not safe for concurrent use.
type Replica struct {
	// Name is that of its target, fit for a terminal.
	Name string
	// Short is Name until Fleet.Shorten makes it fit.
	Short string

	reading *adminclient.Reading // the last one; nil = none yet
	came    Moment               // of reading
	rows    []*Row
	rate    Rate

	// base is what rates are measured from: the last reading, but for one that came
	// right after another.
	base     *adminclient.Reading
	baseRows []*Row

	first   Moment        // when it was asked for the first time
	asked   Moment        // when it was asked last
	waiting bool          // for the answer to that
	usual   time.Duration // the longest that an answer took lately
	failure string        // why the last answer was none; "" = it was one

	pin     *uint64 // of reading
	pinSeen Moment  // when pin was seen first
	pinFrom bool    // pin was seen to begin, give or take sharp
}

// NewReplica returns one that was never asked.
func NewReplica(name string) *Replica {
	name = plain.Clean(name)
	return &Replica{Name: name, Short: name}
}

// Asked notes that an answer is waited for from now on.
func (r *Replica) Asked(now Moment) {
	if r.first == (Moment{}) {
		r.first = now
	}
	r.asked, r.waiting = now, true
}

// Waiting reports whether an answer is waited for.
func (r *Replica) Waiting() bool { return r.waiting }

// Failed notes that there was no answer, and why. What was known stays.
func (r *Replica) Failed(reason string) {
	r.waiting, r.failure = false, plain.Clean(reason)
}

// shortestGap is the least time between two answers that gives a rate. After a pin a
// daemon is asked out of turn, and what happened within milliseconds says nothing.
const shortestGap = 50 * time.Millisecond

// Answered notes an answer. The rates are those of the time since the answer before,
// whatever happened in between.
func (r *Replica) Answered(now Moment, reading *adminclient.Reading) {
	if r.waiting {
		r.usual = min(max(now.Clock-r.asked.Clock, r.usual-r.usual/8), longest/2)
	}
	r.waiting, r.failure = false, ""
	routes := reading.Routes.Routes
	switch base := r.base; {
	case base != nil && reading.RoutesAt-base.RoutesAt < shortestGap:
		r.rows = keepRates(rowsOf(routes, nil, 0), r.rows)
	case base != nil:
		r.rows = rowsOf(routes, r.baseRows, reading.RoutesAt-base.RoutesAt)
		r.rate = between(base.Series.Counters(), reading.Series.Counters(), reading.SeriesAt-base.SeriesAt)
		if restarted(base, reading) {
			r.rate = anew
			beginAnew(r.rows)
		}
		r.base, r.baseRows = reading, r.rows
	default:
		r.rows = rowsOf(routes, nil, 0)
		r.base, r.baseRows = reading, r.rows
	}
	r.notePin(now, reading.Generations.Pinned)
	r.reading, r.came = reading, now
}

// slack is how far the beginning of a process and the clock of its answers, both told
// in seconds, may be off against each other.
const slack = 2 * time.Second

// restarted reports whether another process answers than the one before, whose
// counters say nothing about it, also where they are lower. Its beginning alone does
// not tell: setting the clock of a machine moves that of every process.
func restarted(before, after *adminclient.Reading) bool {
	was, known := before.Series.Started()
	is, knownToo := after.Series.Started()
	if !known || !knownToo || is.Equal(was) {
		return false
	}
	return after.Date.IsZero() || after.Date.Sub(is) <= after.SeriesAt-before.SeriesAt+slack
}

// sharp is the longest time between two answers from which the second one tells when
// something began.
const sharp = 10 * time.Second

// notePin remembers since when the pin is seen.
func (r *Replica) notePin(now Moment, pin *uint64) {
	same := pin != nil && r.pin != nil && *pin == *r.pin
	if pin != nil && !same {
		r.pinSeen, r.pinFrom = now, r.reading != nil && now.Clock-r.came.Clock <= sharp
	}
	r.pin = pin
}

// Known reports whether the replica ever answered.
func (r *Replica) Known() bool { return r.reading != nil }

// Stale says since when, and why, what is known of a replica is out of date.
type Stale struct {
	// Since is when it answered last, or was asked first.
	Since Moment
	// Reason is in words.
	Reason string
}

// An answer that does not come is worth a word after an interval, but not before
// impatience, nor before it takes twice as long as is usual: a daemon that is slow and
// answers would be called gone between any two answers. After longest it is in any case.
const (
	impatience = time.Second
	longest    = 10 * time.Second
)

// Stale reports whether the replica failed to answer, or takes too long to do so.
func (r *Replica) Stale(now Moment, interval time.Duration) (Stale, bool) {
	s := Stale{Since: r.came, Reason: r.failure}
	if !r.Known() {
		s.Since = r.first
	}
	if r.failure != "" {
		return s, true
	}
	if waits := now.Clock - r.asked.Clock; r.waiting && waits >= max(interval, impatience, 2*r.usual) {
		s.Reason = "no answer for " + Span(waits)
		return s, true
	}
	return s, false
}

// Pin is a pin that is held.
type Pin struct {
	Replica    string // its short name
	Generation uint64
	// Age is that of the pinned generation, since it was applied; negative if it is
	// not known.
	Age time.Duration
	// Since is when the pin began, zero if the daemon does not say.
	Since time.Time
	// Held is how long the pin was seen; if not Exact it may have been there before.
	Held  time.Duration
	Exact bool
	// Newer is how many newer generations are kept and not served.
	Newer int
}

// Pin is the pin that the replica holds, false if there is none.
func (r *Replica) Pin(now Moment) (Pin, bool) {
	if r.pin == nil {
		return Pin{}, false
	}
	p := Pin{Replica: r.Short, Generation: *r.pin, Age: -1, Held: now.Clock - r.pinSeen.Clock, Exact: r.pinFrom}
	if g := r.reading.Generations; g.PinnedAt != nil && g.Pinned != nil && *g.Pinned == p.Generation {
		p.Since, p.Held, p.Exact = *g.PinnedAt, r.age(now, *g.PinnedAt), true
	}
	for i := range r.reading.Generations.Generations {
		switch g := &r.reading.Generations.Generations[i]; {
		case g.Generation == p.Generation:
			p.Age = r.age(now, g.AppliedAt)
		case g.Generation > p.Generation:
			p.Newer++
		}
	}
	return p, true
}

// Digest is that of a generation in the newest answer, false if it is not kept any
// longer.
func (r *Replica) Digest(generation uint64) (digest string, kept bool) {
	if !r.Known() {
		return "", false
	}
	for i := range r.reading.Generations.Generations {
		if g := &r.reading.Generations.Generations[i]; g.Generation == generation {
			return g.Digest, true
		}
	}
	return "", false
}

// age is how long something is ago that happened by the clock of the daemon.
func (r *Replica) age(now Moment, at time.Time) time.Duration {
	clock := r.reading.Date
	if clock.IsZero() {
		clock = r.came.Wall
	}
	return max(clock.Sub(at)+now.Clock-r.came.Clock, 0)
}

// Uptime is how long the daemon ran at its last answer, false if it does not say.
func (r *Replica) Uptime() (time.Duration, bool) {
	if !r.Known() {
		return 0, false
	}
	started, ok := r.reading.Series.Started()
	if !ok {
		return 0, false
	}
	return r.age(r.came, started), true
}

// Numbers are those of the replica alone; Known must be true.
func (r *Replica) Numbers() Numbers {
	n := Numbers{
		Lowest: r.reading.Generations.Serving, Highest: r.reading.Generations.Serving,
		Routes: len(r.rows), Kept: len(r.reading.Generations.Generations),
		Connections: r.reading.Series.Connections(), Rate: r.rate, Answered: true,
	}
	n.Uptime, n.HasUptime = r.Uptime()
	return n
}

// Applied is one generation of a timeline.
type Applied struct {
	// Replica is the index of the one that applied it.
	Replica int
	*admin.Generation
	// Summary is fit for a terminal.
	Summary string
	Age     time.Duration
	// State is serving, pinned (and serving), published or held.
	State string
}

// The states of an applied generation.
const (
	StateServing   = "serving"
	StatePinned    = "pinned"
	StatePublished = "published"
	StateHeld      = "held"
)

// applied are the generations of the replica, the newest first.
func (r *Replica) applied(now Moment, index int) []Applied {
	if !r.Known() {
		return nil
	}
	answer := &r.reading.Generations
	all := make([]Applied, 0, len(answer.Generations))
	for i := range answer.Generations {
		g := &answer.Generations[i]
		a := Applied{Replica: index, Generation: g, Summary: plain.Clean(g.Diff.Summary), Age: r.age(now, g.AppliedAt), State: StateHeld}
		switch {
		case answer.Pinned != nil && *answer.Pinned == g.Generation:
			a.State = StatePinned
		case answer.Serving == g.Generation && g.Published:
			a.State = StateServing
		case g.Published:
			a.State = StatePublished
		}
		all = append(all, a)
	}
	return all
}

// Title names an applied generation for a question.
func (a *Applied) Title() string { return fmt.Sprintf("generation %d", a.Generation.Generation) }
