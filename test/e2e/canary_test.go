//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"testing"

	"ramjet.dev/ingress/test/daemon"
)

// counting is a backend that answers with its name and counts.
func counting(t *testing.T, name string, status int) (endpoint string, count *atomic.Int64) {
	t.Helper()
	count = new(atomic.Int64)
	return origin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		count.Add(1)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, name)
	}), count
}

// routed is one route as the admin port shows it.
type routed struct {
	Requests     int64   `json:"requests_total"`
	Errors       int64   `json:"errors_5xx_total"`
	LatencyCount int64   `json:"upstream_latency_count"`
	LatencySum   float64 `json:"upstream_latency_ms_sum"`
	Canary       *struct {
		Backend string
		Percent float64 `json:"weight_percent"`
	} `json:"canary"`
	Side *struct {
		Requests     int64   `json:"requests_total"`
		Errors       int64   `json:"errors_5xx_total"`
		LatencyCount int64   `json:"upstream_latency_count"`
		LatencySum   float64 `json:"upstream_latency_ms_sum"`
	} `json:"canary_stats"`
}

// onlyRoute is what /admin/routes says of the one route there is.
func onlyRoute(t *testing.T, admin string) routed {
	t.Helper()
	r, err := http.Get("http://" + admin + "/admin/routes")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var answer struct{ Routes []routed }
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil || len(answer.Routes) != 1 {
		t.Fatalf("got %+v, %v", answer, err)
	}
	return answer.Routes[0]
}

// TestCanaryWeight sends ten thousand requests to a canary of 20 of 100. The share is
// within three standard deviations (one fair sample in 370 is not, so there may be a
// second), and what the admin port says is what the two backends counted themselves.
func TestCanaryWeight(t *testing.T) {
	const n, share = 10_000, 0.20
	main, mainCount := counting(t, "main", http.StatusOK)
	next, nextCount := counting(t, "next", http.StatusInternalServerError)
	routes := daemon.Write(t, t.TempDir(), "routes.yaml", fmt.Sprintf(`
backends:
  - {name: main, endpoints: [%q]}
  - {name: next, endpoints: [%q]}
routes:
  - {path: /, pathType: Prefix, backend: main, canary: {backend: next, weight: 20, weightTotal: 100, header: x-canary, cookie: beta}}
`, main, next))
	c := daemon.Start(t, daemon.Setup{Args: append([]string{"--static-routes", routes}, loopback...)})
	a := c.Serving()
	ask := func(name, value string) string {
		r, err := http.NewRequest("GET", "http://"+a.HTTP, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			r.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	sent := int64(0)
	for range 2 {
		before := nextCount.Load()
		for range n {
			ask("", "")
		}
		sent += n
		took := float64(nextCount.Load() - before)
		sd := math.Sqrt(n * share * (1 - share))
		far := math.Abs(took-n*share) / sd
		t.Logf("%d requests: the canary took %.0f, %.2f standard deviations from %d", n, took, far, int(n*share))
		if far <= 3 {
			break
		}
		if sent > n {
			t.Error("twice in a row that is too far")
		}
	}
	for _, try := range []struct{ name, value, want string }{
		{"X-Canary", "always", "next"}, {"X-Canary", "never", "main"}, {"Cookie", "beta=always", "next"}, {"Cookie", "beta=never", "main"},
	} {
		sent++
		if got := ask(try.name, try.value); got != try.want {
			t.Errorf("%s: %s went to %s, want %s", try.name, try.value, got, try.want)
		}
	}
	r := onlyRoute(t, a.Admin)
	for tries := 0; r.Requests < sent && tries < 100; tries++ { // the last one is booked after its answer
		r = onlyRoute(t, a.Admin)
	}
	if r.Canary == nil || r.Side == nil || r.Canary.Backend != "next" || r.Canary.Percent != 20 {
		t.Fatalf("the admin port says %+v", r)
	}
	if r.Requests != sent || r.Requests != mainCount.Load()+nextCount.Load() || r.Side.Requests != nextCount.Load() {
		t.Errorf("%d sent; the backends counted %d and %d; the admin port says %d, of these %d", sent, mainCount.Load(), nextCount.Load(),
			r.Requests, r.Side.Requests)
	}
	if r.Errors != nextCount.Load() || r.Side.Errors != r.Errors {
		t.Errorf("all of the canary's %d answers were 500; the admin port says %d, of these %d", nextCount.Load(), r.Errors, r.Side.Errors)
	}
	if r.LatencyCount != r.Requests || r.Side.LatencyCount != r.Side.Requests || r.Side.LatencySum <= 0 || r.LatencySum <= r.Side.LatencySum {
		t.Errorf("the latencies are %+v, of these %+v", r, *r.Side)
	}
	t.Logf("requests_total %d = main %d + canary %d; canary_stats.requests_total %d", r.Requests, mainCount.Load(), nextCount.Load(), r.Side.Requests)
}
