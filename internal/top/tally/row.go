package tally

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/plain"
)

// key is the identity of a route for rates.
type key struct{ host, path, pathType string }

func keyOf(r *admin.Route) key { return key{r.Host, r.Path, r.PathType} }

// Row is one route with its numbers. Its texts are fit for a terminal. It is not
// changed once it is made.
type Row struct {
	Host, Path, Backend string
	// Type is Exact, Prefix, Impl for ImplementationSpecific, or Regex.
	Type string
	// Canary is "20%→backend", "" for none.
	Canary    string
	Endpoints int
	// Total are the counters since the route exists, Rate what happened between the
	// last two readings.
	Total admin.Numbers
	Rate  Rate

	key key
}

// rowOf is a route without a rate.
func rowOf(r *admin.Route) Row {
	row := Row{
		Host: plain.Clean(r.Host), Path: plain.Clean(r.Path), Backend: plain.Clean(r.Backend),
		Type: typeOf(r), Endpoints: r.Endpoints, Total: r.Numbers, key: keyOf(r),
	}
	if c := r.Canary; c != nil {
		row.Canary = percent(c.WeightPercent) + "→" + plain.Clean(c.Backend)
	}
	return row
}

func typeOf(r *admin.Route) string {
	switch {
	case r.Regex:
		return "Regex"
	case r.PathType == "ImplementationSpecific":
		return "Impl"
	}
	return plain.Clean(r.PathType)
}

// percent writes a weight with as many digits as it needs, at most two after the
// point.
func percent(v float64) string {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return unknown
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + "%"
}

// rowsOf are the routes of an answer, with rates against those of the answer before,
// a gap earlier. A route that was not there before has no rate yet.
func rowsOf(routes []admin.Route, before []*Row, gap time.Duration) []*Row {
	known := byKey(before)
	rows := make([]*Row, len(routes))
	store := make([]Row, len(routes)) // one piece of memory and not ten thousand
	for i := range routes {
		store[i] = rowOf(&routes[i])
		row := &store[i]
		rows[i] = row
		switch b := known[row.key]; {
		case b == nil:
		case b.Backend != row.Backend:
			row.Rate = anew // a daemon counts by backend too: a pin brings the old counters back
		default:
			row.Rate = between(countersOf(b.Total), countersOf(row.Total), gap)
		}
	}
	return rows
}

// beginAnew takes the rates of new rows for those of counters that began anew.
func beginAnew(rows []*Row) {
	for _, row := range rows {
		if row.Rate.Known {
			row.Rate = anew
		}
	}
}

// keepRates gives rows the rates that their routes had.
func keepRates(rows, before []*Row) []*Row {
	known := byKey(before)
	for _, row := range rows {
		if b := known[row.key]; b != nil {
			row.Rate = b.Rate
		}
	}
	return rows
}

func byKey(rows []*Row) map[key]*Row {
	known := make(map[key]*Row, len(rows))
	for _, row := range rows {
		known[row.key] = row
	}
	return known
}

// sum adds the rows of replicas up, by identity. What a route looks like is taken
// from the first replica that has it.
func sum(replicas [][]*Row) []*Row {
	if len(replicas) == 1 {
		return replicas[0]
	}
	var all []*Row
	seen := make(map[key]*Row)
	for _, rows := range replicas {
		for _, row := range rows {
			s := seen[row.key]
			if s == nil {
				s = new(*row)
				seen[row.key] = s
				all = append(all, s)
				continue
			}
			s.Rate = s.Rate.add(row.Rate)
			s.Endpoints = max(s.Endpoints, row.Endpoints)
			s.Total = admin.Numbers{
				Requests:      plus(s.Total.Requests, row.Total.Requests),
				Errors5xx:     plus(s.Total.Errors5xx, row.Total.Errors5xx),
				LatencyCount:  plus(s.Total.LatencyCount, row.Total.LatencyCount),
				LatencyMillis: s.Total.LatencyMillis + row.Total.LatencyMillis,
			}
		}
	}
	return all
}

// plus adds without coming around.
func plus(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Order is what routes are sorted by.
type Order int

// The orders. Numbers begin with the largest, hosts with the first of the alphabet.
const (
	ByRequests Order = iota
	ByErrors
	ByLatency
	ByHost
)

// Sort puts rows in order, or in reverse. Rows without a number are the last either
// way, and equal ones are in the order of host, path and type, so that nothing moves
// that does not have to.
func Sort(rows []*Row, by Order, reverse bool) {
	slices.SortFunc(rows, func(a, b *Row) int {
		if by == ByHost {
			if reverse {
				return byIdentity(b, a)
			}
			return byIdentity(a, b)
		}
		x, known := a.number(by)
		y, knownToo := b.number(by)
		switch {
		case known != knownToo && known:
			return -1
		case known != knownToo:
			return 1
		case x == y:
			return byIdentity(a, b)
		case reverse:
			return cmp.Compare(x, y)
		}
		return cmp.Compare(y, x)
	})
}

// number is what a row is sorted by, false if there is none.
func (row *Row) number(by Order) (v float64, ok bool) {
	switch by {
	case ByErrors:
		return row.Rate.Errors, row.Rate.Known
	case ByLatency:
		return row.Rate.Mean()
	}
	return row.Rate.Requests, row.Rate.Known
}

func byIdentity(a, b *Row) int {
	return cmp.Or(strings.Compare(a.key.host, b.key.host), strings.Compare(a.key.path, b.key.path), strings.Compare(a.key.pathType, b.key.pathType))
}

// Same reports whether two rows are of one route.
func (row *Row) Same(other *Row) bool { return row != nil && other != nil && row.key == other.key }

// Filter keeps the rows with a text in host, path, backend or type, in capitals or
// not. "" keeps all.
func Filter(rows []*Row, text string) []*Row {
	if text == "" {
		return rows
	}
	text = strings.ToLower(text)
	var kept []*Row
	for _, row := range rows {
		if slices.ContainsFunc([]string{row.Host, row.Path, row.Backend, row.Type, row.key.pathType}, func(s string) bool {
			return strings.Contains(strings.ToLower(s), text)
		}) {
			kept = append(kept, row)
		}
	}
	return kept
}
