package enginetest

import (
	"crypto/tls"
	"io"
	"net"
	"strings"
	"sync"
)

// secure is TLS: which certificate is shown, what is spoken inside, and that a
// rotation fails nobody.
var secure = features{
	"the certificate for a name":            serverNames,
	"no certificate for a name":             unrecognizedName,
	"protocols":                             alpn,
	"versions":                              tlsVersions,
	"sessions are resumed":                  resumption,
	"plain HTTP on the TLS port":            plainOnTLS,
	"no TLS and no HTTP on the TLS port":    garbageOnTLS,
	"routing follows Host, not server name": hostNotServerName,
	"rotations under full handshakes":       rotations,
}

func serverNames(t *T) {
	p := t.Start(Setup{Hosts: []string{"shop.test", "*.w.test", "a.w.test", "*"}})
	for name, want := range map[string]string{
		"shop.test":     "shop.test",
		"SHOP.Test":     "shop.test",
		"a.w.test":      "a.w.test",
		"b.w.test":      "*.w.test",
		"B.W.TEST":      "*.w.test",
		"x.b.w.test":    "default.test",
		"w.test":        "default.test",
		"other.test":    "default.test",
		"":              "default.test",
		"sub.shop.test": "default.test",
	} {
		leaf, err := p.Leaf(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
		} else if leaf.Subject.CommonName != want {
			t.Errorf("%q is shown the certificate of %q, want %q", name, leaf.Subject.CommonName, want)
		}
	}
	eventually(t, "ten handshakes to be counted", func() bool { return p.Metrics.Handshakes.Load() == 10 })
}

func unrecognizedName(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}})
	for _, name := range []string{"b.test", ""} {
		if _, err := p.Leaf(name); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("%q: %v, want unrecognized_name", name, err)
		}
	}
	eventually(t, "the failures to be counted", func() bool { return p.Metrics.HandshakeFailures.Load() == 2 })
	if got := p.Metrics.Handshakes.Load(); got != 0 {
		t.Errorf("%d handshakes counted as good", got)
	}
}

// hello connects with a TLS configuration of the test's own.
func (p *Proxy) hello(change func(*tls.Config)) (*tls.Conn, error) {
	config := &tls.Config{ServerName: "a.test", RootCAs: p.Roots}
	change(config)
	return tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", p.HTTPS, config)
}

func alpn(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, Text("ok")).Spec(), Hosts: []string{"a.test"}})
	for _, try := range []struct {
		offer []string
		want  string
	}{
		{[]string{"h2", "http/1.1"}, "h2"},
		{[]string{"http/1.1", "h2"}, "h2"},
		{[]string{"http/1.1"}, "http/1.1"},
		{[]string{"http/1.1", "something"}, "http/1.1"},
		{nil, ""},
	} {
		c, err := p.hello(func(config *tls.Config) { config.NextProtos = try.offer })
		if err != nil {
			t.Errorf("%q: %v", try.offer, err)
			continue
		}
		if got := c.ConnectionState().NegotiatedProtocol; got != try.want {
			t.Errorf("%q: %q was chosen, want %q", try.offer, got, try.want)
		}
		if try.want != "h2" {
			if a := p.raw(c).Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
				t.Errorf("%q: got %+v", try.offer, a)
			}
		}
		c.Close()
	}
	if a := p.DialH2TLS("a.test").get("a.test", "/"); a.status() != "200" {
		t.Errorf("over h2: got %+v", a)
	}
	if _, err := p.hello(func(config *tls.Config) { config.NextProtos = []string{"something"} }); err == nil {
		t.Error("a protocol that nobody speaks was agreed on")
	}
}

func tlsVersions(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}})
	for version, good := range map[uint16]bool{tls.VersionTLS10: false, tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		c, err := p.hello(func(config *tls.Config) { config.MinVersion, config.MaxVersion = version, version })
		if (err == nil) != good {
			t.Errorf("%s: %v", tls.VersionName(version), err)
		}
		if err == nil {
			c.Close()
		}
	}
}

// resumption goes on over a publish; who makes a full handshake then sees what
// was published.
func resumption(t *T) {
	p := t.Start(Setup{Spec: NewOrigin(t, Text("ok")).Spec(), Hosts: []string{"a.test"}})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		sessions := tls.NewLRUClientSessionCache(8)
		for n := range 3 {
			c, err := p.hello(func(config *tls.Config) {
				config.MaxVersion, config.ClientSessionCache = version, sessions
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := c.ConnectionState().DidResume; got != (n > 0) {
				t.Errorf("%s, connection %d: resumed %v", tls.VersionName(version), n+1, got)
			}
			// A ticket of TLS 1.3 comes with the first bytes that are read.
			if a := p.raw(c).Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
				t.Errorf("got %+v", a)
			}
			c.Close()
			if n == 1 {
				p.Publish(p.spec)
			}
		}
	}
}

func plainOnTLS(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}})
	const want = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 52\r\nConnection: close\r\n\r\n" +
		"400 Bad Request: this port speaks TLS; use https://\n"
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		c, err := net.Dial("tcp", p.HTTPS)
		if err != nil {
			t.Fatal(err)
		}
		r := p.raw(c)
		r.Send(method + " / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000\r\n\r\nsome of a body")
		got, err := io.ReadAll(r.In)
		if string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v", method, got, err)
		}
	}
}

func garbageOnTLS(t *T) {
	p := t.Start(Setup{Hosts: []string{"a.test"}})
	c, err := net.Dial("tcp", p.HTTPS)
	if err != nil {
		t.Fatal(err)
	}
	r := p.raw(c)
	r.Send("SSH-2.0-OpenSSH_9.9\r\n")
	got, _ := io.ReadAll(r.In)
	if strings.Contains(string(got), "HTTP") {
		t.Errorf("got %q", got)
	}
	eventually(t, "the failure to be counted", func() bool { return p.Metrics.HandshakeFailures.Load() == 1 })
}

// hostNotServerName (T12): the server name chooses the certificate, Host the route,
// also when one connection carries several (RFC 9113 section 9.1.1), and also one that the
// certificate does not cover: no route depends on who shook hands, so nothing is gained by it.
func hostNotServerName(t *T) {
	origins := named{}
	p := t.Start(Setup{
		Spec:  origins.spec(t, "route a.w.test / Prefix -> a", "route b.w.test / Prefix -> b", "route shop.test / Prefix -> shop"),
		Hosts: []string{"*.w.test", "shop.test"},
	})
	h1, h2 := p.DialTLS("a.w.test"), p.DialH2TLS("a.w.test")
	for _, name := range []string{"a", "b", "shop", "a"} {
		host := name + ".w.test"
		if name == "shop" {
			host = "shop.test"
		}
		if a := h1.Do("GET", "GET / HTTP/1.1\r\nHost: "+host+"\r\n\r\n"); a.Body != name {
			t.Errorf("HTTP/1.1: %s went to %q", host, a.Body)
		}
		if a := h2.get(host, "/"); a.body != name {
			t.Errorf("HTTP/2: %s went to %q", host, a.body)
		}
	}
}

// rotations changes a certificate 50 times while others connect all the time.
func rotations(t *T) {
	hosts := []string{"a.test", "b.test", "c.test", "*.w.test"}
	p := t.Start(Setup{Spec: NewOrigin(t, Text("ok")).Spec(), Hosts: hosts})
	live := p.DialTLS("a.test")
	stop := make(chan struct{})
	var clients sync.WaitGroup
	clients.Go(func() {
		names := []string{"a.test", "x.w.test"}
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := p.Leaf(names[n%2]); err != nil {
				t.Errorf("handshake %d of %s: %v", n+1, names[n%2], err)
			}
		}
	})
	for n := range 50 {
		host := hosts[n%len(hosts)]
		name := strings.Replace(host, "*", "y", 1)
		before, err := p.Leaf(name)
		if err != nil {
			t.Fatal(err)
		}
		p.Rotate(host)
		after, err := p.Leaf(name)
		if err != nil {
			t.Errorf("rotation %d: %v", n+1, err)
		} else if after.SerialNumber.Cmp(before.SerialNumber) <= 0 {
			t.Errorf("rotation %d: after serial %v came %v", n+1, before.SerialNumber, after.SerialNumber)
		}
		if a := live.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
			t.Errorf("rotation %d: the live connection got %+v", n+1, a)
		}
	}
	close(stop)
	clients.Wait()
	if got := p.Metrics.HandshakeFailures.Load(); got != 0 {
		t.Errorf("%d failed handshakes counted", got)
	}
}
