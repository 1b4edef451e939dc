package enginetest

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// gone are clients that leave (H08): a FIN while a request is being served means gone,
// every time, and so do a reset and the end of a TLS or HTTP/2 stream. The
// request upstream is cancelled and the record says 499.
var gone = features{
	"FIN after a GET": func(t *T) {
		goneOften(t, func(p *Proxy, path string, asked func()) {
			c := p.Dial()
			defer c.Close()
			c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
			c.Conn.(*net.TCPConn).CloseWrite()
			wantEOF(t, c.In, "after FIN")
		})
	},
	"FIN after a POST": func(t *T) {
		goneOften(t, func(p *Proxy, path string, asked func()) {
			c := p.Dial()
			defer c.Close()
			c.Send("POST " + path + " HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
			c.Conn.(*net.TCPConn).CloseWrite()
			wantEOF(t, c.In, "after FIN")
		})
	},
	"FIN in the middle of a body": func(t *T) {
		goneOften(t, func(p *Proxy, path string, asked func()) {
			c := p.Dial()
			defer c.Close()
			c.Send("POST " + path + " HTTP/1.1\r\nHost: a.test\r\nContent-Length: 50\r\n\r\nhello")
			c.Conn.(*net.TCPConn).CloseWrite()
			wantEOF(t, c.In, "after FIN")
		})
	},
	"FIN behind a second request": func(t *T) {
		goneTimes(t, often/5, func(p *Proxy, path string, asked func()) {
			c := p.Dial()
			defer c.Close()
			c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
			asked()
			c.Send("GET /second HTTP/1.1\r\nHost: a.test\r\n\r\n")
			silent(c, c.In, 20*time.Millisecond) // the second request has been read by then
			c.closeWrite()
			wantEOF(t, c.In, "after FIN")
		})
	},
	"reset": func(t *T) {
		goneOften(t, func(p *Proxy, path string, asked func()) {
			c := p.Dial()
			c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
			asked()
			c.Conn.(*net.TCPConn).SetLinger(0)
			c.Close()
		})
	},
	"the end of a TLS stream": func(t *T) {
		goneOften(t, func(p *Proxy, path string, asked func()) {
			c := p.DialTLS("a.test")
			c.Send("GET " + path + " HTTP/1.1\r\nHost: a.test\r\n\r\n")
			asked()
			c.Close()
		})
	},
	"a stream of HTTP/2 that is reset": func(t *T) {
		goneOften(t, func(p *Proxy, path string, asked func()) {
			h := p.DialH2(0)
			s := h.open(true, h2Request("GET", "a.test", path)...)
			asked()
			h.frame(frameReset, 0, s, []byte{0, 0, 0, 8})
		})
	},
	"a stream of HTTP/2 that is reset in the middle of its body": func(t *T) {
		goneOften(t, func(p *Proxy, path string, asked func()) {
			h := p.DialH2(0)
			s := h.open(false, h2Request("POST", "a.test", path)...)
			h.data(s, false, "hello")
			asked()
			h.frame(frameReset, 0, s, []byte{0, 0, 0, 8})
		})
	},
	"in the middle of the answer":                goneDuringAnswer,
	"an idle client leaves its neighbours alone": goneIdle,
}

// goneOften has clients leave a request that the origin would never answer, and
// wants each noticed by the origin and in the record. asked waits until the
// origin has the request.
func goneOften(t *T, leave func(p *Proxy, path string, asked func())) {
	t.Helper()
	goneTimes(t, often, leave)
}

func goneTimes(t *T, times int, leave func(p *Proxy, path string, asked func())) {
	t.Helper()
	noticed := make(chan error, times)
	o := NewOrigin(t, func(e *Exchange) error {
		e.message()
		noticed <- e.Gone()
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	inParallel(times, 4, func(n int) {
		path := fmt.Sprint("/left/", n)
		leave(p, path, func() {
			o.wait(t, "the request at the origin", func() bool {
				return slices.ContainsFunc(o.heads, func(head string) bool { return strings.Contains(head, " "+path+" ") })
			})
		})
	})
	for n := range times {
		if r := p.Record(n + 1); r.Status != 499 {
			t.Fatalf("record %d: status %d, want 499", n+1, r.Status)
		}
	}
	// A client that did not wait may have left before the origin was asked.
	for range len(o.Heads()) {
		if err := await(t, "the end of the request upstream", noticed); err != nil {
			t.Error(err)
		}
	}
	if got := p.Metrics.Requests[4].Load(); got != uint64(times) {
		t.Errorf("%d requests counted as 4xx, want %d", got, times)
	}
}

// goneDuringAnswer leaves while a response streams that would never end.
func goneDuringAnswer(t *T) {
	stopped := make(chan struct{}, 2)
	o := NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		for e.Raw("400\r\n"+strings.Repeat("x", kib)+"\r\n") == nil {
		}
		stopped <- struct{}{}
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if _, err := readHead(c.In); err != nil {
		t.Fatal(err)
	}
	c.Close()
	await(t, "the origin to be told, HTTP/1.1", stopped)

	h := p.DialH2(0)
	s := h.open(true, h2Request("GET", "a.test", "/")...)
	h.until(s, "the head", func(a *h2Answer) bool { return a.status() == "200" })
	h.frame(frameReset, 0, s, []byte{0, 0, 0, 8})
	await(t, "the origin to be told, HTTP/2", stopped)
	for n := range 2 {
		if r := p.Record(n + 1); r.Truncated {
			t.Errorf("record %d blames the origin", n+1)
		}
	}
	if got := p.Metrics.UpstreamTruncated.Load(); got != 0 {
		t.Errorf("%d responses counted as truncated by their origin", got)
	}
}

// goneIdle: an idle connection that ends concerns nobody.
func goneIdle(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec()})
	idle, c := p.Dial(), p.Dial()
	for _, one := range []*Raw{idle, c} {
		if a := one.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
			t.Fatalf("got %+v", a)
		}
	}
	idle.Close()
	eventually(t, "the idle connection to be forgotten", func() bool { return p.Metrics.ActiveConnections.Load() == 1 })
	if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
		t.Errorf("the neighbour got %+v", a)
	}
}
