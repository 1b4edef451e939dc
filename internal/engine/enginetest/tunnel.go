package enginetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
)

// tunnels are what an upgrade leads to: bytes both ways, each direction with an
// end of its own, whatever is published meanwhile.
var tunnels = features{
	"every byte, both ways at once": tunnelBytes,
	"the client ends its direction": clientHalfCloses,
	"the origin ends its direction": originHalfCloses,
	"the client resets":             clientResets,
	"the origin resets":             originResets,
	"publishes leave it alone":      tunnelOutlives,
	"booked once, when it ends":     tunnelRecord,
}

func tunnelBytes(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoTunnel).Spec(), Hosts: []string{"a.test"}})
	for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
		c.tunnel(t, "")
		up, down := newRandom(3, 2*megabyte), newRandom(3, 2*megabyte)
		var sender sync.WaitGroup
		sender.Go(func() { io.Copy(c.Conn, up) })
		back := newRandom(0, 0)
		if _, err := io.CopyN(back.hash, c.In, 2*megabyte); err != nil {
			t.Fatal(err)
		}
		sender.Wait()
		io.Copy(io.Discard, down)
		if string(back.hash.Sum(nil)) != string(down.hash.Sum(nil)) {
			t.Error("what came back is not what was sent")
		}
	}
}

// closeWrite ends the client's direction, with TLS or without.
func (r *Raw) closeWrite() error {
	return r.Conn.(interface{ CloseWrite() error }).CloseWrite()
}

func clientHalfCloses(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}, Spec: NewOrigin(t, func(e *Exchange) error {
		e.Raw(switching)
		all, err := io.ReadAll(e.In) // to the end of the client's direction
		if err != nil {
			return err
		}
		e.Raw("you said ")
		e.Raw(string(all))
		return ErrClose
	}).Spec()})
	for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
		c.tunnel(t, "hel")
		c.Send("lo")
		if err := c.closeWrite(); err != nil {
			t.Fatal(err)
		}
		c.wants(t, "you said hello")
		wantEOF(t, c.In, "after that")
	}
}

func originHalfCloses(t *T) {
	heard := make(chan string, 1)
	p := t.Start(Setup{Hosts: []string{"a.test"}, Spec: NewOrigin(t, func(e *Exchange) error {
		e.Raw(switching + "that is all")
		e.Out.CloseWrite()
		all, _ := io.ReadAll(e.In)
		heard <- string(all)
		return ErrClose
	}).Spec()})
	for _, c := range []*Raw{p.Dial(), p.DialTLS("a.test")} {
		c.tunnel(t, "")
		c.wants(t, "that is all")
		wantEOF(t, c.In, "after that")
		c.Send("and I say ")
		c.Send("more")
		c.closeWrite()
		if got := await(t, "the origin to hear all", heard); got != "and I say more" {
			t.Errorf("the origin heard %q", got)
		}
	}
}

func clientResets(t *T) {
	ended := make(chan error, 1)
	p := t.Start(Setup{Spec: NewOrigin(t, func(e *Exchange) error {
		e.Raw(switching)
		ended <- e.Gone()
		return ErrClose
	}).Spec()})
	c := p.Dial()
	c.tunnel(t, "")
	c.Conn.(*net.TCPConn).SetLinger(0)
	c.Close()
	if err := await(t, "the origin's end", ended); err != nil {
		t.Error(err)
	}
}

func originResets(t *T) {
	reset := make(chan struct{})
	p := t.Start(Setup{Spec: NewOrigin(t, func(e *Exchange) error {
		e.Raw(switching)
		err := e.Await(reset)
		e.Out.SetLinger(0)
		return errors.Join(err, ErrClose)
	}).Spec()})
	c := p.Dial()
	c.tunnel(t, "")
	close(reset)
	if !c.Closed() {
		t.Errorf("the client still listens; it got %q", c.Transcript())
	}
}

// tunnelOutlives publishes 50 times while tunnels are open: other routes, other
// endpoints, and in the end nothing at all.
func tunnelOutlives(t *T) {
	o := NewOrigin(t, echoTunnel)
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	var open []*Raw
	for range 10 {
		plain, secure := p.Dial(), p.DialTLS("a.test")
		plain.tunnel(t, "")
		secure.tunnel(t, "")
		open = append(open, plain, secure)
	}
	for n := range 50 {
		spec := o.Spec()
		spec.Routes = append(spec.Routes, route.RouteSpec{Host: fmt.Sprintf("h%d.test", n), Path: "/", PathType: route.Prefix, Backend: "origin"})
		switch n % 5 {
		case 3:
			spec.Backends[0].Endpoints[0].Address = "192.0.2.1:80"
		case 4:
			spec = route.Spec{}
		}
		p.Publish(spec)
		for i, c := range open {
			c.pings(t, fmt.Sprintf("ping %d of tunnel %d", n, i))
		}
	}
}

func shortTunnel(o *engine.Options) {
	o.TunnelIdle = long
	o.StreamIdle, o.ClientIdle = moment, moment // none of these is a tunnel's
	o.HeaderTimeout = long
}

// tunnelIdle (W05): only the timeout of tunnels ends a silent one.
func tunnelIdle(t *T) {
	ended := make(chan error, 1)
	p := t.Start(Setup{Change: shortTunnel, Spec: NewOrigin(t, func(e *Exchange) error {
		e.Raw(switching)
		ended <- e.Gone()
		return ErrClose
	}).Spec()})
	c := p.Dial()
	began := time.Now() // it is silent from its beginning on, which is not seen at that moment
	c.tunnel(t, "")
	if !c.Closed() {
		t.Errorf("got %q", c.Transcript())
	}
	if took := time.Since(began); took < long-50*time.Millisecond || took > patience/2 {
		t.Errorf("ended after %v, want %v", took, long)
	}
	if err := await(t, "the origin's end", ended); err != nil {
		t.Error(err)
	}
}

func tunnelOneWay(t *T) {
	oneWay := func(t *T, speaks string) {
		p := t.Start(Setup{Change: shortTunnel, Spec: NewOrigin(t, func(e *Exchange) error {
			e.Raw(switching)
			if speaks == "the client" {
				b := make([]byte, pieces)
				if _, err := io.ReadFull(e.In, b); err != nil {
					return err
				}
			} else {
				for range pieces {
					if !silent(e.Out, e.In, gap) {
						return ErrClose
					}
					e.Raw(".")
				}
			}
			e.Raw("the end")
			return ErrClose
		}).Spec()})
		c := p.Dial()
		c.tunnel(t, "")
		if speaks == "the client" {
			for range pieces {
				if !silent(c, c.In, gap) {
					t.Fatalf("only %s speaks: got %q", speaks, c.Transcript())
				}
				c.Send(".")
			}
			c.wants(t, "the end")
			return
		}
		c.wants(t, strings.Repeat(".", pieces)+"the end")
	}
	t.Together(features{
		"the client speaks": func(t *T) { oneWay(t, "the client") },
		"the origin speaks": func(t *T) { oneWay(t, "the origin") },
	})
}

func tunnelRecord(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, echoTunnel).Spec()})
	c := p.Dial()
	c.tunnel(t, "")
	c.pings(t, "hello")
	c.closeWrite()
	wantEOF(t, c.In, "at the end")
	r := p.Record(1)
	if r.Status != 101 || !r.Answered || r.Attempts != 1 || r.Plan.Route == nil {
		t.Errorf("record %+v", r)
	}
	if n := r.Plan.Route.Counters.Total(); n.Requests != 1 || n.Errors5xx != 0 || n.LatencyCount != 1 {
		t.Errorf("counters %+v", n)
	}
}
