package control_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

// All keys and certificates of these tests are made when the tests run.

// cluster is the material of a number of hosts, and a compiler for it.
type cluster struct {
	ca     *certtest.Authority
	hosts  []certs.Material // named by host
	extra  []string         // hosts with a route and no certificate
	number uint64
}

func newCluster(t testing.TB, hosts int) *cluster {
	c := &cluster{ca: certtest.NewAuthority(t), hosts: make([]certs.Material, hosts)}
	for i := range hosts {
		c.rotate(t, i)
	}
	return c
}

func hostName(i int) string { return fmt.Sprintf("h%d.test", i) }

// rotate gives a host a new certificate.
func (c *cluster) rotate(t testing.TB, i int) {
	cert, key := c.ca.Pair(t, hostName(i))
	c.hosts[i] = certs.Material{Namespace: "prod", Name: hostName(i), Cert: cert, Key: key}
}

// compile makes the next generation in the way that compilers do: what the kept ones
// hold is taken over. It also says how many certificates were parsed.
func (c *cluster) compile(t testing.TB, s *control.State) (g generation.Compiled, parsed int) {
	spec := route.Spec{Backends: []route.BackendSpec{{
		Name: "web", Endpoints: []route.EndpointSpec{{Address: "127.0.0.1:9001", Weight: 1}},
	}}}
	names := slices.Clone(c.extra)
	for _, m := range c.hosts {
		names = append(names, m.Name)
		spec.Certs = append(spec.Certs, route.CertSpec{Host: m.Name, ID: m.ID(), Owner: "prod/" + m.Name})
	}
	for _, n := range names {
		spec.Routes = append(spec.Routes, route.RouteSpec{Host: n, Path: "/", PathType: route.Prefix, Backend: "web", Owner: "prod/" + n})
	}
	set, parsed, problems := certs.Build(c.hosts, s.Sets()...)
	table, diagnostics := route.Compile(spec, s.Tables()...)
	if len(problems)+len(diagnostics) > 0 {
		t.Fatalf("compile: %v %v", problems, diagnostics)
	}
	c.number++
	return generation.Compiled{Number: c.number, Table: table, Certs: set}, parsed
}

// leaf is the certificate of a host in a generation that was just compiled.
func (c *cluster) leaf(g generation.Compiled, i int) *x509.Certificate {
	return g.Certs.Get(c.hosts[i].ID()).Leaf
}

// listen serves TLS on the loopback interface with what is live, and sends back what
// it gets, until the test ends.
func listen(t testing.TB, live *generation.Live) string {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{GetCertificate: live.Certificate})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l.Addr().String()
}

// echo sends a line over a connection and reads it back.
func echo(conn net.Conn) error {
	message := []byte("still here\n")
	if _, err := conn.Write(message); err != nil {
		return err
	}
	back := make([]byte, len(message))
	if _, err := io.ReadFull(conn, back); err != nil {
		return err
	}
	if !bytes.Equal(back, message) {
		return fmt.Errorf("got %q back", back)
	}
	return nil
}

// client makes verified handshakes, one after the other and over the hosts, until
// stop is closed, and counts them.
func client(t *testing.T, address string, config *tls.Config, hosts int, count, resumed *atomic.Int64, stop chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
		}
		config := config.Clone()
		config.ServerName = hostName(i % hosts)
		conn, err := tls.Dial("tcp", address, config)
		if err != nil {
			t.Errorf("handshake %d with %s: %v", i, config.ServerName, err)
			return
		}
		if err := echo(conn); err != nil { // also lets a ticket arrive
			t.Errorf("connection %d: %v", i, err)
		}
		if conn.ConnectionState().DidResume {
			resumed.Add(1)
		}
		count.Add(1)
		conn.Close()
	}
}

// Fifty rotations during a steady stream of handshakes, full and resumed: none fails,
// each parses one certificate, the new leaf is on the wire at once, and a connection
// from before goes on.
func TestRotationUnderLoad(t *testing.T) {
	const hosts, rotations = 5, 50
	r := start(t, 10, nil)
	c := newCluster(t, hosts)
	first, _ := c.compile(t, r.State())
	r.apply(t, first)
	address := listen(t, r.live)

	trusting := &tls.Config{RootCAs: c.ca.Pool()}
	resuming := &tls.Config{RootCAs: c.ca.Pool(), ClientSessionCache: tls.NewLRUClientSessionCache(hosts)}
	old, err := tls.Dial("tcp", address, &tls.Config{RootCAs: c.ca.Pool(), ServerName: hostName(0)})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()

	var clients sync.WaitGroup
	var full, fromTickets, none atomic.Int64
	stop := make(chan struct{})
	clients.Go(func() { client(t, address, trusting, hosts, &full, &none, stop) })
	clients.Go(func() { client(t, address, resuming, hosts, new(atomic.Int64), &fromTickets, stop) })

	for i := range rotations {
		c.rotate(t, 0)
		g, parsed := c.compile(t, r.State())
		if parsed != 1 {
			t.Errorf("rotation %d parsed %d certificates", i, parsed)
		}
		r.apply(t, g)
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: c.ca.Pool(), ServerName: hostName(0)})
		if err != nil {
			t.Fatalf("rotation %d: %v", i, err)
		}
		if got := conn.ConnectionState().PeerCertificates[0]; !got.Equal(c.leaf(g, 0)) {
			t.Errorf("rotation %d: the leaf on the wire is %v", i, got.SerialNumber)
		}
		conn.Close()
	}
	close(stop)
	clients.Wait()
	if err := echo(old); err != nil {
		t.Errorf("the connection from before the rotations: %v", err)
	}
	t.Logf("%d full handshakes, %d resumed ones", full.Load(), fromTickets.Load())
	if full.Load() < hosts || fromTickets.Load() == 0 || none.Load() != 0 {
		t.Error("too little load")
	}
}

// An edit that touches no certificate parses none, and neither does going back.
func TestEditsParseNothing(t *testing.T) {
	r := start(t, 3, nil)
	c := newCluster(t, 20)
	first, parsed := c.compile(t, r.State())
	if parsed != 20 {
		t.Errorf("the first generation parsed %d", parsed)
	}
	r.apply(t, first)
	c.extra = append(c.extra, "plain.test")
	second, parsed := c.compile(t, r.State())
	if parsed != 0 || second.Certs.Get(c.hosts[3].ID()) != first.Certs.Get(c.hosts[3].ID()) {
		t.Errorf("an edit parsed %d", parsed)
	}
	r.apply(t, second)
}

// Three generations with different certificates for a host: a pin of the first puts
// table and certificate back, on the wire too, though it left the ring meanwhile; the
// release goes to the newest.
func TestPinOnTheWire(t *testing.T) {
	r := start(t, 3, nil)
	c := newCluster(t, 1)
	address := listen(t, r.live)
	var tables []*route.Table
	var leaves []*x509.Certificate
	next := func() {
		g, _ := c.compile(t, r.State())
		tables, leaves = append(tables, g.Table), append(leaves, c.leaf(g, 0))
		r.apply(t, g)
		c.rotate(t, 0)
	}
	serves := func(want int) {
		t.Helper()
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: c.ca.Pool(), ServerName: hostName(0)})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if got := conn.ConnectionState().PeerCertificates[0]; !got.Equal(leaves[want]) || r.live.Table() != tables[want] {
			t.Errorf("generation %d is not on the wire", want+1)
		}
	}
	for range 3 {
		next()
	}
	serves(2)
	r.mustPin(t, 1)
	serves(0)
	for range 3 { // generation 1 leaves the ring
		next()
		serves(0)
	}
	r.mustRelease(t)
	serves(5)
}

// BenchmarkPublishPin is the emergency brake: a pin and its release, from the command
// to the answer, with ten generations of 10,000 routes in the ring.
func BenchmarkPublishPin(b *testing.B) {
	r := start(b, 10, nil)
	hosts := make([]string, 10_000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host-%d.test", i)
	}
	for n := uint64(1); n <= 10; n++ {
		hosts[0] = fmt.Sprintf("g%d.test", n)
		r.apply(b, generation.Compiled{Number: n, Table: tableOf(b, hosts...)})
	}
	b.ReportAllocs()
	for b.Loop() {
		r.mustPin(b, 1)
		r.mustRelease(b)
	}
}
