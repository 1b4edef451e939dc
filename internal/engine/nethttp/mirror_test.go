package nethttp

import (
	"strconv"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/enginetest"
	"ramjet.dev/ingress/internal/route"
)

// shadowed is a proxy whose one route is mirrored to shadow.
func shadowed(t *testing.T, primary, shadow *enginetest.Origin, m route.MirrorSpec) *enginetest.Proxy {
	t.Helper()
	spec := primary.Spec()
	spec.Backends = append(spec.Backends, route.BackendSpec{Name: "shadow", Endpoints: []route.EndpointSpec{{Address: shadow.Address, Weight: 1}}})
	m.Backend = "shadow"
	spec.Routes[0].Mirror = &m
	return enginetest.Start(t, newEngine, enginetest.Setup{Spec: spec, Change: func(o *engine.Options) { o.MirrorMaxBody = 256 << 10 }})
}

// heard collects what a shadow gets.
func heard(got chan<- string) func(*enginetest.Exchange) error {
	return func(e *enginetest.Exchange) error {
		body, err := e.Body()
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(e.Head, "\r\n")
		got <- strings.Join([]string{line, e.Field("Host")[0], e.Field("X-Mirrored-By")[0], e.Field("X-Request-Id")[0], body}, "|")
		return e.Reply("500 Broken", "nobody reads this")
	}
}

func TestMirrorGetsCopies(t *testing.T) {
	primary := enginetest.NewOrigin(t, enginetest.Text("primary"))
	got := make(chan string, 10)
	shadow := enginetest.NewOrigin(t, heard(got))
	p := shadowed(t, primary, shadow, route.MirrorSpec{Percent: 100, Host: "shadow.test"})
	c := p.Dial()
	for _, one := range []struct{ method, rest, body string }{
		{"GET", "X-Request-Id: one\r\n\r\n", ""},
		{"POST", "X-Request-Id: two\r\nContent-Length: 5\r\n\r\nhello", "hello"},
		{"POST", "X-Request-Id: three\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc"},
	} {
		if a := c.Do(one.method, one.method+" /x?y=%2f HTTP/1.1\r\nHost: a.test\r\n"+one.rest); a.Body != "primary" {
			t.Fatalf("the client got %+v", a)
		}
		id := enginetest.HeadField(one.method+" /\r\n"+one.rest, "X-Request-Id")[0]
		if copy, want := <-got, one.method+" /x?y=%2f HTTP/1.1|shadow.test|ramjet-ingress|"+id+"|"+one.body; copy != want {
			t.Errorf("the mirror got %q, want %q", copy, want)
		}
	}
}

func TestMirrorSkipsLargeBodies(t *testing.T) {
	size := 10 << 20
	primary := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
		body, err := e.Body()
		if err != nil {
			return err
		}
		return e.Reply("200 OK", strconv.Itoa(len(body)))
	})
	shadow := enginetest.NewOrigin(t, enginetest.Text("shadow"))
	p := shadowed(t, primary, shadow, route.MirrorSpec{Percent: 100})
	big := strings.Repeat("x", size)
	for i, head := range []string{
		"Content-Length: " + strconv.Itoa(size) + "\r\n\r\n" + big,
		"Transfer-Encoding: chunked\r\n\r\n" + strconv.FormatInt(int64(size), 16) + "\r\n" + big + "\r\n0\r\n\r\n",
	} {
		if a := p.Dial().Do("POST", "POST / HTTP/1.1\r\nHost: a.test\r\n"+head); a.Body != strconv.Itoa(size) {
			t.Errorf("the primary got %s bytes, want %d", a.Body, size)
		}
		if n := p.Metrics.MirrorSkipped.Load(); n != uint64(i+1) {
			t.Errorf("%d skipped, want %d", n, i+1)
		}
	}
	if n := len(shadow.Heads()); n != 0 {
		t.Errorf("the mirror got %d requests", n)
	}
}

// A mirror that never answers holds its workers and the queue, and nothing else.
func TestMirrorHanging(t *testing.T) {
	primary := enginetest.NewOrigin(t, enginetest.Text("primary"))
	hang := make(chan struct{})
	shadow := enginetest.NewOrigin(t, func(*enginetest.Exchange) error { <-hang; return enginetest.ErrClose })
	t.Cleanup(func() { close(hang) })
	p := shadowed(t, primary, shadow, route.MirrorSpec{Percent: 100})
	c := p.Dial()
	for range 1000 {
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Body != "primary" {
			t.Fatalf("the client got %+v", a)
		}
	}
	if n := p.Metrics.MirrorDropped.Load(); n == 0 {
		t.Error("nothing was dropped although nothing was answered")
	}
}

func TestMirrorPercentZeroIsSilent(t *testing.T) {
	primary := enginetest.NewOrigin(t, enginetest.Text("primary"))
	shadow := enginetest.NewOrigin(t, enginetest.Text("shadow"))
	p := shadowed(t, primary, shadow, route.MirrorSpec{Percent: 0})
	c := p.Dial()
	for range 100 {
		c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	}
	p.Stop(0)
	if n := shadow.Conns(); n != 0 {
		t.Errorf("the mirror got %d connections", n)
	}
}
