package adminclient

import (
	"math"
	"testing"
)

// Whatever stands for an exposition, what is read of it can be computed with.
func FuzzSeries(f *testing.F) {
	for _, seed := range []string{
		"", "# TYPE a histogram\na_bucket{le=\"1\"} 1\n", "ramjet_pinned 1 1700000000000 # {a=\"b\"} 1\n", "ramjet_pinned NaN\n",
		"ramjet_active_connections 1\nramjet_pinned 0\nramjet_route_table_generation 1e300\nramjet_requests_total{code=\"1xx\"} 1\nramjet_requests_total{code=\"2xx\"} 1\n" +
			"ramjet_requests_total{code=\"3xx\"} 1\nramjet_requests_total{code=\"4xx\"} 1\nramjet_requests_total{code=\"5xx\"} 1\nprocess_start_time_seconds 1e308\n",
		"{\"ramjet_pinned\"} 1\n", "ramjet_pinned{a=\"\\\"\\n\"} 0x1p4\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := parseSeries(text)
		if err != nil {
			return
		}
		for name, v := range s {
			if v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s is %v", name, v)
			}
		}
		if at, ok := s.Started(); ok && at.Year() > 40000 {
			t.Errorf("started in %v", at)
		}
	})
}
