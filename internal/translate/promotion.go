package translate

import (
	"slices"
	"time"
)

// AutoPromote is what the auto-promote annotations of a canary Ingress say. A value that
// does not parse is its default.
type AutoPromote struct {
	// Interval is the time from one decision to the next, at least a second.
	Interval time.Duration
	// Steps are the weights to go through, in percent, 1 to 100, rising.
	Steps []int
	// Max5xxPercent is the share of answers with 5xx above which the canary is rolled
	// back, 0 to 100.
	Max5xxPercent float64
	// MaxLatencyFactor is how much slower than the stable side the canary may be, at
	// least 1.
	MaxLatencyFactor float64
	// MinRequests is the number of requests below which either side decides nothing, at
	// least 1.
	MinRequests int
	// Status is the annotation that says how a promotion ended; "" is none.
	Status string
}

type promoteSettings struct {
	on bool
	AutoPromote
}

// Promotion is a canary Ingress that asks for auto-promotion. Nothing acts on it here.
type Promotion struct {
	// Ingress is the canary Ingress.
	Ingress Ref
	Policy  AutoPromote
	// Weight of WeightTotal is the share that the Ingress asks for now.
	Weight, WeightTotal int
	// Routes are the indices in Spec.Routes of the routes that carry the canary; none
	// for a canary that is inert or an orphan.
	Routes []int
}

// promotions lists the canaries that are to be promoted.
func (t *translation) promotions() []Promotion {
	joined := map[*plan][]int{}
	for i, c := range t.routes {
		if c.Canary != nil && c.canary.promote.on {
			joined[c.canary] = append(joined[c.canary], i)
		}
	}
	var list []Promotion
	for _, p := range t.plans {
		if !p.canary.on || !p.promote.on {
			continue
		}
		promotion := Promotion{
			Ingress: p.ref, Policy: p.promote.AutoPromote,
			Weight: p.canary.weight, WeightTotal: p.canary.total,
			Routes: joined[p],
		}
		promotion.Policy.Steps = slices.Clone(promotion.Policy.Steps) // the default is one list for all
		list = append(list, promotion)
	}
	slices.SortFunc(list, func(a, b Promotion) int {
		return compareRefs(a.Ingress, b.Ingress)
	})
	return list
}
