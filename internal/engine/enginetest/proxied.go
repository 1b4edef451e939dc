package enginetest

import (
	"crypto/tls"
	"net"
	"net/netip"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/engine"
)

// proxied is the PROXY protocol (O07) in front of everything: the peer is the one that
// the header names, for headers, trust and record alike, and without a header
// there is no connection.
var proxied = features{
	"who the peer is":             proxiedPeer,
	"byte by byte":                proxiedByteByByte,
	"before TLS, in one segment":  proxiedTLS,
	"before HTTP/2":               proxiedH2,
	"is believed about the peer":  proxiedTrust,
	"missing, broken or repeated": proxiedBadly,
	"a drain does not wait for it": func(t *T) {
		p := t.Start(Setup{Hosts: []string{"a.test"}, Change: viaProxy})
		c, err := net.Dial("tcp", p.HTTPS)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p.Dial().Send("PROXY ")
		eventually(t, "both to be accepted", func() bool { return p.Metrics.ActiveConnections.Load() == 2 })
		wantQuick(t, p)
	},
}

func viaProxy(o *engine.Options) {
	o.ProxyProtocol, o.ProxyProtocolTimeout = true, patience/2
}

// binaryHeader is version 2 of the header for 203.0.113.9:1234.
const binaryHeader = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x09\x7f\x00\x00\x01\x04\xd2\x01\xbb"

// localHeader is version 2 of a connection that the load balancer made for itself.
const localHeader = "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"

func proxiedPeer(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec(), Change: viaProxy})
	n := 0
	for header, want := range map[string]string{
		"PROXY TCP4 203.0.113.9 127.0.0.1 1234 443\r\n":   "203.0.113.9",
		"PROXY TCP6 2001:db8::9 2001:db8::1 1234 443\r\n": "2001:db8::9",
		"PROXY TCP6 ::ffff:203.0.113.9 ::1 1234 443\r\n":  "203.0.113.9",
		"PROXY UNKNOWN\r\n": "127.0.0.1",
		"PROXY UNKNOWN some words that mean nothing here\r\n": "127.0.0.1",
		binaryHeader: "203.0.113.9",
		localHeader:  "127.0.0.1",
	} {
		c := p.Dial()
		if a := c.Do("GET", header+"GET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n"); a.Status != 200 {
			t.Errorf("%q: got %+v", header, a)
			continue
		}
		head := o.Heads()[n]
		if first(HeadField(head, "X-Forwarded-For")) != want || first(HeadField(head, "X-Real-IP")) != want {
			t.Errorf("%q: the origin got %q, want %s", header, head, want)
		}
		n++
		if r := p.Record(n); r.Client.String() != want {
			t.Errorf("%q: the record says %v, want %s", header, r.Client, want)
		}
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
			t.Errorf("%q: the second request of the connection got %+v", header, a)
		}
		n++
		p.settled(n)
	}
}

func proxiedByteByByte(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec(), Change: viaProxy})
	for n, header := range []string{"PROXY TCP4 203.0.113.9 127.0.0.1 1234 443\r\n", binaryHeader} {
		c := p.Dial()
		c.Conn.(*net.TCPConn).SetNoDelay(true)
		for _, b := range []byte(header + "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n") {
			c.Send(string([]byte{b}))
		}
		if a, _ := c.Final("GET"); a.Status != 200 {
			t.Fatalf("%q: got %+v", header, a)
		}
		if got := first(HeadField(o.Heads()[n], "X-Real-IP")); got != "203.0.113.9" {
			t.Errorf("%q: the origin got %s", header, got)
		}
	}
}

// prefixed is a connection whose first write takes something along.
type prefixed struct {
	net.Conn
	prefix string
}

func (p *prefixed) Write(b []byte) (int, error) {
	if p.prefix == "" {
		return p.Conn.Write(b)
	}
	n, err := p.Conn.Write(append([]byte(p.prefix), b...))
	n = max(n-len(p.prefix), 0)
	p.prefix = ""
	return n, err
}

func proxiedTLS(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}, Change: viaProxy})
	c, err := net.Dial("tcp", p.HTTPS)
	if err != nil {
		t.Fatal(err)
	}
	inner := tls.Client(&prefixed{c, binaryHeader}, &tls.Config{ServerName: "a.test", RootCAs: p.Roots})
	if a := p.raw(inner).Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	head := o.Heads()[0]
	if first(HeadField(head, "X-Real-IP")) != "203.0.113.9" || first(HeadField(head, "X-Forwarded-Proto")) != "https" {
		t.Errorf("the origin got %q", head)
	}
}

func proxiedH2(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec(), Change: viaProxy})
	c, err := net.Dial("tcp", p.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	if a := p.rawH2(&prefixed{c, binaryHeader}, 0).get("a.test", "/"); a.status() != "200" {
		t.Fatalf("got %+v", a)
	}
	if got := first(HeadField(o.Heads()[0], "X-Real-IP")); got != "203.0.113.9" {
		t.Errorf("the origin got %s", got)
	}
}

// proxiedTrust: trusted proxies are looked for among the peers that headers name,
// not among the load balancers that write them.
func proxiedTrust(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec(), Change: func(options *engine.Options) {
		viaProxy(options)
		options.Trust = engine.NewTrust([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("203.0.113.0/24")})
	}})
	for n, try := range []struct{ peer, want string }{
		{"203.0.113.9", "198.51.100.1"}, // trusted, and believed
		{"192.0.2.7", "192.0.2.7"},      // a stranger behind a trusted load balancer
	} {
		c := p.Dial()
		c.Do("GET", "PROXY TCP4 "+try.peer+" 127.0.0.1 1234 443\r\nGET / HTTP/1.1\r\nHost: a.test\r\nX-Forwarded-For: 198.51.100.1\r\n\r\n")
		if got := first(HeadField(o.Heads()[n], "X-Real-IP")); got != try.want {
			t.Errorf("%s: the client is %s, want %s", try.peer, got, try.want)
		}
	}
}

func proxiedBadly(t *T) {
	o := NewOrigin(t, Text("ok"))
	p := t.Start(Setup{Spec: o.Spec(), Hosts: []string{"a.test"}, Change: func(options *engine.Options) {
		viaProxy(options)
		options.ProxyProtocolTimeout = moment // which nobody here gets by
	}})
	began := time.Now()
	for _, start := range []string{
		"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"PROXY TCP4 203.0.113.9\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"PROXY TCP5 203.0.113.9 127.0.0.1 1 2\r\n",
		"PROXY " + strings.Repeat("x", 200),
		"\r\n\r\n\x00\r\nQUIT\n\x31\x11\x00\x0c",
		"PROXY TCP4 203.0.113.9 127.0.0.1 12", // and no more
		"",
	} {
		for _, address := range []string{p.HTTP, p.HTTPS} {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			r := p.raw(c)
			r.Send(start)
			if !r.Closed() {
				t.Errorf("%q: got %q, want the end without a word", start, r.Transcript())
			}
		}
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("that took %v", took)
	}
	eventually(t, "no connection to be left", func() bool { return p.Metrics.ActiveConnections.Load() == 0 })
	p = t.Start(Setup{Spec: o.Spec(), Change: viaProxy})
	const header = "PROXY TCP4 203.0.113.9 127.0.0.1 1234 443\r\n"
	if a := p.Dial().Do("GET", header+header+"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 400 {
		t.Errorf("a second header: got %+v", a)
	}
	if got := len(o.Heads()); got != 0 {
		t.Errorf("%d requests reached the origin", got)
	}
}
