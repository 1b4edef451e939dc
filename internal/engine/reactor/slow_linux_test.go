package reactor

import (
	"io"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/enginetest"
)

// TestSlowClients has clients that send their heads and bodies byte by byte and do not
// read their answers, while others are served. What they cost is bounded, and they get
// everything when they listen.
func TestSlowClients(t *testing.T) {
	const size = 8 << 20
	o := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
		if _, err := e.Body(); err != nil {
			return err
		}
		if e.Target() == "/large" {
			return e.Reply("200 OK", strings.Repeat("x", size))
		}
		return e.Reply("200 OK", "ok")
	})
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: o.Spec(), Hosts: []string{"a.test"}, Change: func(o *engine.Options) {
		o.StreamIdle, o.HeaderTimeout = time.Hour, time.Hour // on a slow machine they are slow indeed
	}})
	const request = "POST /large HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n0123456789"
	var slow []*enginetest.Raw
	for n := range 8 {
		if n%2 == 0 {
			slow = append(slow, p.Dial())
		} else {
			slow = append(slow, p.DialTLS("a.test"))
		}
	}
	quick := p.Dial()
	fine := func() {
		t.Helper()
		if a := quick.Do("GET", "GET /small HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 || a.Body != "ok" {
			t.Fatalf("beside slow clients: got %+v", a)
		}
	}
	for i := range request {
		for _, c := range slow {
			c.Send(request[i : i+1])
		}
		fine()
	}
	// Each of them has an answer under way that it does not take.
	settles(t, "eight answers to be under way", func() bool { return held(p).exchanges >= len(slow) })
	for range 200 {
		fine()
	}
	if h := held(p); h.buffers > 8*len(slow) {
		t.Errorf("%d buffers are held for %d slow clients", h.buffers, len(slow))
	}
	for n, c := range slow {
		// In small steps at first.
		for range 64 {
			if _, err := io.CopyN(io.Discard, c.In, 512); err != nil {
				t.Fatalf("client %d: %v", n, err)
			}
		}
		if _, err := io.CopyN(io.Discard, c.In, size-64*512); err != nil {
			t.Fatalf("client %d: %v", n, err)
		}
	}
	fine()
}
