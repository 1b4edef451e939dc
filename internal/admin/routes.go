package admin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"ramjet.dev/ingress/internal/route"
)

// routes streams the routes of the table on the wire: ten thousand of them are
// megabytes, which are never in memory at once.
func (a *api) routes(w http.ResponseWriter, _ *http.Request) {
	var number uint64
	var all []*route.Route
	if g, ok := a.controller.State().ServingGeneration(); ok {
		number, all = g.Number, g.Table.Routes()
	}
	w.Header().Set("Content-Type", "application/json")
	// The status is out with the first byte: a client that is gone cannot be told.
	_ = writeRoutes(w, number, all)
}

// writeRoutes writes a Routes, one route after the other, each on a line.
func writeRoutes(w io.Writer, number uint64, all []*route.Route) error {
	out := bufio.NewWriterSize(w, 32<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	_, err := fmt.Fprintf(out, `{"version":%d,"generation":%d,"routes":[`, Version, number)
	for i, r := range all {
		if i > 0 {
			_, err = out.WriteString(",")
		}
		if err == nil {
			err = enc.Encode(routeOf(r))
		}
		if err != nil {
			return err
		}
	}
	if err == nil {
		_, err = out.WriteString("]}\n")
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

func routeOf(r *route.Route) Route {
	out := Route{
		Host:      r.Host,
		Path:      r.Path,
		PathType:  r.PathType.String(),
		Backend:   r.Backend.Name,
		Regex:     r.Regex,
		Endpoints: len(r.Backend.Endpoints),
		Numbers:   numbersOf(r.Counters.Total()),
	}
	if out.Host == "" {
		out.Host = "*"
	}
	if c := r.Canary; c != nil {
		out.Canary = &Canary{Backend: c.Backend.Name, WeightPercent: 100 * float64(c.Weight) / float64(max(c.WeightTotal, 1))}
		side := numbersOf(r.Counters.Canary())
		out.CanaryNumbers = &side
	}
	if m := r.Mirror; m != nil {
		out.Mirror = &Mirror{Backend: m.Backend.Name, Percent: m.Percent}
		if m.Host != "" {
			out.Mirror.Host = &m.Host
		}
	}
	return out
}

func numbersOf(n route.Numbers) Numbers {
	return Numbers{
		Requests:      n.Requests,
		Errors5xx:     n.Errors5xx,
		LatencyCount:  n.LatencyCount,
		LatencyMillis: float64(n.LatencySum) / float64(time.Millisecond),
	}
}
