package enginetest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/upstream"
)

// connect is what happens when an endpoint cannot be reached: another one is
// asked, with all of the request.
var connect = features{
	"a client that goes away meanwhile":        connectGone,
	"the end of the grace meanwhile":           connectDrained,
	"to the next endpoint with the body whole": nextWithBody,
	"no more endpoints than allowed":           connectAttempts,
	"a client that leaves ends the attempt":    goneWhileConnecting,
}

// nextWithBody (H16) has a dead endpoint and a live one, and requests of all kinds.
func nextWithBody(t *T) {
	o := NewOrigin(t, func(e *Exchange) error {
		if len(e.Field("Expect")) > 0 {
			e.Raw("HTTP/1.1 100 Continue\r\n\r\n")
		}
		body, err := e.Body()
		if err != nil {
			return err
		}
		for _, name := range []string{"X-Forwarded-For", "X-Request-Id"} {
			if len(e.Field(name)) != 1 || strings.Contains(e.Field(name)[0], ",") {
				return e.Reply("500 Internal Server Error", fmt.Sprintf("%s: %q", name, e.Field(name)))
			}
		}
		return e.Reply("200 OK", fmt.Sprint(len(body)))
	})
	p := t.Start(Setup{Spec: specFor(refusing(t), o.Address), Hosts: []string{"a.test"}})
	before := 0
	for _, h2 := range []bool{false, true} {
		client := p.Client(h2)
		for _, try := range []struct {
			say    string
			size   int
			length int64
			expect bool
			times  int
		}{
			{"no body", 0, 0, false, often / 3},
			{"1 byte", 1, 1, false, often / 3},
			{"1 MiB", megabyte, megabyte, false, often / 10},
			{"1 MiB of unknown length", megabyte, -1, false, often / 10},
			{"1 MiB that waits for 100", megabyte, megabyte, true, often / 10},
		} {
			for n := range try.times {
				var body io.Reader
				if try.size > 0 {
					body = io.LimitReader(zeros{}, int64(try.size))
				}
				req, err := http.NewRequest("POST", "https://a.test/", body)
				if err != nil {
					t.Fatal(err)
				}
				req.ContentLength = try.length
				if try.expect {
					req.Header.Set("Expect", "100-continue")
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Fatalf("HTTP/2 %v, %s, try %d: %v", h2, try.say, n+1, err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 200 || string(got) != fmt.Sprint(try.size) || err != nil {
					t.Fatalf("HTTP/2 %v, %s, try %d: got %d %q, %v", h2, try.say, n+1, resp.StatusCode, got, err)
				}
				before++
			}
		}
	}
	if got := len(o.Heads()); got != before {
		t.Errorf("%d requests became %d", before, got)
	}
	failures, retries := p.Metrics.ConnectFailures.Load(), p.Metrics.UpstreamRetries.Load()
	if failures != retries || failures < uint64(before/3) || failures > uint64(before) {
		t.Errorf("%d requests, %d connect failures, %d retries", before, failures, retries)
	}
}

// zeros are endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func nextAfterSilence(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{
		Spec:  specFor(deaf(t), o.Address),
		Pools: func(o *upstream.Options) { o.ConnectTimeout = long },
	})
	c := p.Dial()
	for range 2 { // one of them begins with the deaf one
		if a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello"); a.Status != 200 {
			t.Errorf("got %+v", a)
		}
	}
}

func connectAttempts(t *T) {
	for most, want := range map[int]int{1: 1, 2: 2, 0: 1} {
		p := t.Start(Setup{
			Spec:   specFor(refusing(t), refusing(t), refusing(t)),
			Change: func(o *engine.Options) { o.MaxConnectAttempts = most },
		})
		if a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 502 {
			t.Errorf("got %+v", a)
		}
		if r := p.Record(1); r.Attempts != want || p.Metrics.ConnectFailures.Load() != uint64(want) {
			t.Errorf("at most %d: %d attempts, %d failures counted, want %d", most, r.Attempts, p.Metrics.ConnectFailures.Load(), want)
		}
	}
}

// goneWhileConnecting must not take as long as the connect timeout.
func goneWhileConnecting(t *T) {
	p := t.Start(Setup{
		Spec:  specFor(deaf(t)),
		Pools: func(o *upstream.Options) { o.ConnectTimeout = patience },
	})
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	began := time.Now()
	c.Conn.(*net.TCPConn).CloseWrite()
	wantEOF(t, c.In, "after FIN")
	if r := p.Record(1); r.Status != 499 || time.Since(began) > patience/2 {
		t.Errorf("status %d after %v", r.Status, time.Since(began))
	}
	if got := p.Metrics.ConnectFailures.Load(); got != 0 {
		t.Errorf("%d connect failures counted although the client left", got)
	}
}

// connecting sends requests, with a body and without, to a backend that accepts no
// connection and is waited for for ever.
func connecting(t *T) (p *Proxy, clients map[string]*Raw) {
	p = t.Start(Setup{
		Spec: specFor(deaf(t)), Hosts: []string{"a.test"}, Change: longIdle,
		Pools: func(o *upstream.Options) { o.ConnectTimeout = 10 * patience },
	})
	clients = map[string]*Raw{"/get": p.Dial(), "/get-tls": p.DialTLS("a.test"), "/post": p.Dial(), "/post-tls": p.DialTLS("a.test")}
	for path, c := range clients {
		if strings.HasPrefix(path, "/post") {
			c.Send("POST " + path + " HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\nhello")
		} else {
			c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
		}
	}
	for path, c := range clients {
		if !silent(c, c.In, moment) { // it is surely being connected by then
			t.Fatalf("%s: got %q", path, c.Transcript())
		}
	}
	return p, clients
}

func connectGone(t *T) {
	p, clients := connecting(t)
	for path, c := range clients {
		c.Close()
		if r := p.RecordOf(path); r.Status != engine.StatusClientGone {
			t.Errorf("%s: the record says %d", path, r.Status)
		}
	}
	if n := p.Metrics.ConnectFailures.Load(); n != 0 {
		t.Errorf("%d connect failures were counted", n)
	}
}

func connectDrained(t *T) {
	p, clients := connecting(t)
	began := time.Now()
	_ = p.Stop(0)
	if took := time.Since(began); took > quick {
		t.Errorf("the end took %v", took)
	}
	for path := range clients {
		if r := p.RecordOf(path); r.Status != 503 || !r.Cut {
			t.Errorf("%s: the record says %d, cut %v", path, r.Status, r.Cut)
		}
	}
}
