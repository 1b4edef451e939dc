package adminclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Series are the numbers of /metrics that are read, by the name and labels under
// which they stand there: `ramjet_requests_total{code="2xx"}`.
//
// They are parsed by the library of those who made the format. The writer on the
// other side is the same library, and quoting, escaping and the forms of numbers are
// nothing to write a second time for a dozen names.
type Series map[string]float64

// The names of the series that are read. A daemon that lacks one of the required
// ones is none of ours.
const (
	seriesRequests     = "ramjet_requests_total" // by code
	seriesConnections  = "ramjet_active_connections"
	seriesLatency      = "ramjet_upstream_latency_seconds" // a histogram: _sum and _count
	seriesGeneration   = "ramjet_route_table_generation"
	seriesPinned       = "ramjet_pinned"
	seriesProcessStart = "process_start_time_seconds"
)

// seriesNames are all of these.
var seriesNames = []string{seriesRequests, seriesConnections, seriesLatency, seriesGeneration, seriesPinned, seriesProcessStart}

// statusClasses are the labels of seriesRequests.
var statusClasses = []string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// Counters are those of a whole daemon.
type Counters struct {
	// Requests are the requests answered, 5xx included.
	Requests, Errors5xx float64
	// LatencyCount and LatencyMillis are the number of measured upstream latencies
	// and their sum in milliseconds.
	LatencyCount, LatencyMillis float64
}

// Counters are the totals of the series.
func (s Series) Counters() Counters {
	c := Counters{
		Errors5xx:     s[requestsOf("5xx")],
		LatencyCount:  s[seriesLatency+"_count"],
		LatencyMillis: 1000 * s[seriesLatency+"_sum"],
	}
	for _, class := range statusClasses {
		c.Requests += s[requestsOf(class)]
	}
	return c
}

// Connections is how many client connections are open.
func (s Series) Connections() float64 { return s[seriesConnections] }

// Started is when the process began, false where the platform does not say.
func (s Series) Started() (time.Time, bool) {
	seconds, ok := s[seriesProcessStart]
	if !ok || seconds <= 0 || seconds > 1<<40 {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(seconds * 1000)), true
}

func requestsOf(class string) string { return seriesRequests + `{code="` + class + `"}` }

// MarshalJSON writes the series as an object, sorted by name.
func (s Series) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]float64(s))
	return b.Bytes(), err
}

// parseSeries reads an exposition. Every number of it is finite and not negative.
func parseSeries(text []byte) (Series, error) {
	text, err := relevant(text)
	if err != nil {
		return nil, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	s := make(Series)
	for _, name := range []string{seriesConnections, seriesGeneration, seriesPinned} {
		m := one(families[name])
		if m == nil {
			return nil, errors.New("there is no " + name + " in it")
		}
		s[name] = valueOf(m)
	}
	if m := one(families[seriesProcessStart]); m != nil {
		s[seriesProcessStart] = valueOf(m)
	}
	for _, m := range families[seriesRequests].GetMetric() {
		if labels := m.GetLabel(); len(labels) == 1 && labels[0].GetName() == "code" {
			s[requestsOf(labels[0].GetValue())] = valueOf(m)
		}
	}
	if m := one(families[seriesLatency]); m != nil {
		s[seriesLatency+"_sum"] = m.GetHistogram().GetSampleSum()
		s[seriesLatency+"_count"] = float64(m.GetHistogram().GetSampleCount())
	}
	for _, class := range statusClasses {
		if _, ok := s[requestsOf(class)]; !ok {
			return nil, errors.New("there is no " + requestsOf(class) + " in it")
		}
	}
	return s, s.check()
}

// check refuses numbers that nothing can be computed with.
func (s Series) check() error {
	for name, v := range s {
		if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s is %v", name, v)
		}
	}
	return nil
}

// one is the only metric of a family, nil if there is another number of them.
func one(f *dto.MetricFamily) *dto.Metric {
	if len(f.GetMetric()) != 1 {
		return nil
	}
	return f.GetMetric()[0]
}

// valueOf is the number of a counter, a gauge or an untyped series.
func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	}
	return m.GetUntyped().GetValue()
}
