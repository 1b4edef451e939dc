package enginetest

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
)

// mirrors are what a mirror gets, and above all what the primary and its clients
// notice of it: nothing (C09).
var mirrors = features{
	"copies":                          mirrorCopies,
	"copies for an HTTP/2 mirror":     mirrorH2,
	"copies of what the canary takes": mirrorCanary,
	"whatever the mirror does":        mirrorInvariant,
	"large uploads are not copied":    mirrorLarge,
	"what is copied is bounded":       mirrorBounds,
	"copies of odd requests":          mirrorOdd,
	"a body that does not end":        mirrorCutBody,
	"a share of the requests":         mirrorPercent,
	"not twice":                       mirrorOnce,
	"no load of its backend":          mirrorBalance,
	"a drain does not wait for it":    mirrorDrain,
}

// mirrorMost is the largest body that the suite lets be copied.
const mirrorMost = 256 << 10

// shadowed is a proxy whose one route is mirrored to a backend.
func shadowed(t *T, primary *Origin, shadow route.BackendSpec, m route.MirrorSpec) *Proxy {
	t.Helper()
	spec := primary.Spec()
	shadow.Name = "shadow"
	spec.Backends = append(spec.Backends, shadow)
	m.Backend = shadow.Name
	spec.Routes[0].Mirror = &m
	return t.Start(Setup{Spec: spec, Hosts: []string{"a.test"}, Change: func(o *engine.Options) { o.MirrorMaxBody = mirrorMost }})
}

// copied waits until all of n copies have met their fate.
func (p *Proxy) copied(n uint64) {
	p.T.Helper()
	eventually(p.T, fmt.Sprint(n, " copies to be booked"), func() bool {
		m := &p.Metrics
		return m.Mirrored.Load()+m.MirrorDropped.Load()+m.MirrorSkipped.Load()+m.MirrorFailures.Load() == n
	})
}

// hears is a shadow that reports what it gets and answers with an error.
func hears(got chan<- string) Handler {
	return func(e *Exchange) error {
		body, err := e.Body()
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(e.Head, "\r\n")
		parts := []string{line, body}
		for _, name := range []string{"Host", "X-Mirrored-By", "X-Request-Id", "X-Real-Ip", "X-Forwarded-Host", "X-Sent", "Connection"} {
			parts = append(parts, strings.Join(e.Field(name), ","))
		}
		got <- strings.Join(parts, "|")
		return e.Reply("500 Broken", "nobody reads this")
	}
}

func mirrorCopies(t *T) {
	got := make(chan string, 10)
	for override, host := range map[string]string{"": "a.test", "shadow.test": "shadow.test"} {
		p := shadowed(t, NewOrigin(t, Text("primary")), backendAt("", NewOrigin(t, hears(got)).Address), route.MirrorSpec{Percent: 100, Host: override})
		c := p.Dial()
		for _, one := range []struct{ method, rest, body string }{
			{"GET", "\r\n", ""},
			{"POST", "Content-Length: 5\r\n\r\nhello", "hello"},
			{"PUT", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde"},
			{"POST", "Content-Length: " + strconv.Itoa(mirrorMost) + "\r\n\r\n" + strings.Repeat("x", mirrorMost), strings.Repeat("x", mirrorMost)},
			{"OPTIONS", "Connection: X-Secret\r\nX-Secret: 1\r\n\r\n", ""},
		} {
			a := c.Do(one.method, one.method+" /x/%2f?y=%2F HTTP/1.1\r\nHost: a.test\r\nX-Request-Id: id\r\nX-Sent: s\r\n"+one.rest)
			if a.Body != "primary" {
				t.Fatalf("the client got %+v", a)
			}
			want := one.method + " /x/%2f?y=%2F HTTP/1.1|" + one.body + "|" + host + "|ramjet-ingress|id|127.0.0.1|a.test|s|"
			if copy := await(t, "the copy", got); copy != want {
				t.Errorf("the mirror got %s, want %s", brief(copy, len(copy)), brief(want, len(want)))
			}
		}
		p.copied(5)
		if n := p.Metrics.Mirrored.Load(); n != 5 {
			t.Errorf("%d counted as mirrored: an answer is an answer", n)
		}
	}
}

func mirrorH2(t *T) {
	got := make(chan string, 1)
	shadow := h2cServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- fmt.Sprint(r.Proto, " ", r.Method, " ", r.RequestURI, " ", r.Host, " ", r.Header.Get("X-Mirrored-By"), " ", string(body))
	}).Backends[0]
	p := shadowed(t, NewOrigin(t, Text("primary")), shadow, route.MirrorSpec{Percent: 100})
	h := p.DialH2TLS("a.test")
	s := h.open(false, h2Request("POST", "a.test", "/x?y")...)
	h.data(s, false, "hel")
	h.data(s, true, "lo")
	if a := h.answer(s); a.body != "primary" {
		t.Errorf("the client got %+v", a)
	}
	if copy := await(t, "the copy", got); copy != "HTTP/2.0 POST /x?y a.test ramjet-ingress hello" {
		t.Errorf("the mirror got %q", copy)
	}
}

func mirrorCanary(t *T) {
	got := make(chan string, 1)
	spec := split(t, route.CanarySpec{Header: "x-canary"})
	spec.Backends = append(spec.Backends, backendAt("shadow", NewOrigin(t, hears(got)).Address))
	spec.Routes[0].Mirror = &route.MirrorSpec{Backend: "shadow", Percent: 100}
	p := t.Start(Setup{Spec: spec})
	for fields, want := range map[string]string{"X-Canary: always": "next", "X-Canary: never": "main"} {
		if a := p.ask("a.test", "/", fields); a.Body != want {
			t.Errorf("%s: the client got %+v", fields, a)
		}
		await(t, "the copy", got)
	}
}

// hangs is a handler that never answers.
func hangs(e *Exchange) error {
	if _, err := e.Body(); err != nil {
		return err
	}
	return e.Gone()
}

// misbehaving are mirrors that do all that a mirror can do wrong.
func misbehaving(t *T) map[string]route.BackendSpec {
	big := strings.Repeat("x", 10<<20)
	return map[string]route.BackendSpec{
		"no endpoints": {},
		"refusing":     backendAt("", refusing(t)),
		"deaf":         backendAt("", deaf(t)),
		"hanging":      backendAt("", NewOrigin(t, hangs).Address),
		"slow": backendAt("", NewOrigin(t, func(e *Exchange) error {
			e.Body()
			silent(e.Out, e.In, short)
			return e.Reply("200 OK", "late")
		}).Address),
		"closing at once": backendAt("", NewOrigin(t, func(*Exchange) error { return ErrClose }).Address),
		"closing midway": backendAt("", NewOrigin(t, func(e *Exchange) error {
			e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome")
			return ErrClose
		}).Address),
		"answering 10 MiB": backendAt("", NewOrigin(t, func(e *Exchange) error {
			e.Body()
			e.Raw("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(big)) + "\r\n\r\n")
			return e.Raw(big)
		}).Address),
		"speaking something else": backendAt("", NewOrigin(t, func(e *Exchange) error { return e.Raw("220 smtp\r\n") }).Address),
	}
}

// mirrorInvariant: no request fails, none waits for a mirror, and each copy is booked
// once, as soon as it has met its fate.
func mirrorInvariant(t *T) {
	for say, shadow := range misbehaving(t) {
		t.Run(say, func(t *T) {
			t.Parallel()
			p := shadowed(t, NewOrigin(t, Text("primary")), shadow, route.MirrorSpec{Percent: 100})
			c := p.Dial()
			began := time.Now()
			for range often / 2 {
				if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Body != "primary" {
					t.Fatalf("the client got %+v", a)
				}
				if a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\n\r\nbody"); a.Body != "primary" {
					t.Fatalf("the client got %+v", a)
				}
			}
			if took := time.Since(began); took > patience/2 {
				t.Errorf("%d requests took %v", often, took)
			}
			m := &p.Metrics
			if m.Requests[2].Load() < uint64(often)-1 || m.Requests[5].Load() > 0 || m.UpstreamRetries.Load() > 0 {
				t.Errorf("%d answers, %d errors, %d retries", m.Requests[2].Load(), m.Requests[5].Load(), m.UpstreamRetries.Load())
			}
			switch say {
			case "deaf", "hanging":
				// Their copies fail when their five seconds are over.
			case "slow", "answering 10 MiB":
				p.copied(uint64(often))
				if m.Mirrored.Load() == 0 {
					t.Error("no copy was answered")
				}
			default:
				p.copied(uint64(often))
				if m.MirrorFailures.Load() == 0 || m.Mirrored.Load() > 0 {
					t.Errorf("%d failures, %d answered", m.MirrorFailures.Load(), m.Mirrored.Load())
				}
			}
		})
	}
}

func mirrorLarge(t *T) {
	const size = 10 << 20
	primary := NewOrigin(t, func(e *Exchange) error {
		body, err := e.Body()
		if err != nil {
			return err
		}
		return e.Reply("200 OK", strconv.Itoa(len(body)))
	})
	shadow := NewOrigin(t, Text("shadow"))
	p := shadowed(t, primary, backendAt("", shadow.Address), route.MirrorSpec{Percent: 100})
	for n, body := range []string{strings.Repeat("x", size), strings.Repeat("x", mirrorMost+1)} {
		for i, framed := range []string{
			"Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body,
			"Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(int64(len(body)), 16) + "\r\n" + body + "\r\n0\r\n\r\n",
		} {
			if a := p.Dial().Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\n"+framed); a.Body != strconv.Itoa(len(body)) {
				t.Errorf("the primary got %s bytes, want %d", a.Body, len(body))
			}
			if got := p.Metrics.MirrorSkipped.Load(); got != uint64(2*n+i+1) {
				t.Errorf("%d skipped, want %d", got, 2*n+i+1)
			}
		}
	}
	if n := len(shadow.Heads()); n != 0 {
		t.Errorf("the mirror got %d requests", n)
	}
}

// mirrorBounds: with a mirror that hangs, no more than 32 MiB of bodies wait, and no
// more than some hundred copies without.
func mirrorBounds(t *T) {
	shadow := NewOrigin(t, hangs)
	body := strings.Repeat("x", mirrorMost)
	for _, try := range []struct {
		request    string
		sent, most int
	}{
		{"POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body, 150, 32 << 20 / mirrorMost},
		{"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 700, 600},
	} {
		p := shadowed(t, NewOrigin(t, Text("primary")), backendAt("", shadow.Address), route.MirrorSpec{Percent: 100})
		c := p.Dial()
		for range try.sent {
			if a := c.Do("POST", try.request); a.Body != "primary" {
				t.Fatalf("the client got %+v", a)
			}
		}
		// On a slow machine the first copies have had their time before the last are made.
		dropped, expired := int(p.Metrics.MirrorDropped.Load()), int(p.Metrics.MirrorFailures.Load())
		if kept := try.sent - dropped - expired; kept > try.most || dropped == try.sent {
			t.Errorf("%d of %d dropped and %d expired, so %d are kept; want at most %d", dropped, try.sent, expired, kept, try.most)
		}
	}
}

// mirrorOdd: a copy has the target, Host and body that the primary got.
func mirrorOdd(t *T) {
	told := func(to chan<- string) Handler {
		return func(e *Exchange) error {
			body, err := e.Body()
			if err != nil {
				return err
			}
			line, _, _ := strings.Cut(e.Head, "\r\n")
			to <- line + "|" + strings.Join(e.Field("Host"), ",") + "|" + body
			return e.Reply("200 OK", "ok")
		}
	}
	primary, shadow := make(chan string, 1), make(chan string, 1)
	p := shadowed(t, NewOrigin(t, told(primary)), backendAt("", NewOrigin(t, told(shadow)).Address), route.MirrorSpec{Percent: 100})
	for _, request := range []string{
		"GET //x//y HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET //b.test/%2f?x=%zz HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET /x? HTTP/1.1\r\nHost: A.test.:8080\r\n\r\n",
		"GET /\"<>|{}\xc3\xa4%2F HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
		"GET http://b.test/../x HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET http://b.test/a/../x HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: a_b.test\r\n\r\n",
		"BREW /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi",
		"POST /x HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi",
		"PUT /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n",
	} {
		if a := p.Dial().Do("GET", request); a.Status == 400 {
			continue // what climbs is not copied either: the next copy is the next one's
		}
		if a, b := await(t, "the request", primary), await(t, "the copy", shadow); a != b {
			t.Errorf("the primary got %q, the mirror %q", a, b)
		}
	}
}

// mirrorCutBody: the mirror gets whole requests or nothing, whoever it was that ended
// them, and how.
func mirrorCutBody(t *T) {
	got := make(chan string, 10)
	p := shadowed(t, NewOrigin(t, func(e *Exchange) error {
		if strings.HasPrefix(e.Target(), "/refused") { // before the body has ended
			e.Raw("HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
			return ErrClose
		}
		return Text("primary")(e)
	}), backendAt("", NewOrigin(t, hears(got)).Address), route.MirrorSpec{Percent: 100})
	for target, rest := range map[string]string{
		"/cut/length":     "Content-Length: 10\r\n\r\nhello",
		"/cut/chunk":      "Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
		"/cut/last":       "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
		"/bad/chunk":      "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
		"/bad/trailer":    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX : 1\r\n\r\n",
		"/refused/length": "Content-Length: 10\r\n\r\nhello",
		"/refused/chunks": "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"/refused/asked":  "Content-Length: 10\r\nExpect: 100-continue\r\n\r\n",
	} {
		c := p.Dial()
		c.Send("POST " + target + " HTTP/1.1\r\nHost: a.test\r\n" + rest)
		if !strings.HasPrefix(target, "/cut") {
			c.Next("POST")
		}
		c.Close()
		p.RecordOf(target)
	}
	p.Dial().Do("POST", "POST /whole HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
	if copy := await(t, "a copy", got); !strings.HasPrefix(copy, "POST /whole ") {
		t.Errorf("the mirror got %q", copy)
	}
	p.copied(1)
	p.Stop(patience)
	if n := p.Metrics.Mirrored.Load(); n != 1 || len(got) > 0 {
		t.Errorf("%d copies of one whole request", n)
	}
}

func mirrorPercent(t *T) {
	for _, percent := range []int{0, 1, 50, 100} {
		p := shadowed(t, NewOrigin(t, Text("primary")), route.BackendSpec{}, route.MirrorSpec{Percent: percent})
		n, share := float64(5*often), float64(percent)/100
		sd := math.Sqrt(n * share * (1 - share))
		c := p.Dial()
		for range 5 * often / 50 {
			c.Send(strings.Repeat("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 50))
			for range 50 {
				c.Final("GET")
			}
		}
		// A mirror without endpoints fails at once. Six standard deviations: one fair sample
		// in a million, also where few are to be copied.
		sampled := func() float64 { return float64(p.Metrics.MirrorFailures.Load() + p.Metrics.MirrorDropped.Load()) }
		eventually(t, fmt.Sprint("the copies of ", percent, " %"), func() bool { return sampled() >= n*share-6*sd })
		p.Stop(patience)
		if got := sampled(); got > n*share+6*sd {
			t.Errorf("%d %%: %v of %v requests were copied", percent, got, n)
		}
	}
}

// mirrorOnce: a mirror may lead back to the proxy that feeds it.
func mirrorOnce(t *T) {
	primary := NewOrigin(t, Text("primary"))
	spec := primary.Spec()
	spec.Backends = append(spec.Backends, route.BackendSpec{Name: "shadow"})
	spec.Routes[0].Mirror = &route.MirrorSpec{Backend: "shadow", Percent: 100}
	p := t.Start(Setup{Spec: spec, Change: func(o *engine.Options) { o.MirrorMaxBody = mirrorMost }})
	spec.Backends[1].Endpoints = []route.EndpointSpec{{Address: p.HTTP, Weight: 1}}
	p.Publish(spec)
	if a := p.ask("a.test", "/"); a.Body != "primary" {
		t.Fatalf("the client got %+v", a)
	}
	p.Record(2)
	p.copied(1)
	if n := len(primary.Heads()); n != 2 || p.Metrics.Mirrored.Load() != 1 {
		t.Errorf("the primary got %d requests, want the request and one copy", n)
	}
}

// mirrorBalance: copies are no requests of the backend they go to.
func mirrorBalance(t *T) {
	hung := make(chan struct{}, 1)
	shadow := NewOrigin(t, func(e *Exchange) error { hung <- struct{}{}; return hangs(e) })
	p := shadowed(t, NewOrigin(t, Text("primary")), backendAt("", shadow.Address), route.MirrorSpec{Percent: 100})
	p.ask("a.test", "/")
	await(t, "the copy", hung)
	for _, b := range p.Live.Table().Backends() {
		if n := b.Endpoints[0].InFlight(); b.Name == "shadow" && n != 0 {
			t.Errorf("%d requests in flight for the mirror", n)
		}
	}
	p.Record(1)
	wantNumbers(t, "the route", p.Live.Table().Match("a.test", "/").Counters.Total(), route.Numbers{Requests: 1, LatencyCount: 1})
}

func mirrorDrain(t *T) {
	var took time.Duration
	for range 3 { // a stall of the machine looks the same, and does not come every time
		shadow := NewOrigin(t, hangs)
		p := shadowed(t, NewOrigin(t, Text("primary")), backendAt("", shadow.Address), route.MirrorSpec{Percent: 100})
		for range 100 {
			p.ask("a.test", "/")
		}
		began := time.Now()
		if err := p.Stop(patience); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		// Those that were asked for last have five seconds.
		if took = time.Since(began); took < 4*time.Second {
			return
		}
	}
	t.Errorf("Shutdown took %v", took)
}
