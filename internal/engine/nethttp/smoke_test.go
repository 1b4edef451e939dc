package nethttp

import (
	"log/slog"
	"testing"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/enginetest"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/upstream"
)

func newEngine(o engine.Options, live *generation.Live, pools *upstream.Pools, m *engine.Metrics, log *slog.Logger) enginetest.Engine {
	return New(o, live, pools, m, log)
}

func TestSmoke(t *testing.T) {
	o := enginetest.NewOrigin(t, enginetest.Text("hello"))
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	c := p.Dial()
	for range 3 {
		a := c.Do("GET", "GET /x?y=1 HTTP/1.1\r\nHost: a.test\r\nX-A: 1\r\nConnection: x-b\r\nX-B: 2\r\n\r\n")
		t.Logf("%+v", a)
	}
	a := c.Do("POST", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello")
	t.Logf("%+v", a)
	a = c.Do("POST", "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	t.Logf("%+v", a)
	a = c.Do("GET", "GET /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	t.Logf("%+v %v", a, c.Closed())
	t.Logf("%+v", p.Get(p.Client(true), "https://a.test/h2"))
	t.Logf("%+v", p.Get(p.Client(true), "http://a.test/h2c"))
	t.Logf("%+v", p.Get(p.Client(false), "https://a.test/h1s"))
	for _, h := range o.Heads() {
		t.Log(h)
	}
	t.Log(o.Conns())
}
