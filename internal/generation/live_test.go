package generation_test

import (
	"bytes"
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/route"
)

// All keys and certificates of these tests are made when the tests run.

// secured compiles a generation in which each host has a certificate of its own;
// "*" is the default one.
func secured(t testing.TB, ca *certtest.Authority, number uint64, hosts ...string) generation.Compiled {
	t.Helper()
	spec := route.Spec{}
	var want []certs.Material
	for _, h := range hosts {
		name := strings.Replace(h, "*", "any", 1)
		cert, key := ca.Pair(t, name)
		m := certs.Material{Namespace: "prod", Name: name, Cert: cert, Key: key}
		want = append(want, m)
		spec.Certs = append(spec.Certs, route.CertSpec{Host: h, ID: m.ID(), Owner: "prod/" + h})
	}
	set, _, problems := certs.Build(want)
	table, diagnostics := route.Compile(spec)
	if len(problems) > 0 || len(diagnostics) > 0 {
		t.Fatalf("compile: %v %v", problems, diagnostics)
	}
	return generation.Compiled{Number: number, Table: table, Certs: set}
}

// dial makes a handshake with a listener's configuration over a pipe and returns
// the name in the certificate that came.
func dial(t *testing.T, live *generation.Live, serverName string, version uint16) (string, error) {
	t.Helper()
	left, right := net.Pipe()
	defer right.Close()
	served := make(chan struct{})
	go func() {
		defer close(served)
		defer left.Close()
		server := tls.Server(left, &tls.Config{GetCertificate: live.Certificate, SessionTicketsDisabled: true})
		_ = server.Handshake() // the client tells the test how it went
	}()
	client := tls.Client(right, &tls.Config{
		ServerName: serverName, InsecureSkipVerify: true, MinVersion: version, MaxVersion: version,
	})
	err := client.Handshake()
	right.Close()
	<-served
	if err != nil {
		return "", err
	}
	return client.ConnectionState().PeerCertificates[0].Subject.CommonName, nil
}

// Names resolve as requests are routed, and a name that nothing answers to gets the
// alert that says so, with both versions of TLS (RFC 6066, section 3).
func TestCertificateByName(t *testing.T) {
	ca := certtest.NewAuthority(t)
	var nothing, strict, lenient generation.Live
	strict.Publish(secured(t, ca, 1, "shop.test", "*.w.test", "a.w.test"))
	lenient.Publish(secured(t, ca, 1, "shop.test", "*"))
	const unrecognized = "remote error: tls: unrecognized name"
	for _, c := range []struct {
		live       *generation.Live
		name, want string
	}{
		{&strict, "shop.test", "shop.test"},
		{&strict, "SHOP.Test", "shop.test"},
		{&strict, "a.w.test", "a.w.test"},
		{&strict, "b.w.test", "any.w.test"},
		{&strict, "b.a.w.test", unrecognized},
		{&strict, "w.test", unrecognized},
		{&strict, "other.test", unrecognized},
		{&strict, "", unrecognized},
		{&lenient, "shop.test", "shop.test"},
		{&lenient, "other.test", "any"},
		{&lenient, "", "any"},
		{&nothing, "shop.test", unrecognized},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			got, err := dial(t, c.live, c.name, version)
			if err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("TLS %x %q: %s, want %s", version, c.name, got, c.want)
			}
		}
	}
}

// A name whose certificate is unusable fails alone, and is not covered up by the
// default certificate.
func TestUnusableCertificateFailsAlone(t *testing.T) {
	ca := certtest.NewAuthority(t)
	c := secured(t, ca, 1, "shop.test", "*")
	broken := certs.Material{Namespace: "prod", Name: "broken"}
	spec := route.Spec{Certs: append(c.Table.Certs(), route.CertSpec{Host: "broken.test", ID: broken.ID()})}
	set, parsed, problems := certs.Build([]certs.Material{broken})
	if parsed != 1 || len(problems) != 1 || set.Len() != 0 {
		t.Fatalf("parsed %d, %v", parsed, problems)
	}
	c.Table, _ = route.Compile(spec)
	var live generation.Live
	live.Publish(c)
	if got, err := dial(t, &live, "broken.test", tls.VersionTLS13); err == nil {
		t.Errorf("broken.test got the certificate of %s", got)
	}
	if got, err := dial(t, &live, "shop.test", tls.VersionTLS13); err != nil || got != "shop.test" {
		t.Errorf("shop.test: %s %v", got, err)
	}
}

const publishes = 200_000

// race publishes so many times, next(i) being the i-th, while two readers run read
// over and over. It returns once the readers have ended.
func race(live *generation.Live, next func(i int) generation.Compiled, read func() bool) {
	var readers, started sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		started.Add(1)
		readers.Go(func() {
			started.Done()
			for read() {
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	started.Wait()
	for i := range publishes {
		live.Publish(next(i))
	}
	close(stop)
	readers.Wait()
}

// Invariant 3, seen from outside: whoever has loaded a table finds the certificates
// of that publish, or of a later one, in place.
func TestCertificatesBeforeTable(t *testing.T) {
	// Only the pointers matter here, so the values behind them are empty.
	tables, sets := make([]route.Table, publishes), make([]certs.Set, publishes)
	tableAt, setAt := map[*route.Table]int{}, map[*certs.Set]int{}
	for i := range publishes {
		tableAt[&tables[i]], setAt[&sets[i]] = i, i
	}
	next := func(i int) generation.Compiled {
		return generation.Compiled{Table: &tables[i], Certs: &sets[i]}
	}
	var live generation.Live
	live.Publish(next(0))
	race(&live, next, func() bool {
		table := live.Table()
		set := live.Certs()
		if setAt[set] < tableAt[table] {
			t.Errorf("the table of publish %d with the certificates of %d", tableAt[table], setAt[set])
			return false
		}
		return true
	})
}

// A handshake that is under way while certificates rotate always finds one: the name
// map and the keys that it looks into belong together. With two independent loads
// this fails in either order.
func TestHandshakeNeverFallsBetween(t *testing.T) {
	ca := certtest.NewAuthority(t)
	rotations := []generation.Compiled{secured(t, ca, 0, "shop.test"), secured(t, ca, 1, "shop.test")}
	var live generation.Live
	live.Publish(rotations[0])
	hello := &tls.ClientHelloInfo{ServerName: "shop.test"}
	race(&live, func(i int) generation.Compiled { return rotations[i%2] }, func() bool {
		cert, err := live.Certificate(hello)
		if cert == nil || err != nil {
			t.Errorf("no certificate: %v", err)
		}
		return cert != nil
	})
}

// Pinning the first of three generations puts back its table and its certificate,
// without parsing anything.
func TestPinRestoresCertificates(t *testing.T) {
	ca := certtest.NewAuthority(t)
	h := generation.NewHistory(3)
	var live generation.Live
	apply := func(actions []generation.Action) {
		for _, a := range actions {
			if p, ok := a.(generation.Publish); ok {
				live.Publish(p.Compiled)
			}
		}
	}
	var all []generation.Compiled
	for i := range 3 {
		c := secured(t, ca, uint64(i+1), "shop.test")
		all = append(all, c)
		apply(h.Record(c, time.Time{}))
	}
	serves := func(want generation.Compiled) {
		t.Helper()
		cert, err := live.Certificate(&tls.ClientHelloInfo{ServerName: "shop.test"})
		if err != nil || cert == nil || live.Table() != want.Table || live.Certs() != want.Certs {
			t.Fatalf("generation %d is not on the wire: %v", want.Number, err)
		}
		if id, _ := want.Table.Certificate("shop.test"); !bytes.Equal(cert.Certificate[0], want.Certs.Get(id).Certificate[0]) {
			t.Errorf("generation %d with another certificate", want.Number)
		}
	}
	serves(all[2])
	actions, err := h.Pin(1, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	apply(actions)
	serves(all[0])
	apply(h.Release())
	serves(all[2])
}

// The request path does not allocate.
func TestReadingDoesNotAllocate(t *testing.T) {
	var live generation.Live
	live.Publish(secured(t, certtest.NewAuthority(t), 1, "shop.test", "*.w.test", "*"))
	for _, name := range []string{"shop.test", "SHOP.TEST", "b.w.test", "other.test", ""} {
		hello := &tls.ClientHelloInfo{ServerName: name}
		if n := testing.AllocsPerRun(100, func() {
			if cert, err := live.Certificate(hello); cert == nil || err != nil || live.Table() == nil {
				t.Fatal(name, err)
			}
		}); n != 0 {
			t.Errorf("%q: %v allocations", name, n)
		}
	}
}
