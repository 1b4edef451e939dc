package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/route"
)

// everywhere are the flags of a demo on free ports, with all parts on that have to
// be ended.
var everywhere = []string{
	"--demo", "--http=127.0.0.1:0", "--https=127.0.0.1:0", "--admin=127.0.0.1:0", "--log-format=json", "--access-log=json",
}

// text is what several goroutines write.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (w *text) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *text) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// take returns what was written since the last call.
func (w *text) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.b.String()
	w.b.Reset()
	return all
}

// client is one that keeps no connection and believes every certificate.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "shop.localhost"}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

func get(t *testing.T, c *http.Client, url string) (status int, body string) {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = "shop.localhost"
	r, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(all)
}

// places is where a daemon listens.
type places struct{ HTTP, HTTPS, Admin string }

// banner reads that from its log.
func banner(t *testing.T, log string) (at places) {
	t.Helper()
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"msg":"serving"`) {
			if err := json.Unmarshal([]byte(line), &at); err != nil {
				t.Fatal(err)
			}
		}
	}
	return at
}

// TestStartAndStop starts all parts in this process, asks each listener, and stops
// them. TestMain sees whether a goroutine is left.
func TestStartAndStop(t *testing.T) {
	posts := make(chan string, 4)
	collector := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts <- string(body)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { defer close(served); _ = collector.Serve(l) }()
	defer func() { collector.Close(); <-served }()

	var out, log text
	c := flagsOf(t, append(everywhere, "--audit-webhook=http://"+l.Addr().String())...)
	d, err := start(c, slog.New(slog.NewJSONHandler(&log, nil)), &out)
	if err != nil {
		t.Fatal(err)
	}
	at := banner(t, log.String()) // start is over, and so is its banner
	for url, want := range map[string]string{
		"http://" + at.HTTP + "/version":             "next-1 answers GET /version for shop.localhost over http",
		"https://" + at.HTTPS + "/version":           "over https",
		"http://" + at.Admin + "/admin/generations":  `"serving":0`,
		"http://" + at.Admin + "/metrics":            "ramjet_access_log_dropped_total 0",
		"http://" + at.Admin + "/admin/routes?x=any": "shop.localhost",
	} {
		if status, body := get(t, client(t), url); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q, want %q in it", url, status, body, want)
		}
	}
	d.stop(context.Background()) // waits for what is being posted
	close(posts)
	if body := <-posts; !strings.Contains(body, "default backend now fallback (gen 0→0)") {
		t.Errorf("the collector got %q", body)
	}
	for _, address := range []string{at.HTTP, at.HTTPS, at.Admin} {
		if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s after the end: %v, want it refused", address, err)
			if err == nil {
				conn.Close()
			}
		}
	}
	if n := strings.Count(out.String(), `"path":"/version"`); n != 2 {
		t.Errorf("%d lines of the access log, want 2:\n%s", n, out.String())
	}
}

// TestFailedStart: after each refusal nothing is left running, which TestMain sees,
// and no port bound.
func TestFailedStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for intent, flag := range map[string]string{
		"a port is taken":            "--admin=" + taken.Addr().String(),
		"the token is not there":     "--admin-token-file=testdata/none",
		"the route file is no route": "",
	} {
		args := append(everywhere, flag)
		if flag == "" {
			args = append(everywhere[1:], "--static-routes=start_test.go")
		}
		d, err := start(flagsOf(t, args...), slog.New(slog.DiscardHandler), t.Output())
		if err == nil {
			d.stop(context.Background())
			t.Errorf("%s, and it started", intent)
		}
	}
}

// TestPoolsFollowTheTable: of an endpoint that the serving table does not name no
// connection is kept, of one that it names it is.
func TestPoolsFollowTheTable(t *testing.T) {
	d, err := start(flagsOf(t, everywhere...), slog.New(slog.DiscardHandler), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop(context.Background())
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	for address, want := range map[string]int{
		d.demo.backends[0].Endpoints[0].Address: 1,
		stranger.Addr().String():                0,
	} {
		c, err := d.pools.Dial(context.Background(), address)
		if err != nil {
			t.Fatal(err)
		}
		c.Put()
		if n := d.pools.Idle(address); n != want {
			t.Errorf("%d connections to %s are kept, want %d", n, address, want)
		}
	}
}

// TestEndpointsOf: all endpoints of all backends, those that drain too.
func TestEndpointsOf(t *testing.T) {
	table, _ := route.Compile(route.Spec{Backends: []route.BackendSpec{
		{Name: "a", Endpoints: []route.EndpointSpec{{Address: "192.0.2.1:80", Weight: 1}, {Address: "192.0.2.2:80"}}},
		{Name: "b", Endpoints: []route.EndpointSpec{{Address: "192.0.2.1:81", Weight: 1}}},
		{Name: "c"},
	}})
	if got := strings.Join(endpointsOf(table), " "); got != "192.0.2.1:80 192.0.2.2:80 192.0.2.1:81" {
		t.Error(got)
	}
}
