package tally

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Fleet is all replicas that are watched. It is not safe for concurrent use.
type Fleet struct {
	Replicas []*Replica
	// Interval is the time between two questions to a replica.
	Interval time.Duration

	samples []float64 // requests per second at past intervals, NaN where not known
}

// maxSamples is more than the widest terminal shows.
const maxSamples = 512

// NewFleet returns replicas of these names, in this order.
func NewFleet(names []string, interval time.Duration) *Fleet {
	f := &Fleet{Interval: interval}
	for _, name := range names {
		f.Replicas = append(f.Replicas, NewReplica(name))
	}
	return f
}

// Numbers are those of one replica or of all.
type Numbers struct {
	// Answered is false while there is nothing to show.
	Answered bool
	// Lowest and Highest are the generations on the wire.
	Lowest, Highest uint64
	// Routes and Kept are the largest numbers of routes and of generations.
	Routes, Kept int
	Connections  float64
	Rate         Rate
	// Uptime is that of the youngest process.
	Uptime    time.Duration
	HasUptime bool
}

// heard are the replicas whose numbers are shown: those that answer, or if none does
// those that ever did. A replica that is gone does not count among others that are
// not.
func (f *Fleet) heard(now Moment) (all []*Replica, fresh int) {
	for _, r := range f.Replicas {
		if _, stale := r.Stale(now, f.Interval); r.Known() && !stale {
			all = append(all, r)
		}
	}
	if fresh = len(all); fresh > 0 {
		return all, fresh
	}
	for _, r := range f.Replicas {
		if r.Known() {
			all = append(all, r)
		}
	}
	return all, 0
}

// Fresh is how many replicas answer.
func (f *Fleet) Fresh(now Moment) int {
	_, fresh := f.heard(now)
	return fresh
}

// Numbers are the sums over the replicas.
func (f *Fleet) Numbers(now Moment) Numbers {
	var total Numbers
	all, _ := f.heard(now)
	for i, r := range all {
		n := r.Numbers()
		if i == 0 {
			total = n
			continue
		}
		total.Lowest, total.Highest = min(total.Lowest, n.Lowest), max(total.Highest, n.Highest)
		total.Routes, total.Kept = max(total.Routes, n.Routes), max(total.Kept, n.Kept)
		total.Connections += n.Connections
		total.Rate = total.Rate.add(n.Rate)
		if n.HasUptime && (!total.HasUptime || n.Uptime < total.Uptime) {
			total.Uptime, total.HasUptime = n.Uptime, true
		}
	}
	return total
}

// Rows are the routes of all replicas, in no order. The caller may sort the slice.
func (f *Fleet) Rows(now Moment) []*Row {
	var rows [][]*Row
	all, _ := f.heard(now)
	for _, r := range all {
		rows = append(rows, r.rows)
	}
	if len(rows) == 0 {
		return nil
	}
	return slices.Clone(sum(rows))
}

// Timeline is the generations of all replicas, the newest first. Those of one replica
// stay in its order, also where its clock was set back: one that seems to be younger
// than what came after it stands right below that.
func (f *Fleet) Timeline(now Moment) []Applied {
	type place struct {
		Applied
		at time.Time
	}
	var all []place
	for i, r := range f.Replicas {
		for j, a := range r.applied(now, i) {
			p := place{a, a.AppliedAt}
			if j > 0 && all[len(all)-1].at.Before(p.at) {
				p.at = all[len(all)-1].at
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b place) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.Replica, b.Replica))
	})
	timeline := make([]Applied, len(all))
	for i := range all {
		timeline[i] = all[i].Applied
	}
	return timeline
}

// Pins are the pins that are held, in the order of the replicas.
func (f *Fleet) Pins(now Moment) []Pin {
	var all []Pin
	for _, r := range f.Replicas {
		if p, ok := r.Pin(now); ok {
			all = append(all, p)
		}
	}
	return all
}

// Sample remembers the requests per second of this moment. It is called once an
// interval.
func (f *Fleet) Sample(now Moment) {
	if len(f.samples) == maxSamples {
		f.samples = append(f.samples[:0], f.samples[1:]...)
	}
	f.samples = append(f.samples, f.current(now))
}

// Samples are the requests per second so far and at this moment, the oldest first;
// NaN where they were not known.
func (f *Fleet) Samples(now Moment) []float64 {
	return append(slices.Clone(f.samples), f.current(now))
}

func (f *Fleet) current(now Moment) float64 {
	if all, fresh := f.heard(now); fresh > 0 {
		var rate Rate
		for _, r := range all {
			rate = rate.add(r.rate)
		}
		if rate.Known {
			return rate.Requests
		}
	}
	return math.NaN()
}
