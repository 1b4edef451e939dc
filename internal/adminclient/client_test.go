package adminclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// metrics is the least that a daemon says.
const metrics = `# TYPE ramjet_requests_total counter
ramjet_requests_total{code="1xx"} 1
ramjet_requests_total{code="2xx"} 20
ramjet_requests_total{code="3xx"} 3
ramjet_requests_total{code="4xx"} 4
ramjet_requests_total{code="5xx"} 5
# TYPE ramjet_upstream_latency_seconds histogram
ramjet_upstream_latency_seconds_bucket{le="+Inf"} 10
ramjet_upstream_latency_seconds_sum 2.5
ramjet_upstream_latency_seconds_count 10
ramjet_active_connections 7
ramjet_route_table_generation 3
ramjet_pinned 1
process_start_time_seconds 1.7000000005e+09
some_other{label="{\"}"} 1
`

// daemon answers by path; what is not given is the least that a daemon says.
type daemon map[string]http.HandlerFunc

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func (d daemon) start(t *testing.T, token string) *adminclient.Client {
	t.Helper()
	least := daemon{
		admin.PathMetrics: say(metrics), admin.PathRoutes: say(`{"version":1,"generation":3,"routes":[]}`),
		admin.PathGenerations: say(`{"version":1,"serving":3,"pinned":3,"generations":[]}`),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do, ok := d[r.URL.Path]; ok {
			do(w, r)
			return
		}
		if do, ok := least[r.URL.Path]; ok {
			do(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	c := adminclient.New(adminclient.Options{
		Target: adminclient.Target{Name: "daemon:10254", URL: s.URL}, Token: token, Timeout: time.Minute, Now: func() time.Duration { return 5 * time.Second },
	})
	t.Cleanup(c.Close)
	return c
}

func TestRead(t *testing.T) {
	r, err := daemon{}.start(t, "").Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := adminclient.Counters{Requests: 33, Errors5xx: 5, LatencyCount: 10, LatencyMillis: 2500}
	if got := r.Series.Counters(); got != want {
		t.Errorf("the counters are %+v, want %+v", got, want)
	}
	started, ok := r.Series.Started()
	if !ok || started.UnixMilli() != 1700000000500 || r.Series.Connections() != 7 {
		t.Errorf("started %v %v, %v connections", started, ok, r.Series.Connections())
	}
	if r.Generations.Serving != 3 || *r.Generations.Pinned != 3 || r.Routes.Generation != 3 || r.RoutesAt != 5*time.Second || r.Date.IsZero() {
		t.Errorf("read %+v", r)
	}
	if _, has := r.Series["some_other"]; has || len(r.Series) != 11 {
		t.Errorf("the series read are %v", r.Series)
	}
}

// What is no answer of the interface is an error of one line that says so.
func TestStrangers(t *testing.T) {
	large := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version":1,"routes":[`)
		for part := strings.Repeat(" ", 1<<20); ; {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
	}
	for _, c := range []struct {
		intent string
		daemon daemon
		want   string
	}{
		{"another program", daemon{admin.PathRoutes: say("<html>")}, "daemon:10254/admin/routes: this is not the answer of a ramjet-ingressd admin port: invalid character '<'"},
		{"an empty answer", daemon{admin.PathRoutes: say("")}, "unexpected end of JSON"},
		{"other JSON", daemon{admin.PathGenerations: say(`{"a":1}`)}, "there is no version in it"},
		{"a list", daemon{admin.PathGenerations: say(`[]`)}, "cannot unmarshal array"},
		{"another version", daemon{admin.PathRoutes: say(`{"version":2}`)}, "the answer is of version 2, and this program knows version 1"},
		{"a negative number", daemon{admin.PathRoutes: say(`{"version":1,"routes":[{"requests_total":-1}]}`)}, "cannot unmarshal number -1"},
		{"a number out of bounds", daemon{admin.PathRoutes: say(`{"version":1,"routes":[{"upstream_latency_ms_sum":1e999}]}`)}, "cannot unmarshal number"},
		{"no end", daemon{admin.PathRoutes: large}, "the answer is larger than 65536 KiB"},
		{"metrics of another", daemon{admin.PathMetrics: say("go_goroutines 7\n")}, "there is no ramjet_active_connections in it"},
		{"a class is missing", daemon{admin.PathMetrics: say(strings.ReplaceAll(metrics, `{code="5xx"}`, `{code="6xx"}`))}, `there is no ramjet_requests_total{code="5xx"} in it`},
		{"not a number", daemon{admin.PathMetrics: say(strings.ReplaceAll(metrics, "connections 7", "connections NaN"))}, "ramjet_active_connections is NaN"},
		{"below zero", daemon{admin.PathMetrics: say(strings.ReplaceAll(metrics, "connections 7", "connections -7"))}, "ramjet_active_connections is -7"},
		{"no exposition", daemon{admin.PathMetrics: say("\x00\x1b[31m{{{\n")}, "/metrics: this is not the answer"},
		{"a status", daemon{admin.PathMetrics: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) }}, "daemon:10254/metrics: 599"},
		{"a status with a reason", daemon{admin.PathMetrics: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			fmt.Fprint(w, `{"error":"stopping\r\n\u001b[2J"}`)
		}}, "503 Service Unavailable: stopping\uFFFD[2J"},
		{"a long reason that takes no columns", daemon{admin.PathMetrics: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(503)
			fmt.Fprintf(w, `{"error":"%s"}`, strings.Repeat(`\u001b[31m`, 3000))
		}}, "503 Service Unavailable: \uFFFD[31m"},
		{"a redirect is not followed", daemon{admin.PathMetrics: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}}, "307 Temporary Redirect"},
		{"it breaks off", daemon{admin.PathRoutes: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"version":1`)
		}}, "the connection broke off"},
	} {
		t.Run(c.intent, func(t *testing.T) {
			r, err := c.daemon.start(t, "").Read(t.Context())
			var e *adminclient.Error
			if r != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q in it", err, c.want)
			}
			if strings.ContainsAny(err.Error(), "\x1b\r\n\x00") || len(err.Error()) > 600 {
				t.Errorf("%q is not fit for one line", err)
			}
		})
	}
}

// Who said why is told apart: the daemon, or a proxy on the way to it.
func TestWhoRefuses(t *testing.T) {
	for body, want := range map[string]bool{`{"error":"stopping"}`: true, `{"message":"no endpoints"}`: false, `{"error":""}`: false, "<html>": false, "": false} {
		refuse := func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, body)
		}
		var e *adminclient.Error
		if _, err := (daemon{admin.PathRollback: refuse}).start(t, "").Release(t.Context()); !errors.As(err, &e) || e.Told != want {
			t.Errorf("%q: %+v, told %v", body, e, want)
		}
	}
}

// An answer to a pin that is no end of words is an error that tells the bound.
func TestBoundOfPin(t *testing.T) {
	_, err := daemon{admin.PathRollback: say(strings.Repeat(" ", 1<<20))}.start(t, "").Pin(t.Context(), 41, "")
	if err == nil || !strings.Contains(err.Error(), "the answer is larger than 64 KiB") {
		t.Errorf("%v", err)
	}
}

// A daemon that does not answer is given up in time.
func TestSlow(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer s.Close()
	defer close(release)
	c := adminclient.New(adminclient.Options{Target: adminclient.Target{Name: "slow", URL: s.URL}, Timeout: 50 * time.Millisecond, Now: func() time.Duration { return 0 }})
	defer c.Close()
	if _, err := c.Read(t.Context()); err == nil || err.Error() != "slow/metrics: no answer within 50ms" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Read(ctx); err == nil || err.Error() != "slow/metrics: given up" {
		t.Errorf("%v", err)
	}
}

// The token goes with pin and release and nowhere else, not even where a server sends
// us.
func TestToken(t *testing.T) {
	var seen []string
	note := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+string(body)))
		switch len(seen) {
		case 1:
			fmt.Fprint(w, `{"pinned":41,"serving":41}`)
		case 2:
			fmt.Fprint(w, `{"pinned":null,"serving":42}`)
		case 3:
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		default:
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"this needs the admin token"}`)
		}
	}
	gated := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "" {
				t.Errorf("the token was sent with %s %s", r.Method, r.URL.Path)
			}
			next(w, r)
		}
	}
	c := daemon{
		admin.PathRollback: note, admin.PathMetrics: gated(say(metrics)), "/elsewhere": gated(say("")),
	}.start(t, "open sesame")
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p, err := c.Pin(t.Context(), 41, "0123456789abcdef"); err != nil || p.Serving != 41 || p.Pinned == nil || *p.Pinned != 41 {
		t.Errorf("%+v %v", p, err)
	}
	if p, err := c.Release(t.Context()); err != nil || p.Serving != 42 || p.Pinned != nil {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := c.Pin(t.Context(), 40, ""); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("%v", err)
	}
	var e *adminclient.Error
	if _, err := c.Release(t.Context()); !errors.As(err, &e) || e.Status != 401 || e.Reason != "401 Unauthorized: this needs the admin token" || e.Said.Error != "this needs the admin token" {
		t.Errorf("%v", err)
	}
	want := []string{
		`POST /admin/rollback Bearer open sesame {"generation":41,"digest":"0123456789abcdef"}`, "DELETE /admin/rollback Bearer open sesame",
		`POST /admin/rollback Bearer open sesame {"generation":40}`, "DELETE /admin/rollback Bearer open sesame",
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("asked\n%q, want\n%q", seen, want)
	}
}

func TestTargets(t *testing.T) {
	for _, c := range []struct{ text, name, url string }{
		{"127.0.0.1:10254", "127.0.0.1:10254", "http://127.0.0.1:10254"},
		{"pod-7", "pod-7:10254", "http://pod-7:10254"},
		{":8080", "127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"8080", "127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"[::1]:8080", "[::1]:8080", "http://[::1]:8080"},
		{"", "", ""}, {"host:", "", ""}, {"host:0", "", ""}, {"host:70000", "", ""}, {"::1", "", ""}, {"a b:80", "", ""}, {"user@host:80", "", ""},
		{"host/path:80", "", ""}, {"http://host:80", "", ""}, {"h\x1b[31m:80", "", ""}, {"99999", "", ""},
	} {
		got, err := adminclient.ParseTarget(c.text)
		if (err == nil) != (c.url != "") || got.Name != c.name || got.URL != c.url {
			t.Errorf("ParseTarget(%q) = %+v, %v", c.text, got, err)
		}
	}
	for _, c := range []struct{ text, name, url string }{
		{"http://host:80", "host:80", "http://host:80"},
		{"http://host:80/", "host:80", "http://host:80"},
		{"https://host", "https://host", "https://host"},
		{"http://127.0.0.1:8001/api/v1/namespaces/ramjet/pods/a:10254/proxy/", "http://127.0.0.1:8001/api/v1/namespaces/ramjet/pods/a:10254/proxy", "http://127.0.0.1:8001/api/v1/namespaces/ramjet/pods/a:10254/proxy"},
		{"host:80", "", ""}, {"", "", ""}, {"http://", "", ""}, {"http://u:secret@host", "", ""}, {"http://host/?q", "", ""}, {"http://host/#f", "", ""}, {"http://[::1", "", ""},
	} {
		got, err := adminclient.ParseURL(c.text)
		if (err == nil) != (c.url != "") || got.Name != c.name || got.URL != c.url {
			t.Errorf("ParseURL(%q) = %+v, %v", c.text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the password is shown: %v", err)
		}
	}
}
