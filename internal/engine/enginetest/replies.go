package enginetest

import (
	"net"
	"syscall"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// replies are the answers that the proxy writes itself: one line of text, the
// same over every protocol, nothing internal in it.
var replies = features{
	"no route": func(t *T) {
		p := t.Start(Setup{Spec: route.Spec{}, Hosts: []string{"a.test"}})
		wantReply(t, p, 404, "404 Not Found: no route matches this host and path\n")
		for n := range 4 {
			if r := p.Record(n + 1); r.Plan.Route != nil || r.Attempts != 0 {
				t.Errorf("record %+v, want no route and no attempt", r)
			}
		}
	},
	"no configuration yet": func(t *T) {
		p := t.Start(Setup{Unpublished: true})
		a := p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
		if want := "503 Service Unavailable: this proxy has no configuration yet\n"; a.Status != 503 || a.Body != want {
			t.Errorf("got %d %q, want %q", a.Status, a.Body, want)
		}
	},
	"a backend that does not exist": func(t *T) {
		spec := specFor()
		spec.Routes[0].Backend = "missing"
		p := t.Start(Setup{Spec: spec, Hosts: []string{"a.test"}})
		wantReply(t, p, 503, "503 Service Unavailable: the backend of this route has no endpoints ready\n")
	},
	"a backend without endpoints": func(t *T) {
		p := t.Start(Setup{Spec: specFor(), Hosts: []string{"a.test"}})
		wantReply(t, p, 503, "503 Service Unavailable: the backend of this route has no endpoints ready\n")
	},
	"a backend whose endpoints all drain": func(t *T) {
		spec := NewOrigin(t, Text("no")).Spec()
		spec.Backends[0].Endpoints[0].Weight = 0
		p := t.Start(Setup{Spec: spec, Hosts: []string{"a.test"}})
		wantReply(t, p, 503, "503 Service Unavailable: the backend of this route has no endpoints ready\n")
	},
	"no default backend for a backend without endpoints": func(t *T) {
		spec := NewOrigin(t, Text("fallback")).Spec()
		spec.DefaultBackend = spec.Backends[0].Name
		spec.Backends = append(spec.Backends, route.BackendSpec{Name: "empty"})
		spec.Routes[0].Backend = "empty"
		p := t.Start(Setup{Spec: spec, Hosts: []string{"a.test"}})
		wantReply(t, p, 503, "503 Service Unavailable: the backend of this route has no endpoints ready\n")
	},
	"connection refused everywhere": func(t *T) {
		p := t.Start(Setup{Spec: specFor(refusing(t), refusing(t)), Hosts: []string{"a.test"}})
		wantReply(t, p, 502, "502 Bad Gateway: no endpoint of the backend accepted a connection\n")
		if got := p.Metrics.ConnectFailures.Load(); got != 8 {
			t.Errorf("%d connect failures counted, want 4 requests × 2 endpoints", got)
		}
	},
	"nobody accepts in time": func(t *T) {
		p := t.Start(Setup{
			Spec: specFor(deaf(t)), Hosts: []string{"a.test"},
			Pools: func(o *upstream.Options) { o.ConnectTimeout = 50 * time.Millisecond },
		})
		wantReply(t, p, 504, "504 Gateway Timeout: no endpoint of the backend accepted a connection in time\n")
	},
	"no answer in time": func(t *T) {
		o := NewOrigin(t, func(e *Exchange) error { return e.Gone() })
		p := t.Start(Setup{
			Spec: o.Spec(), Hosts: []string{"a.test"},
			Change: func(o *engine.Options) { o.ResponseTimeout = 50 * time.Millisecond },
		})
		wantReply(t, p, 504, "504 Gateway Timeout: the backend did not begin to answer in time\n")
		if got := p.Metrics.UpstreamTimeouts.Load(); got != 4 {
			t.Errorf("%d upstream timeouts counted, want 4", got)
		}
	},
	"an answer that is none": func(t *T) {
		o := NewOrigin(t, func(e *Exchange) error { e.Raw("220 mail.test ESMTP\r\n"); return e.Gone() })
		p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
		wantReply(t, p, 502, "502 Bad Gateway: the backend sent something that is not a valid HTTP response\n")
	},
}

// wantReply asks for / in four ways and wants the same answer in each; HEAD gets
// the same head and no body (RFC 9110 section 9.3.2).
func wantReply(t *T, p *Proxy, status int, body string) {
	t.Helper()
	c := p.Dial()
	get := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	head := c.Do("HEAD", "HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	answers := map[string]Answer{
		"HTTP/1.1":          get,
		"HTTP/1.1 over TLS": p.DialTLS("a.test").Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
		"HTTP/2":            p.Get(p.Client(true), "https://a.test/"),
	}
	for how, a := range answers {
		if a.Status != status || a.Body != body || a.Length != int64(len(body)) {
			t.Errorf("%s: got %d, length %d, %q; want %d %q", how, a.Status, a.Length, a.Body, status, body)
		}
		a.Header.Del("Date") // may be there or not
		if len(a.Header) != 2 || a.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s: fields %v, want only a type and a length", how, a.Header)
		}
	}
	head.Header.Del("Date")
	if head.Status != get.Status || head.Body != "" || len(head.Header) != 2 || head.Length != get.Length {
		t.Errorf("HEAD got %+v, GET got %+v: want the same head and no body", head, get)
	}
}

// refusing is an address where nobody listens, nor will for the time of the test.
func refusing(t testing.TB) string {
	_, address := bound(t)
	return address
}

// bound is a socket with an address that does not listen.
func bound(t testing.TB) (fd int, address string) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	in := name.(*syscall.SockaddrInet4)
	return fd, (&net.TCPAddr{IP: in.Addr[:], Port: in.Port}).String()
}

// deaf is an address whose listener has no room for another connection and never
// will: connecting there takes for ever. That it does is seen twice, as a test that is
// held up itself sees it once.
func deaf(t testing.TB) string {
	t.Helper()
	fd, address := bound(t)
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	for full := 0; full < 2; {
		c, err := net.DialTimeout("tcp", address, moment)
		if err != nil {
			full++
			continue
		}
		t.Cleanup(func() { c.Close() })
		full = 0
	}
	return address
}
