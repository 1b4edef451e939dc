package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

// TestMetrics compares the project's own series with a golden file: names, types
// and labels are part of the interface.
func TestMetrics(t *testing.T) {
	d := start(t)
	expiry := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	d.offerWithCertificate(9, expiry)
	m := &d.metrics
	for code, n := range map[int]int{0: 7, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5} {
		repeat(n, m.Requests[code].Inc)
	}
	for i, c := range counters {
		repeat(11+i, c.of(m).Inc) // each another number, so that none is taken for another
	}
	m.ActiveConnections.Add(42)
	m.Latency.Observe(time.Millisecond)
	m.Latency.Observe(250 * time.Millisecond)
	m.Latency.Observe(time.Minute)
	if _, err := d.control.Pin(t.Context(), 9); err != nil {
		t.Fatal(err)
	}

	res, text := d.ask(http.MethodGet, PathMetrics, nil, nil)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	var own []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "ramjet_build_info{") {
			line = `ramjet_build_info{go_version="(of Go)"` + line[strings.Index(line, ",version"):]
		}
		if strings.Contains(line, "ramjet_") {
			own = append(own, line)
		}
	}
	got := strings.Join(own, "")
	const golden = "testdata/metrics.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("want\n%s\ngot\n%s", want, got)
	}
	for _, prefix := range []string{"go_goroutines ", "process_resident_memory_bytes "} {
		if !strings.Contains(text, "\n"+prefix) {
			t.Errorf("no %s", prefix)
		}
	}
}

func repeat(n int, f func()) {
	for range n {
		f()
	}
}

// offerWithCertificate publishes a generation whose one certificate ends at expiry.
func (d *daemon) offerWithCertificate(number uint64, expiry time.Time) {
	d.t.Helper()
	authority, key := certtest.NewAuthority(d.t), certtest.Key(d.t)
	material := certs.Material{
		Name: "made for this test",
		Cert: certtest.Chain(authority.Leaf(d.t, key.Public(), expiry, "a.test")),
		Key:  certtest.PKCS8(d.t, key),
	}
	set, _, problems := certs.Build([]certs.Material{material})
	table, diagnostics := route.Compile(route.Spec{Certs: []route.CertSpec{{Host: "a.test", ID: material.ID()}}})
	if len(problems)+len(diagnostics) > 0 {
		d.t.Fatal(problems, diagnostics)
	}
	d.control.Offer(generation.Compiled{Number: number, Table: table, Certs: set})
	if _, err := d.control.WaitHandled(d.t.Context(), number); err != nil {
		d.t.Fatal(err)
	}
}

// TestManyRoutes (O02): ten thousand routes add no series, and all of them are listed.
func TestManyRoutes(t *testing.T) {
	d := start(t)
	d.offer(1, "backend web roundRobin HTTP\nroute a.test / Prefix -> web\n")
	_, few := d.ask(http.MethodGet, PathMetrics, nil, nil)

	const routes = 10_000
	var text strings.Builder
	text.WriteString("backend web roundRobin HTTP\n  endpoint 10.0.0.1:80\n")
	for i := range routes {
		fmt.Fprintf(&text, "route h%d.test /path/%d Prefix -> web\n", i%1000, i)
	}
	d.offer(2, text.String())
	for i, r := range d.live.Table().Routes() {
		r.Counters.Count(uint32(i), route.Sample{HasLatency: true, Latency: time.Duration(i)})
	}
	_, many := d.ask(http.MethodGet, PathMetrics, nil, nil)
	if a, b := series(few), series(many); a != b {
		t.Errorf("%d series with 1 route, %d with %d", a, b, routes)
	}

	res, body := d.ask(http.MethodGet, PathRoutes, nil, nil)
	var answer Routes
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Routes) != routes || answer.Generation != 2 || answer.Version != Version {
		t.Errorf("got %d routes of generation %d", len(answer.Routes), answer.Generation)
	}
	if res.ContentLength >= 0 {
		t.Errorf("%d bytes were gathered before they were sent", res.ContentLength)
	}
}

// series counts the lines that are no comment. The Go runtime's own may vary with
// what it did, but are fixed in number.
func series(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			n++
		}
	}
	return n
}

// TestReadersAndWriters runs every operation against changing generations at once;
// it is for the race detector.
func TestReadersAndWriters(t *testing.T) {
	d := start(t)
	d.offer(1, "backend web roundRobin HTTP\nroute a.test / Prefix -> web\n")
	handler := NewHandler(Options{Controller: d.control, Metrics: &d.metrics})
	done := make(chan struct{})
	for _, op := range []struct{ method, path string }{
		{http.MethodGet, PathGenerations}, {http.MethodGet, PathRoutes}, {http.MethodGet, PathMetrics},
		{http.MethodPost, PathRollback}, {http.MethodDelete, PathRollback},
	} {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 20 {
				r, err := http.NewRequestWithContext(t.Context(), op.method, op.path, strings.NewReader(`{"generation":1}`))
				if err != nil {
					t.Error(err)
					return
				}
				handler.ServeHTTP(discard{http.Header{}}, r)
			}
		}()
	}
	for i := range uint64(20) {
		d.offer(i+2, fmt.Sprintf("backend web roundRobin HTTP\nroute h%d.test / Prefix -> web\n", i))
	}
	for range 5 {
		<-done
	}
	if s := d.control.State(); !s.Ready() {
		t.Errorf("not ready any more: %+v", s)
	}
}

// discard is an answer nobody reads.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// The single writer is what the interface is made for.
var _ Controller = (*control.Control)(nil)
