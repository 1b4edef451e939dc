package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata (read the diff)")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemon is a control loop with the interface in front of it, on a real socket.
type daemon struct {
	t       *testing.T
	control *control.Control
	live    *generation.Live
	metrics engine.Metrics
	token   string
	base    string // URL, "" until the first request
	stop    context.CancelFunc
	client  *http.Client
}

// start runs a control loop whose clock moves a minute with each generation.
func start(t *testing.T) *daemon {
	clock := time.Date(2026, 3, 4, 5, 6, 7, 890, time.FixedZone("elsewhere", 3600))
	d := &daemon{t: t, live: &generation.Live{}, client: &http.Client{Transport: &http.Transport{}}}
	d.control = control.New(control.Options{
		History: generation.NewHistory(3),
		Live:    d.live,
		Now:     func() time.Time { clock = clock.Add(time.Minute); return clock },
	})
	ctx, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	done := make(chan error, 1)
	go func() { done <- d.control.Run(ctx) }()
	t.Cleanup(func() {
		d.client.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return d
}

// offer publishes a table in the canonical text form and waits until it is in effect.
func (d *daemon) offer(number uint64, text string) {
	d.t.Helper()
	spec, err := route.ParseText(text)
	if err != nil {
		d.t.Fatal(err)
	}
	table, diagnostics := route.Compile(spec, d.control.State().Tables()...)
	if len(diagnostics) > 0 {
		d.t.Fatal(diagnostics)
	}
	d.control.Offer(generation.Compiled{Number: number, Table: table})
	if _, err := d.control.WaitHandled(d.t.Context(), number); err != nil {
		d.t.Fatal(err)
	}
}

// listen starts the server at the first request, so that a token can be set before.
func (d *daemon) listen() string {
	d.t.Helper()
	if d.base != "" {
		return d.base
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	handler := NewHandler(Options{Controller: d.control, Metrics: &d.metrics, Token: d.token, Version: "1.2.3"})
	server := NewServer(handler, slog.New(slog.DiscardHandler))
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	d.t.Cleanup(func() {
		d.client.CloseIdleConnections()
		if err := server.Shutdown(context.Background()); err != nil {
			d.t.Error(err)
		}
		if err := <-done; err != nil {
			d.t.Error(err)
		}
	})
	d.base = "http://" + l.Addr().String()
	return d.base
}

// ask sends a request and returns the answer with its body.
func (d *daemon) ask(method, path string, header http.Header, body io.Reader) (*http.Response, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.listen()+path, body)
	if err != nil {
		d.t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	res, err := d.client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	return res, string(text)
}

// TestInterface runs the scripts of testdata. A paragraph is a sentence of intent
// (#), one command, and with a bar what came out of it. Commands are
//
//	token TEXT               before the first request
//	offer NUMBER             with the table in text form, indented
//	count HOST PATH SAMPLE…  counts on a route: own, canary, with 5xx behind a +
//	stop                     ends the control loop
//	METHOD PATH BODY         with header fields, indented; "digest of 41" in the
//	                         body stands for that of generation 41
func TestInterface(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			script, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := start(t).run(string(script))
			if *update {
				if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(script) {
				t.Errorf("want\n%s\ngot\n%s", script, got)
			}
		})
	}
}

func (d *daemon) run(script string) string {
	var out []string
	for paragraph := range strings.SplitSeq(strings.TrimSpace(script), "\n\n") {
		var shown, command, indented []string
		for line := range strings.SplitSeq(paragraph, "\n") {
			switch {
			case strings.HasPrefix(line, "|"):
				continue
			case strings.HasPrefix(line, "  "):
				indented = append(indented, strings.TrimPrefix(line, "  "))
			case !strings.HasPrefix(line, "#"):
				command = append(command, line)
			}
			shown = append(shown, line)
		}
		if len(command) != 1 {
			d.t.Fatalf("want one command in\n%s", paragraph)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(d.do(command[0], indented)), "\n") {
			if line != "" {
				shown = append(shown, "| "+line)
			}
		}
		out = append(out, strings.Join(shown, "\n"))
	}
	return strings.Join(out, "\n\n") + "\n"
}

func (d *daemon) do(command string, indented []string) string {
	word, rest, _ := strings.Cut(command, " ")
	switch word {
	case "token":
		d.token = rest
	case "stop":
		d.stop()
		if _, err := d.control.Wait(d.t.Context(), 1<<60); err == nil {
			d.t.Fatal("the loop did not stop")
		}
	case "offer":
		var number uint64
		if _, err := fmt.Sscan(rest, &number); err != nil {
			d.t.Fatal(err)
		}
		d.offer(number, strings.Join(indented, "\n")+"\n")
	case "count":
		d.count(strings.Fields(rest))
	default:
		return d.exchange(word, rest, indented)
	}
	return ""
}

func (d *daemon) count(words []string) {
	r := d.live.Table().Match(words[0], words[1])
	for i, kind := range words[2:] {
		r.Counters.Count(uint32(i), route.Sample{
			Canary:     strings.HasPrefix(kind, "canary"),
			Error5xx:   strings.HasSuffix(kind, "+5xx"),
			HasLatency: true, Latency: 1500 * time.Microsecond,
		})
	}
}

var (
	digest   = regexp.MustCompile(`"digest": "[0-9a-f]{16}"`)
	digestOf = regexp.MustCompile(`digest of (\d+)`)
)

// digests puts the digests of kept generations into a body.
func (d *daemon) digests(body string) string {
	return digestOf.ReplaceAllStringFunc(body, func(text string) string {
		for _, g := range d.control.State().Kept {
			if text == fmt.Sprintf("digest of %d", g.Number) {
				return g.Table.Digest()
			}
		}
		d.t.Fatalf("there is no %s", text)
		return ""
	})
}

func (d *daemon) exchange(method, rest string, fields []string) string {
	path, body, _ := strings.Cut(rest, " ")
	header := http.Header{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		header.Add(name, value)
	}
	res, text := d.ask(method, path, header, strings.NewReader(d.digests(body)))
	out := fmt.Sprintf("%d %s\n", res.StatusCode, res.Header.Get("Content-Type"))
	for _, name := range []string{"Allow", "WWW-Authenticate"} {
		if v := res.Header.Get(name); v != "" {
			out += name + ": " + v + "\n"
		}
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, []byte(text), "", "  ") == nil {
		text = digest.ReplaceAllString(pretty.String(), `"digest": "(16 hex)"`)
	}
	return out + text
}
