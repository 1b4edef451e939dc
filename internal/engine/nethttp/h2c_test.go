package nethttp

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/engine/enginetest"
	"ramjet.dev/ingress/internal/route"
)

// h2cOrigin starts a server that speaks HTTP/2 with prior knowledge only.
func h2cOrigin(t *testing.T, h http.HandlerFunc) route.Spec {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: protocols}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	spec := (&enginetest.Origin{Address: l.Addr().String()}).Spec()
	spec.Backends[0].Protocol = route.GRPC
	return spec
}

// A backend of protocol GRPC is dialled with cleartext HTTP/2; body, trailers and
// targets cross from every kind of client.
func TestHTTP2Backend(t *testing.T) {
	spec := h2cOrigin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", r.Proto+" "+r.RequestURI+" "+r.Host+" "+r.Header.Get("Te")+" "+r.Header.Get("X-Forwarded-For"))
		w.Write(body)
		w.(http.Flusher).Flush() // a body with a length has no trailers in HTTP/1.1
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	})
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: spec, Hosts: []string{"a.test"}})
	for _, one := range []struct {
		name, url string
		h2        bool
		te        string
	}{
		{"HTTP/2 over TLS", "https://a.test//pkg.Service/Method?x=%2f", true, "trailers"},
		{"HTTP/2 in the clear", "http://a.test//pkg.Service/Method?x=%2f", true, "trailers"},
		{"HTTP/1.1", "http://a.test//pkg.Service/Method?x=%2f", false, ""},
	} {
		t.Run(one.name, func(t *testing.T) {
			req, err := http.NewRequest("POST", one.url, struct{ io.Reader }{strings.NewReader("hello")})
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/grpc")
			req.Header.Set("X-Forwarded-For", "9.9.9.9")
			resp, err := p.Client(one.h2).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "hello" || resp.StatusCode != 200 {
				t.Fatalf("got %d %q %v", resp.StatusCode, body, err)
			}
			want := "HTTP/2.0 //pkg.Service/Method?x=%2f a.test " + one.te + " 127.0.0.1"
			if saw := resp.Header.Get("X-Saw"); saw != want {
				t.Errorf("the backend saw %q, want %q", saw, want)
			}
			if status := resp.Trailer.Get("Grpc-Status"); status != "0" {
				t.Errorf("grpc-status %q in the trailers %v", status, resp.Trailer)
			}
		})
	}
}

// A gRPC request for an HTTP/1.1 backend is refused in words, and counted.
func TestGRPCNeedsProtocol(t *testing.T) {
	o := enginetest.NewOrigin(t, enginetest.Text("no"))
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: o.Spec()})
	a := p.Dial().Do("POST", "POST /s/m HTTP/1.1\r\nHost: a.test\r\nContent-Type: application/grpc+proto\r\nContent-Length: 0\r\n\r\n")
	if a.Status != 502 || a.Header.Get("X-Ramjet-Unsupported") != "grpc-needs-backend-protocol" || !strings.Contains(a.Body, "backend-protocol: GRPC") {
		t.Errorf("got %+v", a)
	}
	if n := p.Metrics.UnsupportedGRPC.Load(); n != 1 || len(o.Heads()) != 0 {
		t.Errorf("counted %d, the backend saw %d requests", n, len(o.Heads()))
	}
}
