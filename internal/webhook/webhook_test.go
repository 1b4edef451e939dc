package webhook

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCheckURL(t *testing.T) {
	for raw, words := range map[string]string{
		"http://collector.observability.svc:8080/ingress-audit": "",
		"HTTP://collector":            "",
		"http://[::1]:9000":           "",
		"https://collector":           "carries no TLS client; point it to a collector inside the cluster",
		"HTTPS://collector":           "TLS",
		"collector:8080":              "only http://",
		"ftp://collector":             "only http://",
		"":                            "only http://",
		"http://":                     "names no host",
		"http://:8080/x":              "names no host",
		"http://collector:65536":      "port",
		"http://collector:0":          "port",
		"http:collector":              "names no host",
		"http://bad host/":            "not a URL",
		"gopher://me:secret@coll":     "only http://",
		"http://me:secret@bad host:x": "not a URL",
		"https://me:secret@collector": "TLS",
		"me:secret@collector":         "only http://",
		"http:secret@collector":       "names no host",
		"http://me:secret/@collector": "not a URL",
		"http://me:secret@coll:99999": "port",
	} {
		err := CheckURL(raw)
		switch {
		case words == "" && err != nil:
			t.Errorf("%q refused: %v", raw, err)
		case words != "" && (err == nil || !strings.Contains(err.Error(), words)):
			t.Errorf("%q: %v, want …%s…", raw, err, words)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("%q: the error shows the password: %v", raw, err)
		}
	}
}

// collector is a real HTTP server that hands what it receives to the test.
type collector struct {
	*httptest.Server
	bodies chan string
}

func newCollector(t *testing.T, answer http.HandlerFunc) *collector {
	c := &collector{bodies: make(chan string, 200)}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.bodies <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Content-Type") + " " + string(body)
		answer(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func accept(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }

// open starts a Webhook that logs into the buffer; close it before reading that.
func open(t *testing.T, target string) (*Webhook, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	w, err := New(Options{URL: target, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w, &log
}

func mustClose(t *testing.T, w *Webhook) {
	t.Helper()
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Events arrive in order (O06), those of pins too; what a pin holds back does not.
func TestDelivery(t *testing.T) {
	c := newCollector(t, accept)
	w, log := open(t, c.URL+"/ingress-audit")
	for _, e := range []audit.Event{
		audit.Config{Generation: 1, Published: true},
		audit.Pin{Generation: 1, Replaced: 1},
		audit.Config{Generation: 2, Previous: 1},
		audit.Resume{Generation: 2},
		audit.Config{Generation: 3, Previous: 2, Published: true},
	} {
		w.Record(e)
	}
	mustClose(t, w)
	close(c.bodies)
	var got []string
	for body := range c.bodies {
		prefix, rest, _ := strings.Cut(body, ",")
		got = append(got, prefix)
		if !strings.HasPrefix(rest, `"generation":`) {
			t.Errorf("body %s", body)
		}
	}
	want := `POST /ingress-audit application/json {"event":"config"
POST /ingress-audit application/json {"event":"pin"
POST /ingress-audit application/json {"event":"resume"
POST /ingress-audit application/json {"event":"config"`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	if s := w.Stats(); s != (Stats{Delivered: 4}) || log.Len() > 0 {
		t.Errorf("%+v, log %s", s, log)
	}
}

// O06: a redirect would let the collector send the configuration anywhere.
func TestRedirectIsNotFollowed(t *testing.T) {
	target := newCollector(t, accept)
	c := newCollector(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target.URL, http.StatusTemporaryRedirect)
	})
	w, log := open(t, c.URL)
	w.Record(audit.Resume{Generation: 7})
	mustClose(t, w)
	if len(target.bodies) != 0 || len(c.bodies) != 1 || w.Stats() != (Stats{Failed: 1}) {
		t.Errorf("%d requests to the target, %d to the collector, %+v", len(target.bodies), len(c.bodies), w.Stats())
	}
	if !strings.Contains(log.String(), "collector answered 307") {
		t.Error(log)
	}
}

// O06: a refused or broken delivery is logged and not repeated.
func TestNoRetry(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"500":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"closes": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCollector(t, answer)
			w, log := open(t, c.URL)
			w.Record(audit.Pin{Generation: 1, Replaced: 2})
			mustClose(t, w)
			if len(c.bodies) != 1 || w.Stats() != (Stats{Failed: 1}) {
				t.Errorf("%d requests, %+v", len(c.bodies), w.Stats())
			}
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "event=pin") {
				t.Errorf("log %q", log)
			}
		})
	}
}

// O06: a diff of 10,000 routes is one body like any other.
func TestLargeDiff(t *testing.T) {
	c := newCollector(t, accept)
	w, _ := open(t, c.URL)
	var d route.Diff
	for i := range 10_000 {
		d.RoutesAdded = append(d.RoutesAdded, fmt.Sprintf("host-%d.example.com / -> prod/web:80", i))
	}
	w.Record(audit.Config{Generation: 1, Published: true, Diff: d})
	mustClose(t, w)
	if body := <-c.bodies; !strings.Contains(body, "host-9999") || w.Stats().Delivered != 1 {
		t.Errorf("%d bytes, %+v", len(body), w.Stats())
	}
}

// Record after Close, and beside it, neither blocks nor panics nor gets lost.
func TestRecordAndClose(t *testing.T) {
	c := newCollector(t, accept)
	w, _ := open(t, c.URL)
	var records sync.WaitGroup
	for range 4 {
		records.Go(func() {
			for i := range 10 {
				w.Record(audit.Resume{Generation: uint64(i)})
			}
		})
	}
	mustClose(t, w)
	records.Wait()
	w.Record(audit.Resume{})
	mustClose(t, w)
	if s := w.Stats(); s.Delivered+s.Dropped != 41 || s.Failed != 0 || s.Dropped == 0 {
		t.Errorf("%+v", s)
	}
}

// pipeServer is a transport over pipes: one goroutine a connection runs serve with
// the server's end after the request was read. It lets time be faked.
func pipeServer(serving *sync.WaitGroup, serve func(net.Conn)) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			serving.Go(func() {
				defer server.Close()
				if r, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					serve(server)
				}
			})
			return client, nil
		},
	}
}

// hang answers nothing until the client goes away.
func hang(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// bubble runs a test in faked time with a Webhook whose collector runs serve.
func bubble(t *testing.T, serve func(net.Conn), test func(t *testing.T, w *Webhook, log *bytes.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		var serving sync.WaitGroup
		defer serving.Wait()
		var log bytes.Buffer
		target := &url.URL{Scheme: "http", Host: "collector", User: url.UserPassword("me", "secret")}
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		w := start(target, pipeServer(&serving, serve), logger)
		test(t, w, &log)
		if strings.Contains(log.String(), "secret") {
			t.Errorf("the log shows the password: %s", &log)
		}
	})
}

// O06: a collector that hangs costs a publish nothing, and itself five seconds an event,
// a bounded queue and one warning a minute.
func TestHangingCollector(t *testing.T) {
	bubble(t, hang, func(t *testing.T, w *Webhook, log *bytes.Buffer) {
		begin := time.Now()
		w.Record(audit.Resume{})
		synctest.Wait() // the goroutine has taken it
		for i := range 99 {
			w.Record(audit.Resume{Generation: uint64(i + 1)})
		}
		if passed := time.Since(begin); passed != 0 {
			t.Errorf("recording took %v", passed)
		}
		mustClose(t, w)
		if passed, want := time.Since(begin), (queueLength+1)*timeout; passed != want {
			t.Errorf("delivering took %v, want %v", passed, want)
		}
		if s := w.Stats(); s != (Stats{Failed: queueLength + 1, Dropped: 99 - queueLength}) {
			t.Errorf("%+v", s)
		}
		warnings := strings.Count(log.String(), "level=WARN msg=\"audit webhook delivery failed\"")
		if minutes := int((queueLength + 1) * timeout / time.Minute); warnings != minutes+1 {
			t.Errorf("%d warnings about failures in %d minutes", warnings, minutes)
		}
		if all := strings.Count(log.String(), "delivery failed"); all != queueLength+1 {
			t.Errorf("%d failures in the log, at any level", all)
		}
		if n := strings.Count(log.String(), "dropped=35"); n != 1 {
			t.Errorf("%d warnings about drops:\n%s", n, log)
		}
	})
}

// Five seconds bound the answer too: its head and its body.
func TestSlowAnswers(t *testing.T) {
	drip := func(prefix string) func(net.Conn) {
		return func(c net.Conn) {
			if _, err := io.WriteString(c, prefix); err != nil {
				return
			}
			for range time.Tick(time.Second) {
				if _, err := io.WriteString(c, "x"); err != nil {
					return
				}
			}
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"head": drip("HTTP/1.1 204 No Content\r\nX-"),
		"body": drip("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, serve, func(t *testing.T, w *Webhook, _ *bytes.Buffer) {
				begin := time.Now()
				w.Record(audit.Resume{})
				mustClose(t, w)
				if passed := time.Since(begin); passed != timeout {
					t.Errorf("took %v", passed)
				}
			})
		})
	}
}

// An answer without end is not read to its end.
func TestEndlessAnswer(t *testing.T) {
	var sent int
	endless := func(c net.Conn) {
		_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		for err == nil {
			var n int
			n, err = c.Write(make([]byte, 1000))
			sent += n
		}
	}
	bubble(t, endless, func(t *testing.T, w *Webhook, _ *bytes.Buffer) {
		w.Record(audit.Resume{})
		mustClose(t, w)
		synctest.Wait() // the collector has noticed that nobody reads on
		if sent > 64<<10 || w.Stats().Delivered != 1 {
			t.Errorf("%d bytes were taken, %+v", sent, w.Stats())
		}
	})
}

// Close gives up when its time is over: the delivery under way fails, the rest is
// dropped, nothing is left running.
func TestCloseGivesUp(t *testing.T) {
	bubble(t, hang, func(t *testing.T, w *Webhook, _ *bytes.Buffer) {
		for range 3 {
			w.Record(audit.Resume{})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close: %v", err)
		}
		if passed := time.Since(begin); passed != time.Second {
			t.Errorf("Close took %v", passed)
		}
		if s := w.Stats(); s != (Stats{Failed: 1, Dropped: 2}) {
			t.Errorf("%+v", s)
		}
	})
}

// A name that does not resolve, as when DNS is down, costs no publish anything and is no
// other failure (O06).
func TestNameDoesNotResolve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		const asks = 3 * time.Second // and asks, before the resolver gives up
		down := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			<-time.After(asks)
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "i/o timeout", Name: "collector", IsTimeout: true}}
		}}
		w := start(&url.URL{Scheme: "http", Host: "collector"}, down, slog.New(slog.NewTextHandler(&log, nil)))
		begin := time.Now()
		for i := range 2 {
			w.Record(audit.Resume{Generation: uint64(i)})
		}
		if passed := time.Since(begin); passed != 0 {
			t.Errorf("recording took %v", passed)
		}
		mustClose(t, w)
		if passed := time.Since(begin); passed != 2*asks {
			t.Errorf("delivering took %v, want %v", passed, 2*asks)
		}
		if s := w.Stats(); s != (Stats{Failed: 2}) || strings.Count(log.String(), "delivery failed") != 1 {
			t.Errorf("%+v, %s", s, &log)
		}
	})
}

// Nobody at the address is a failure like others.
func TestUnreachable(t *testing.T) {
	gone := newCollector(t, accept)
	gone.Close()
	host := strings.TrimPrefix(gone.URL, "http://")
	w, log := open(t, "http://user:secret-1@"+host+"/hooks/secret-2?token=secret-3")
	w.Record(audit.Resume{Generation: 3})
	mustClose(t, w)
	if w.Stats() != (Stats{Failed: 1}) || !strings.Contains(log.String(), "connection refused") || !strings.Contains(log.String(), "webhook=http://"+host+" ") {
		t.Errorf("%+v, %s", w.Stats(), log)
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log shows what lets one write to the collector: %s", log)
	}
}
