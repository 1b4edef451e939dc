package reactor

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/engine/enginetest"
	"ramjet.dev/ingress/internal/route"
)

// TestSpread: connections are dealt evenly, also when there are few.
func TestSpread(t *testing.T) {
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: enginetest.NewOrigin(t, enginetest.Text("ok")).Spec()})
	for want := int64(1); want <= 3; want++ {
		for range 2 {
			p.Dial().Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
		}
		for _, l := range p.Engine.(*Engine).loops {
			if got := l.conns.Load(); got != want {
				t.Errorf("a loop has %d of %d connections, want %d", got, 2*want, want)
			}
		}
	}
}

// TestNamedEndpoint: an endpoint may have a name, which is looked up beside the loop.
func TestNamedEndpoint(t *testing.T) {
	o := enginetest.NewOrigin(t, enginetest.Text("ok"))
	_, port, _ := net.SplitHostPort(o.Address)
	spec := o.Spec()
	spec.Backends[0].Endpoints = []route.EndpointSpec{{Address: "localhost:" + port, Weight: 1}}
	spec.Backends = append(spec.Backends, route.BackendSpec{
		Name: "nowhere", Endpoints: []route.EndpointSpec{{Address: "no-such-name.invalid:1", Weight: 1}},
	})
	spec.Routes = append(spec.Routes, route.RouteSpec{Path: "/nowhere", PathType: route.Exact, Backend: "nowhere"})
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: spec})
	c := p.Dial()
	for n := range 3 {
		if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 || a.Body != "ok" {
			t.Fatalf("request %d: got %+v", n+1, a)
		}
	}
	if got := o.Conns(); got != 1 {
		t.Errorf("3 requests over %d connections, want 1", got)
	}
	if a := c.Do("GET", "GET /nowhere HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 502 && a.Status != 504 {
		t.Errorf("a name that does not exist: got %+v", a)
	}
	if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 {
		t.Errorf("after that: got %+v", a)
	}
}

// h2cBackend is net/http as a backend that speaks HTTP/2 in the clear, and echoes.
func h2cBackend(t *testing.T) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // an answer that comes earlier ends the client's connection
		_, _ = w.Write(body)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().String()
}

// TestHandOverInTheMiddle: a connection that was served here, plain or TLS, goes on
// where HTTP/2 is spoken once a request needs that, and serves all that follows.
func TestHandOverInTheMiddle(t *testing.T) {
	o := enginetest.NewOrigin(t, enginetest.Text("ok"))
	spec := o.Spec()
	spec.Backends = append(spec.Backends, route.BackendSpec{
		Name: "h2c", Protocol: route.GRPC, Endpoints: []route.EndpointSpec{{Address: h2cBackend(t), Weight: 1}},
	})
	spec.Routes = append(spec.Routes, route.RouteSpec{Path: "/h2c", PathType: route.Exact, Backend: "h2c"})
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: spec, Hosts: []string{"a.test"}})
	big := strings.Repeat("0123456789abcdef", 10<<10)
	post := func(body string) string {
		return "POST /h2c HTTP/1.1\r\nHost: a.test\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	for say, c := range map[string]*enginetest.Raw{"plain": p.Dial(), "TLS": p.DialTLS("a.test")} {
		for range 2 {
			if a := c.Do("GET", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"); a.Status != 200 || a.Body != "ok" {
				t.Fatalf("%s: got %+v", say, a)
			}
		}
		for _, body := range []string{"hello", big} {
			if a := c.Do("POST", post(body)); a.Status != 200 || a.Body != body {
				t.Fatalf("%s: got %d with %d bytes, want %d", say, a.Status, len(a.Body), len(body))
			}
		}
		c.Send(post("one") + post("two") + "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
		for _, want := range []string{"one", "two", "ok"} {
			if a, _ := c.Final("POST"); a.Status != 200 || a.Body != want {
				t.Fatalf("%s: got %+v, want %q", say, a, want)
			}
		}
	}
	settles(t, "nothing to be held", func() bool {
		h := held(p)
		return h == holdings{idle: h.idle}
	})
	if got := p.Metrics.ActiveConnections.Load(); got != 2 {
		t.Errorf("%d active connections, want 2", got)
	}
}
