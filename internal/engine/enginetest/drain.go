package enginetest

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// drain is Shutdown: nobody new, nobody idle, whoever is being served to the
// end of it, and no longer than the grace.
var drain = features{
	"new connections are refused at once":          drainRefuses,
	"idle connections are closed at once":          drainIdle,
	"connections that said nothing do not delay":   drainMute,
	"half a head does not delay":                   drainHalfHead,
	"a request in flight is answered, and says so": drainInFlight,
	"a response in flight is finished":             drainStreaming,
	"an upload in flight is finished":              drainUpload,
	"HTTP/2 says GOAWAY and finishes its streams":  drainH2,
	"tunnels are not waited for":                   drainTunnel,
	"what is left at the end of the grace is cut":  drainCut,
	"a grace that is over at once":                 drainNow,
	"a client that lingers does not delay":         drainLinger,
	"a backend that does not answer is not blamed": drainBlame,
	"an engine that served nobody":                 func(t *T) { wantQuick(t, t.Start(Setup{Hosts: []string{"a.test"}})) },
}

// held is an origin that answers only when it is let.
type held struct {
	*Origin
	let chan struct{}
}

func newHeld(t *T) *held {
	h := &held{let: make(chan struct{})}
	h.Origin = NewOrigin(t, func(e *Exchange) error {
		body, err := e.Body()
		if err != nil {
			return err
		}
		if err := e.Await(h.let); err != nil {
			return err
		}
		return e.Reply("200 OK", "served "+body)
	})
	return h
}

// asked waits until the origin holds n requests.
func (h *held) holds(t *T, n int) {
	t.Helper()
	h.wait(t, "the request at the origin", func() bool { return len(h.heads) == n })
}

// draining starts Shutdown and returns where its end will be told.
func (p *Proxy) draining() <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- p.Stop(patience) }()
	return ended
}

// wantQuick drains and wants nothing to wait for.
func wantQuick(t *T, p *Proxy) {
	t.Helper()
	began := time.Now()
	if err := p.Stop(patience); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if took := time.Since(began); took > quick {
		t.Errorf("Shutdown took %v", took)
	}
	eventually(t, "no connection to be left", func() bool { return p.Metrics.ActiveConnections.Load() == 0 })
}

func drainRefuses(t *T) {
	o := newHeld(t)
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	o.holds(t, 1)
	ended := p.draining()
	for _, address := range []string{p.HTTP, p.HTTPS} {
		eventually(t, "a new connection to be refused", func() bool {
			c, err := net.Dial("tcp", address)
			if err == nil {
				c.Close()
			}
			return err != nil
		})
	}
	close(o.let)
	if a, _ := c.Final("GET"); a.Status != 200 {
		t.Errorf("the request in flight got %+v", a)
	}
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func drainIdle(t *T) {
	o := newHeld(t)
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	idle := []*Raw{p.Dial(), p.DialTLS("a.test")}
	for _, c := range idle {
		if a := c.Do("GET", "GET http://b.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/grpc\r\n\r\n"); a.Status != 502 {
			t.Fatalf("got %+v", a)
		}
	}
	busy := p.Dial()
	busy.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	o.holds(t, 1)
	ended := p.draining()
	for _, c := range idle {
		if !c.Closed() { // while the other one is still served
			t.Errorf("an idle connection is not closed; it got %q", c.Transcript())
		}
	}
	close(o.let)
	if a, _ := busy.Final("GET"); a.Status != 200 {
		t.Errorf("the request in flight got %+v", a)
	}
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func drainMute(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}})
	all := []*Raw{p.Dial(), p.DialTLS("a.test")}
	c, err := net.Dial("tcp", p.HTTPS) // no handshake
	if err != nil {
		t.Fatal(err)
	}
	all = append(all, p.raw(c))
	eventually(t, "the connections to be accepted", func() bool { return p.Metrics.ActiveConnections.Load() == 3 })
	wantQuick(t, p)
	for _, c := range all {
		if !c.Closed() {
			t.Error("a connection that said nothing stays open")
		}
	}
}

func drainHalfHead(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}})
	all := []*Raw{p.Dial(), p.DialTLS("a.test"), p.Dial(), p.DialTLS("a.test")}
	for _, c := range all[2:] {
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 404 {
			t.Fatalf("got %+v", a)
		}
	}
	for _, c := range all {
		c.Send(halfHead)
	}
	for _, c := range all {
		if !silent(c, c.In, moment) { // it has surely been read by then
			t.Fatalf("got %q", c.Transcript())
		}
	}
	wantQuick(t, p)
}

func drainInFlight(t *T) {
	o := newHeld(t)
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	all := []*Raw{p.Dial(), p.DialTLS("a.test")}
	for _, c := range all {
		c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
	}
	o.holds(t, 2)
	ended := p.draining()
	p.refused(t)
	close(o.let)
	for _, c := range all {
		if a, _ := c.Final("POST"); a.Status != 200 || a.Body != "served hello" || !a.Close || !c.Closed() {
			t.Errorf("got %+v, want the answer, and close", a)
		}
	}
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// refused waits until the drain has begun.
func (p *Proxy) refused(t *T) {
	t.Helper()
	eventually(t, "the drain to begin", func() bool {
		c, err := net.Dial("tcp", p.HTTP)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
}

func drainStreaming(t *T) {
	next := make(chan struct{})
	o := NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
		if err := e.Await(next); err != nil {
			return err
		}
		return e.Raw(" half")
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if _, err := readHead(c.In); err != nil {
		t.Fatal(err)
	}
	c.wants(t, "first")
	ended := p.draining()
	p.refused(t)
	close(next)
	c.wants(t, " half")
	wantEOF(t, c.In, "after the answer")
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func drainUpload(t *T) {
	o := newHeld(t)
	close(o.let)
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	c.Send("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 10\r\n\r\nfirst")
	o.holds(t, 1)
	ended := p.draining()
	p.refused(t)
	c.Send(" half")
	if a, _ := c.Final("POST"); a.Status != 200 || a.Body != "served first half" || !a.Close {
		t.Errorf("got %+v", a)
	}
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func drainH2(t *T) {
	o := newHeld(t)
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	all := []*rawH2{p.DialH2(0), p.DialH2TLS("a.test")}
	idle := []*rawH2{p.DialH2(0), p.DialH2TLS("a.test")}
	var streams []uint32
	for _, h := range all {
		streams = append(streams, h.open(true, h2Request("GET", "a.test", "/")...))
	}
	o.holds(t, 2)
	ended := p.draining()
	for _, h := range append(idle, all...) {
		h.wait(t, "GOAWAY, or the end", func() bool { return h.goAway || h.ended })
	}
	close(o.let)
	for i, h := range all {
		if a := h.answer(streams[i]); a.status() != "200" || a.body != "served " || a.reset != "" {
			t.Errorf("got %+v", a)
		}
	}
	if err := await(t, "Shutdown", ended); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func drainTunnel(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoTunnel).Spec(), Hosts: []string{"a.test"}})
	all := []*Raw{p.Dial(), p.DialTLS("a.test")}
	for _, c := range all {
		c.tunnel(t, "")
		c.pings(t, "hello")
	}
	wantQuick(t, p)
	for _, c := range all {
		if !c.Closed() {
			t.Errorf("a tunnel is left open")
		}
	}
}

// drainCut has requests that would never be answered.
func drainCut(t *T) {
	o := newHeld(t)
	defer close(o.let)
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	plain, secure, h2 := p.Dial(), p.DialTLS("a.test"), p.DialH2(0)
	for _, c := range []*Raw{plain, secure} {
		c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	}
	h2.open(true, h2Request("GET", "a.test", "/")...)
	o.holds(t, 3)
	began := time.Now()
	err := p.Stop(50 * time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "3 requests") {
		t.Errorf("Shutdown: %v, want it to name 3 requests", err)
	}
	if took := time.Since(began); took > quick {
		t.Errorf("Shutdown took %v", took)
	}
	for _, c := range []*Raw{plain, secure} {
		if !c.Closed() {
			t.Errorf("a request is not cut; its client got %q", c.Transcript())
		}
	}
	h2.wait(t, "the end of HTTP/2", func() bool { return h2.ended })
	for n := range 3 {
		p.Record(n + 1)
	}
}

func drainNow(t *T) {
	o := newHeld(t)
	defer close(o.let)
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	o.holds(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	if err := p.Engine.Shutdown(ctx); err == nil || time.Since(began) > quick {
		t.Errorf("Shutdown: %v after %v", err, time.Since(began))
	}
	if !c.Closed() {
		t.Errorf("the client got %q", c.Transcript())
	}
}

// drainLinger has a client that was refused and goes on sending.
func drainLinger(t *T) {
	p := t.Start(Setup{})
	c := p.Dial()
	if a := c.Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 104857600\r\n\r\nand so on"); a.Status != 404 {
		t.Fatalf("got %+v", a)
	}
	stop := make(chan struct{})
	var sender sync.WaitGroup
	sender.Go(func() { slowly(c, stop) })
	wantQuick(t, p)
	close(stop)
	sender.Wait()
}

// drainBlame: what a drain cuts is not the origin's fault.
func drainBlame(t *T) {
	stopped := make(chan struct{}, 1)
	o := NewOrigin(t, func(e *Exchange) error {
		e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfirst")
		io.Copy(io.Discard, e.In)
		stopped <- struct{}{}
		return ErrClose
	})
	p := t.Start(Setup{Spec: o.Spec()})
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if _, err := readHead(c.In); err != nil {
		t.Fatal(err)
	}
	c.wants(t, "first")
	if err := p.Stop(time.Millisecond); err == nil {
		t.Error("Shutdown says that nothing was cut")
	}
	await(t, "the origin to be told", stopped)
	if r := p.Record(1); r.Truncated || p.Metrics.UpstreamTruncated.Load() != 0 {
		t.Errorf("record %+v, %d counted", r, p.Metrics.UpstreamTruncated.Load())
	}
}
