package admin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNumbers: what another part counts is shown beside the rest, with the prefix.
func TestNumbers(t *testing.T) {
	d := start(t)
	h := NewHandler(Options{Controller: d.control, Metrics: &d.metrics, Numbers: []Number{
		{Name: "compiles_total", Help: "Compiles.", Counter: true, Values: func(yield func(float64, string)) { yield(7, "") }},
		{Name: "watch_up", Help: "Watches.", Label: "resource", Values: func(yield func(float64, string)) { yield(1, "ingresses"); yield(0, "secrets") }},
		{Name: "absent", Help: "Without a value now.", Values: func(func(float64, string)) {}},
	}})
	res := httptest.NewRecorder()
	h.ServeHTTP(res, httptest.NewRequest(http.MethodGet, PathMetrics, nil))
	for _, want := range []string{
		"# TYPE ramjet_compiles_total counter\nramjet_compiles_total 7\n",
		"# TYPE ramjet_watch_up gauge\nramjet_watch_up{resource=\"ingresses\"} 1\nramjet_watch_up{resource=\"secrets\"} 0\n",
	} {
		if !strings.Contains(res.Body.String(), want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(res.Body.String(), "ramjet_absent") {
		t.Error("a metric without a value is shown")
	}
}
