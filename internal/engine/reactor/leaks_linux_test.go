package reactor

import (
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// TestIdleOwnsNothing: a connection that idles has no buffer and no exchange, whatever
// it was used for.
func TestIdleOwnsNothing(t *testing.T) {
	o := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
		if _, err := e.Body(); err != nil { // an earlier answer would end the connection
			return err
		}
		return e.Reply("200 OK", strings.Repeat("x", 200<<10))
	})
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	for n := range 40 {
		dial := p.Dial
		if n%4 == 3 {
			dial = func() *enginetest.Raw { return p.DialTLS("a.test") }
		}
		c := dial()
		if a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("y", 100000)); a.Status != 200 || len(a.Body) != 200<<10 {
			t.Fatalf("got %d with %d bytes", a.Status, len(a.Body))
		}
	}
	settles(t, "forty idle connections without anything", func() bool {
		h := held(p)
		return h == holdings{clients: 40, idle: h.idle} && h.idle > 0
	})
}

// TestNothingIsLeft has clients of all manners come and go, and wants descriptors,
// buffers and exchanges to come back.
func TestNothingIsLeft(t *testing.T) {
	o := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
		if _, err := e.Body(); err != nil {
			return err
		}
		switch e.Target() {
		case "/half":
			_ = e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nnot all of it")
			return enginetest.ErrClose
		case "/none":
			return enginetest.ErrClose
		case "/tunnel":
			_ = e.Raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(e.Out, e.In)
			return enginetest.ErrClose
		}
		return e.Reply("200 OK", strings.Repeat("x", 50<<10))
	})
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: o.Spec(), Hosts: []string{"a.test"}, Change: noRecords})
	round := func() {
		var all sync.WaitGroup
		for n := range 8 {
			dial := func() (net.Conn, error) { return net.Dial("tcp", p.HTTP) }
			if n%2 > 0 {
				dial = func() (net.Conn, error) {
					return tls.Dial("tcp", p.HTTPS, &tls.Config{ServerName: "a.test", RootCAs: p.Roots})
				}
			}
			all.Go(func() { comeAndGo(t, dial, rand.New(rand.NewPCG(1, uint64(n)))) })
		}
		all.Wait()
	}
	nobody := func() bool {
		h := held(p)
		return h == holdings{idle: h.idle}
	}
	round()
	settles(t, "nothing to be held", nobody)
	o.CloseIdle()
	settles(t, "no idle connection", func() bool { return held(p) == holdings{} })
	before := descriptors(t)
	round()
	settles(t, "nothing to be held after the second round", nobody)
	o.CloseIdle()
	settles(t, "no idle connection after the second round", func() bool { return held(p) == holdings{} })
	settles(t, fmt.Sprintf("the number of open files to be %d again", before), func() bool { return descriptors(t) <= before })
}

// comeAndGo is a client that leaves at a moment that chance decides.
func comeAndGo(t *testing.T, dial func() (net.Conn, error), r *rand.Rand) {
	requests := []string{
		"GET /whole HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET /half HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET /none HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"GET /whole HTTP/1.0\r\n\r\n",
		"POST /whole HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\n0123456789",
		"POST /whole HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"POST /whole HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n",
		"GET /bad HTTP/1.1\r\nHost : a.test\r\n\r\n",
		"GET /tunnel HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello",
	}
	for range 60 {
		c, err := dial()
		if err != nil {
			t.Error(err)
			return
		}
		raw := c
		if secure, ok := c.(*tls.Conn); ok {
			raw = secure.NetConn()
		}
		request := requests[r.IntN(len(requests))]
		if r.IntN(4) == 0 {
			request = request[:r.IntN(len(request))]
		}
		if r.IntN(4) == 0 {
			request += request
		}
		_, _ = io.WriteString(c, request)
		switch r.IntN(4) {
		case 0: // at once
		case 1:
			_ = raw.(*net.TCPConn).SetLinger(0)
		case 2:
			_ = c.(interface{ CloseWrite() error }).CloseWrite()
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
			_, _ = io.Copy(io.Discard, c)
		default:
			_ = c.SetReadDeadline(time.Now().Add(time.Duration(r.IntN(5)) * time.Millisecond))
			_, _ = io.Copy(io.Discard, c)
		}
		c.Close()
	}
}
