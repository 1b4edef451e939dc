package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/staticfile"
)

// demo is static mode with everything brought along: upstreams in this process
// and a certificate made at start. It owns the upstreams.
type demo struct {
	servers  []*http.Server
	serving  sync.WaitGroup // of servers
	backends []route.BackendSpec
	material certs.Material
}

// demoUpstreams names the endpoints of each backend.
var demoUpstreams = []struct {
	backend   string
	endpoints []string
}{
	{"api", []string{"api-1"}},
	{"fallback", []string{"fallback-1"}},
	{"next", []string{"next-1"}},
	{"shadow", []string{"shadow-1"}},
	{"web", []string{"web-1", "web-2"}},
}

func newDemo() (*demo, error) {
	d := &demo{}
	for _, u := range demoUpstreams {
		spec := route.BackendSpec{Name: u.backend}
		for _, name := range u.endpoints {
			address, err := d.upstream(name)
			if err != nil {
				d.close()
				return nil, err
			}
			spec.Endpoints = append(spec.Endpoints, route.EndpointSpec{Address: address, Weight: 1})
		}
		d.backends = append(d.backends, spec)
	}
	var err error
	if d.material, err = selfSigned("localhost", "*.localhost", "shop.localhost"); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// upstream starts a server on loopback that says who it is and what it was asked.
func (d *demo) upstream(name string) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("start the upstream %s: %w", name, err)
	}
	s := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: &demoUpstream{name: name}}
	d.servers = append(d.servers, s)
	d.serving.Go(func() { _ = s.Serve(l) }) // ends with close
	return l.Addr().String(), nil
}

// demoUpstream answers with its name and what it was asked. Nobody hears what it
// answers to copies, so it tells of the last one later.
type demoUpstream struct {
	name string

	mu     sync.Mutex
	copies int
	last   string
}

// ServeHTTP answers.
func (u *demoUpstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain")
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Header.Get("X-Mirrored-By") != "" {
		u.copies++
		u.last = r.Method + " " + r.URL.RequestURI()
		return
	}
	fmt.Fprintf(w, "%s answers %s %s for %s over %s\n", u.name, r.Method, r.URL.RequestURI(), r.Host, r.Header.Get("X-Forwarded-Proto"))
	if u.copies > 0 {
		fmt.Fprintf(w, "%s got copies: %d, the last one of %s\n", u.name, u.copies, u.last)
	}
}

// close ends the upstreams. A nil demo has none.
func (d *demo) close() {
	if d == nil {
		return
	}
	for _, s := range d.servers {
		s.Close()
	}
	d.serving.Wait()
}

// file is the route file that the demo stands for.
func (d *demo) file() *staticfile.File {
	id := d.material.ID()
	return &staticfile.File{
		Spec: route.Spec{
			Backends:       d.backends,
			DefaultBackend: "fallback",
			Routes: []route.RouteSpec{
				{Host: "shop.localhost", Path: "/", PathType: route.Prefix, Backend: "web",
					Canary: &route.CanarySpec{Backend: "next", Header: "x-canary"}},
				{Host: "shop.localhost", Path: "/api", PathType: route.Prefix, Backend: "api",
					Mirror: &route.MirrorSpec{Backend: "shadow", Percent: 100}},
				{Host: "shop.localhost", Path: "/version", PathType: route.Exact, Backend: "next"},
				{Host: "*.apps.localhost", Path: "/", PathType: route.Prefix, Backend: "web"},
				{Host: "shadow.localhost", Path: "/", PathType: route.Prefix, Backend: "shadow"},
				{Host: "status.localhost", Path: `/v[0-9]+/`, PathType: route.ImplementationSpecific, Regex: true, Backend: "api"},
			},
			Certs: []route.CertSpec{{Host: "shop.localhost", ID: id}, {Host: "*", ID: id}},
		},
		Certs: []certs.Material{d.material},
	}
}

// explain prints what to try, with what to expect.
func (d *demo) explain(w io.Writer, s listeners) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\nThis is a demo: its upstreams run in this process, its certificate signs itself. Try:\n\n")
	if s.http != nil {
		fmt.Fprintf(&b, "  curl http://shop.localhost:%d/\n      web-1 and web-2 take turns\n\n", port(s.http))
		fmt.Fprintf(&b, "  curl -H x-canary:always http://shop.localhost:%d/\n      next-1 answers: it is the canary of that route\n\n", port(s.http))
	}
	if s.https != nil {
		fmt.Fprintf(&b, "  curl -k --http1.1 https://shop.localhost:%d/api/items\n      api-1 answers, over https; shadow-1 gets a copy\n\n", port(s.https))
		fmt.Fprintf(&b, "  curl -k --http2 -w 'HTTP/%%{http_version}\\n' https://shop.localhost:%d/version\n      next-1 answers, then: HTTP/2\n\n", port(s.https))
	}
	if s.http != nil && s.https != nil {
		fmt.Fprintf(&b, "  curl http://shadow.localhost:%d/\n      shadow-1 tells of the copies that it got\n\n", port(s.http))
	}
	if s.admin != nil {
		fmt.Fprintf(&b, "What is on the wire, and what changed: curl http://localhost:%[1]d/admin/generations\nEach route with its numbers, those of the canary apart: curl http://localhost:%[1]d/admin/routes\n", port(s.admin))
	}
	fmt.Fprintf(&b, "Ctrl-C drains and ends it.\n\n")
	_, _ = w.Write(b.Bytes()) // nobody is left to tell
}

func port(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// selfSigned makes a certificate for names, valid for a month, that nobody trusts.
func selfSigned(names ...string) (certs.Material, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return certs.Material{}, fmt.Errorf("make the demo's key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: "ramjet-ingress demo"},
		DNSNames:     names,
		NotBefore:    now.Add(-time.Hour),
		NotAfter:     now.Add(30 * 24 * time.Hour),
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return certs.Material{}, fmt.Errorf("make the demo's certificate: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return certs.Material{}, fmt.Errorf("write the demo's key: %w", err)
	}
	return certs.Material{
		Name: "demo",
		Cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		Key:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}),
	}, nil
}
