// Package enginetest is the suite that every engine passes: the same table, the
// same bytes, the same answers. An engine's own test calls Run with a function
// that makes it.
//
// Everything is real: sockets on loopback, TLS, raw clients that send the bytes
// of a case as they stand, and origins that record the bytes they got. Only
// tests import it.
package enginetest

import (
	"bytes"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// Engine is what the suite needs of an engine.
type Engine interface {
	Serve(net.Listener)
	ServeTLS(net.Listener)
	Shutdown(context.Context) error
}

// New makes the engine under test; it has started nothing.
type New func(engine.Options, *generation.Live, *upstream.Pools, *engine.Metrics, *slog.Logger) Engine

// Setup says what a test needs; the zero value is a good start.
type Setup struct {
	// Spec is the configuration. Its certificates are added from Hosts.
	Spec route.Spec
	// Unpublished starts without any configuration.
	Unpublished bool
	// Hosts get a certificate each, "*" the default one, and a TLS listener.
	Hosts []string
	// Change adjusts the options.
	Change func(*engine.Options)
	// Pools adjusts those of the pools.
	Pools func(*upstream.Options)
}

// Proxy is a running engine with all that belongs to it.
type Proxy struct {
	T       testing.TB
	Live    generation.Live
	Metrics engine.Metrics
	Pools   *upstream.Pools
	Engine  Engine
	// HTTP and HTTPS are where it listens; HTTPS is "" without certificates.
	HTTP, HTTPS string
	// Roots trusts the certificates of Setup.Hosts.
	Roots *x509.CertPool

	number    uint64
	spec      route.Spec
	authority *certtest.Authority
	materials []certs.Material
	certSpecs []route.CertSpec
	shutdown  sync.Once
	stopErr   error
	records   records
}

// Start runs an engine until the end of the test.
func Start(t testing.TB, make New, s Setup) *Proxy {
	t.Helper()
	options := engine.Options{
		ResponseTimeout:    patience / 2,
		StreamIdle:         patience / 2,
		TunnelIdle:         patience,
		HeaderTimeout:      patience / 2,
		ClientIdle:         patience / 2,
		HandshakeTimeout:   patience / 2,
		MaxHeaderBytes:     64 << 10,
		MaxConnectAttempts: 3,
	}
	p := &Proxy{T: t}
	if len(s.Hosts) > 0 {
		p.authority = certtest.NewAuthority(t)
		p.Roots = p.authority.Pool()
	}
	options.Done = p.records.add
	if s.Change != nil {
		s.Change(&options)
	}
	pools := upstream.Options{ConnectTimeout: patience / 2, IdlePerEndpoint: 128}
	if s.Pools != nil {
		s.Pools(&pools)
	}
	p.Pools = upstream.New(pools)
	for _, host := range s.Hosts {
		p.certify(host)
	}
	if !s.Unpublished {
		p.Publish(s.Spec)
	}
	p.Engine = make(options, &p.Live, p.Pools, &p.Metrics, slog.New(slog.NewTextHandler(logWriter{t}, &slog.HandlerOptions{Level: slog.LevelDebug})))
	plain := listen(t)
	p.HTTP = plain.Addr().String()
	p.Engine.Serve(plain)
	if len(s.Hosts) > 0 {
		secure := listen(t)
		p.HTTPS = secure.Addr().String()
		p.Engine.ServeTLS(secure)
	}
	t.Cleanup(func() {
		p.Stop(patience)
		p.Pools.Close()
	})
	return p
}

// Publish puts another configuration on the wire.
func (p *Proxy) Publish(spec route.Spec) {
	p.T.Helper()
	p.spec = spec
	spec.Certs = p.certSpecs
	var kept []*route.Table
	if t := p.Live.Table(); t != nil {
		kept = append(kept, t)
	}
	table, diagnostics := route.Compile(spec, kept...)
	for _, d := range diagnostics {
		p.T.Logf("compile: %s: %s", d.Reason, d.Message)
	}
	set, _, problems := certs.Build(p.materials, p.Live.Certs())
	for _, one := range problems {
		p.T.Fatalf("certificate: %s", one.Message)
	}
	p.number++
	p.Live.Publish(generation.Compiled{Number: p.number, Table: table, Certs: set})
	var addresses []string
	for _, b := range table.Backends() {
		for _, e := range b.Endpoints {
			addresses = append(addresses, e.Address)
		}
	}
	p.Pools.Retain(addresses)
}

// Stop drains the engine within grace and returns what Shutdown said.
func (p *Proxy) Stop(grace time.Duration) error {
	p.shutdown.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		p.stopErr = p.Engine.Shutdown(ctx)
	})
	return p.stopErr
}

// Record waits for the record of the n-th finished exchange, counted from 1.
func (p *Proxy) Record(n int) (r engine.Record) {
	p.T.Helper()
	p.records.wait(p.T, fmt.Sprintf("the end of exchange number %d", n), func() bool {
		if len(p.records.all) < n {
			return false
		}
		r = p.records.all[n-1]
		return true
	})
	return r
}

// RecordOf waits for the record of the first finished exchange with this target.
func (p *Proxy) RecordOf(target string) (r engine.Record) {
	p.T.Helper()
	p.records.wait(p.T, "the end of the exchange for "+target, func() bool {
		for _, r = range p.records.all {
			if r.Plan.Target == target {
				return true
			}
		}
		return false
	})
	return r
}

// certify makes a certificate for host.
func (p *Proxy) certify(host string) {
	p.T.Helper()
	p.materials = append(p.materials, certs.Material{})
	p.certSpecs = append(p.certSpecs, route.CertSpec{Host: host})
	p.renew(len(p.materials) - 1)
}

// Rotate publishes the present configuration with a new certificate for host.
func (p *Proxy) Rotate(host string) {
	p.T.Helper()
	p.certSpecs = slices.Clone(p.certSpecs)
	for i := range p.certSpecs {
		if p.certSpecs[i].Host == host {
			p.renew(i)
		}
	}
	p.Publish(p.spec)
}

// renew makes another certificate in place of number i.
func (p *Proxy) renew(i int) {
	p.T.Helper()
	host := p.certSpecs[i].Host
	name := host
	if host == "*" {
		name = "default.test"
	}
	cert, key := p.authority.Pair(p.T, name)
	m := certs.Material{Name: host, Cert: cert, Key: key}
	p.materials[i], p.certSpecs[i].ID = m, m.ID()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// records collects the records of exchanges and lets tests wait for them.
type records struct {
	monitor
	all []engine.Record
}

func (r *records) add(one *engine.Record) {
	r.change(func() { r.all = append(r.all, *one) })
}

// logWriter sends an engine's log to the test's. A fault that the engine survived, and
// whose client saw nothing unusual, is one all the same.
type logWriter struct{ t testing.TB }

func (w logWriter) Write(b []byte) (int, error) {
	w.t.Helper()
	w.t.Logf("%s", b)
	if bytes.Contains(b, []byte("level=ERROR")) {
		w.t.Errorf("the engine logged an error: %s", b)
	}
	return len(b), nil
}
