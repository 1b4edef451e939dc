//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// entry is a line of the access log in JSON. Pointers tell what is absent.
type entry struct {
	Time            time.Time `json:"time"`
	Client          string    `json:"client"`
	Method          *string   `json:"method"`
	Host            string    `json:"host"`
	Path            string    `json:"path"`
	Protocol        string    `json:"protocol"`
	Status          int       `json:"status"`
	BytesIn         int64     `json:"bytes_in"`
	BytesOut        int64     `json:"bytes_out"`
	Duration        *float64  `json:"duration"`
	UpstreamAddr    string    `json:"upstream_addr"`
	UpstreamLatency *float64  `json:"upstream_latency"`
	Route           string    `json:"route"`
	Backend         string    `json:"backend"`
	Canary          bool      `json:"canary"`
	Truncated       bool      `json:"truncated"`
	RequestID       string    `json:"request_id"`
	UserAgent       string    `json:"user_agent"`
	Referer         string    `json:"referer"`
}

// parse reads one line and wants to know every member of it.
func parse(t *testing.T, line string) (e entry) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if d.More() {
		t.Fatalf("more than one value: %s", line)
	}
	return e
}

// logged is a daemon with an access log in front of backends of all kinds.
type logged struct {
	*daemon.Child
	daemon.Addresses
	main, next string        // where two of them listen
	waiting    chan struct{} // a request that is never answered has arrived
}

func startLogged(t *testing.T, format string) *logged {
	t.Helper()
	l := &logged{waiting: make(chan struct{}, 1)}
	l.main = origin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/hang":
			l.waiting <- struct{}{}
			<-r.Context().Done()
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "some")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "main!")
	})
	l.next = origin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "next") })
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	routes := daemon.Write(t, t.TempDir(), "routes.yaml", fmt.Sprintf(`
backends:
  - {name: main, endpoints: [%q]}
  - {name: next, endpoints: [%q]}
  - {name: dead, endpoints: [%q]}
routes:
  - {host: a.test, path: /, pathType: Prefix, backend: main, canary: {backend: next, header: x-canary}}
  - {path: /dead, pathType: Prefix, backend: dead}
`, l.main, l.next, closed.Addr()))
	l.Child = daemon.Start(t, daemon.Setup{Args: append([]string{"--static-routes", routes, "--access-log", format}, loopback...)})
	l.Addresses = l.Serving()
	return l
}

// send sends bytes on a connection of their own and reads what comes to the end of
// the first response.
func (l *logged) send(t *testing.T, b string) {
	t.Helper()
	w := dial(t, l.HTTP)
	w.send(t, b)
	r, err := http.ReadResponse(w.in, nil)
	if err == nil {
		_, _ = io.Copy(io.Discard, r.Body) // it may be cut
		r.Body.Close()
	}
	w.Close()
}

func TestAccessLogJSON(t *testing.T) {
	l := startLogged(t, "json")
	before := time.Now().Add(-time.Millisecond)
	line := func(mark string) entry {
		t.Helper()
		return parse(t, l.Out.Wait(t, mark))
	}
	l.send(t, "POST /x/../api?q=%0d%0aFAKE HTTP/1.1\r\nHost: A.test:80\r\nContent-Length: 5\r\nX-Request-Id: my-id\r\nUser-Agent: agent/1\r\nReferer: http://r.test/\r\n\r\nhello")
	e := line("my-id")
	if e.Time.Before(before) || e.Time.After(time.Now()) || e.Time.Location() != time.UTC {
		t.Errorf("time %v", e.Time)
	}
	if e.Duration == nil || *e.Duration <= 0 || e.UpstreamLatency == nil || *e.UpstreamLatency <= 0 || *e.UpstreamLatency > *e.Duration {
		t.Errorf("duration %v, of it upstream %v", e.Duration, e.UpstreamLatency)
	}
	post := "POST"
	e.Time, e.Duration, e.UpstreamLatency = time.Time{}, nil, nil
	want := entry{Client: "127.0.0.1", Method: &post, Host: "A.test:80", Path: "/x/../api?q=%0d%0aFAKE", Protocol: "HTTP/1.1", Status: 201,
		BytesIn: 5, BytesOut: 5, UpstreamAddr: l.main, Route: "a.test /", Backend: "main", RequestID: "my-id",
		UserAgent: "agent/1", Referer: "http://r.test/"}
	if got, want := fmt.Sprintf("%s %+v", *e.Method, withoutPointers(e)), fmt.Sprintf("POST %+v", withoutPointers(want)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	l.send(t, "GET /canary HTTP/1.1\r\nHost: a.test\r\nX-Canary: always\r\n\r\n")
	if e := line("/canary"); !e.Canary || e.Backend != "next" || e.UpstreamAddr != l.next || e.BytesOut != 4 || len(e.RequestID) != 32 {
		t.Errorf("a canary's line is %+v", e)
	}
	l.send(t, "GET /cut HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if e := line("/cut"); !e.Truncated || e.Status != 201 && e.Status != 200 || e.BytesOut != 4 {
		t.Errorf("that of a response that broke off is %+v", e)
	}
	l.send(t, "GET /dead HTTP/1.1\r\nHost: b.test\r\n\r\n")
	if e := line("/dead"); e.Status != 502 || e.UpstreamLatency != nil || e.UpstreamAddr == "" || e.Route != "* /dead" {
		t.Errorf("that of a dead backend is %+v", e)
	}
	l.send(t, "GET /nowhere HTTP/1.1\r\nHost: b.test\r\n\r\n")
	if e := line("/nowhere"); e.Status != 404 || e.Route != "" || e.Backend != "" || e.UpstreamAddr != "" {
		t.Errorf("that of a miss is %+v", e)
	}
	l.send(t, "GET /refused HTTP/1.1\r\nHost: a.test\r\nBad Name: x\r\n\r\n")
	if e := line(`"status":400`); e.Method != nil || e.Path != "" || e.Client != "127.0.0.1" {
		t.Errorf("that of a refused head is %+v", e)
	}
	w := dial(t, l.HTTP)
	w.send(t, "GET /hang HTTP/1.1\r\nHost: a.test\r\n\r\n")
	soon(t, l.waiting, "the request at the backend")
	w.Close()
	if e := line("/hang"); e.Status != 499 || e.UpstreamLatency != nil || e.UpstreamAddr != l.main {
		t.Errorf("that of a client that went away is %+v", e)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	defer client.CloseIdleConnections()
	r, err := client.Get("http://" + l.HTTP + "/h2")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if e := line("/h2"); e.Protocol != "HTTP/2.0" || e.Host != l.HTTP {
		t.Errorf("that of HTTP/2 is %+v", e)
	}
}

func withoutPointers(e entry) entry {
	e.Method, e.Duration, e.UpstreamLatency = nil, nil, nil
	return e
}

// hostile are values that would forge a line, a field, an object or a terminal's
// state.
var hostile = func() []string {
	var every []byte
	for b := 1; b < 256; b++ {
		if b != '\n' && b != '\r' {
			every = append(every, byte(b))
		}
	}
	return []string{`a" 200 "x`, `{"a":1}`, `\" \\ \x22`, "\x1b[2J\x1b]0;owned\x07", "\u2028\u2029\u202e", "\xff\xfe\xc3(", "\t\x7f\x80\x9b", string(every[:]),
		strings.Repeat("long ", 2000)}
}()

// oneLine is all that a line may be made of.
var oneLine = regexp.MustCompile(`^[ -~]*$`)

// TestAccessLogHostile (O04): one request is one line of printable ASCII, whatever it says.
func TestAccessLogHostile(t *testing.T) {
	text := regexp.MustCompile(`^127\.0\.0\.1 - - \[[^]]+\] "(-|\S+ \S+ \S+)" \d{3} \d+ "[^"]*" "[^"]*" host="[^"]*" bytes_in=\d+ duration=[\d.]+ upstream_addr="[^"]*" upstream_latency=\S+ route="[^"]*" backend="[^"]*" canary=(true|false) truncated=(true|false) request_id="[^"]*"$`)
	for _, format := range []string{"json", "text"} {
		t.Run(format, func(t *testing.T) {
			l := startLogged(t, format)
			sent := 0
			for _, v := range hostile {
				for _, request := range []string{
					"GET /%0d%0aFAKE HTTP/1.1\r\nHost: a.test\r\nUser-Agent: " + v + "\r\nReferer: " + v + "\r\nX-Request-Id: " + v + "\r\n\r\n",
					"GET /" + v + " HTTP/1.1\r\nHost: a.test\r\n\r\n",
					"GET / HTTP/1.1\r\nHost: " + v + "\r\n\r\n",
					v + " / HTTP/1.1\r\nHost: a.test\r\n\r\n",
				} {
					l.send(t, request)
					sent++
				}
			}
			l.send(t, "GET / HTTP/1.1\r\nHost: "+strings.Repeat("h", 8<<10)+"\r\n\r\n")
			l.send(t, "GET /the-last HTTP/1.1\r\nHost: a.test\r\n\r\n")
			l.Out.Wait(t, "/the-last")
			l.Signal(syscall.SIGTERM)
			if code := l.Exit(); code != 0 {
				t.Errorf("exit status %d", code)
			}
			lines := strings.Split(strings.TrimSuffix(l.Out.String(), "\n"), "\n")
			if len(lines) != sent+2 {
				t.Errorf("%d lines for %d requests", len(lines), sent+2)
			}
			for _, line := range lines {
				if !oneLine.MatchString(line) || len(line) > 64<<10 {
					t.Errorf("not a line: %q", line)
				}
				if format == "json" {
					parse(t, line)
				} else if !text.MatchString(line) {
					t.Errorf("not of the form: %s", line)
				}
			}
		})
	}
}

// TestAccessLogBlocked: with a standard output that nobody reads, requests are served
// as ever, what does not fit is counted, and every line that was written is whole.
func TestAccessLogBlocked(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	endpoint := origin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	routes := daemon.Write(t, t.TempDir(), "routes.yaml", fmt.Sprintf(`
backends:
  - {name: app, endpoints: [%q]}
routes:
  - {path: /, pathType: Prefix, backend: app}
`, endpoint))
	c := daemon.Start(t, daemon.Setup{Args: append([]string{"--static-routes", routes, "--access-log", "json"}, loopback...), Stdout: write})
	write.Close()
	a := c.Serving()
	long := strings.Repeat("\xff", 2000)
	request := "GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: " + long + "\r\nReferer: " + long + "\r\n\r\n"
	const most = 2000
	sent, slowest := 0, time.Duration(0)
	w := dial(t, a.HTTP)
	for ; sent < most && dropped(t, a.Admin) == 0; sent += 50 {
		for range 50 {
			began := time.Now()
			w.send(t, request)
			r, err := http.ReadResponse(w.in, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
			slowest = max(slowest, time.Since(began))
		}
	}
	w.Close()
	lost := dropped(t, a.Admin)
	t.Logf("%d requests, the slowest took %v, %d lines dropped", sent, slowest, lost)
	if lost == 0 {
		t.Error("nothing was dropped although nobody reads")
	}
	var out bytes.Buffer
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(&out, read) })
	c.Signal(syscall.SIGTERM)
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	reading.Wait()
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for _, line := range lines {
		parse(t, line)
	}
	// The last one is booked after its answer, and may have been dropped after lost
	// was asked for.
	if n := len(lines) + lost; n > sent || n < sent-1 {
		t.Errorf("%d lines written and %d dropped for %d requests", len(lines), lost, sent)
	}
}

// dropped is what the metric says.
func dropped(t *testing.T, admin string) (n int) {
	t.Helper()
	_, body := ask(t, "GET", "http://"+admin+"/metrics", "", "")
	for line := range strings.Lines(body) {
		if value, ok := strings.CutPrefix(line, "ramjet_access_log_dropped_total "); ok {
			if _, err := fmt.Sscan(value, &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("there is no such metric")
	return 0
}
