//go:build cluster

package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	core "k8s.io/api/core/v1"

	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/test/daemon"
)

// handshakes makes full handshakes with each name in turn, until stop, and wants
// of each leaf that right accepts it.
type handshakes struct {
	end    context.CancelFunc
	done   sync.WaitGroup
	total  atomic.Int64
	failed atomic.Int64
	first  atomic.Pointer[string]
}

func (c *controller) handshakes(workers int, right func(name string, leaf *x509.Certificate) bool, names ...string) *handshakes {
	ctx, end := context.WithCancel(context.Background())
	h := &handshakes{end: end}
	c.t.Cleanup(h.stop)
	for worker := range workers {
		h.done.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for n := worker; ; n++ {
				select {
				case <-tick.C:
				case <-ctx.Done():
					return
				}
				name := names[n%len(names)]
				leaf, err := c.leaf(name)
				if err == nil && !right(name, leaf) {
					err = fmt.Errorf("a certificate for %s, number %s", leaf.DNSNames, leaf.SerialNumber)
				}
				h.total.Add(1)
				if err != nil && h.failed.Add(1) == 1 {
					text := name + ": " + err.Error()
					h.first.Store(&text)
				}
			}
		})
	}
	return h
}

func (h *handshakes) stop() {
	h.end()
	h.done.Wait()
}

// clean ends the handshakes and fails the test when any failed.
func (h *handshakes) clean(t *testing.T, during string) {
	t.Helper()
	h.stop()
	t.Logf("%s: %d full handshakes, %d failed", during, h.total.Load(), h.failed.Load())
	if h.total.Load() == 0 {
		t.Errorf("%s: there were no handshakes", during)
	}
	if first := h.first.Load(); first != nil {
		t.Errorf("%s: %d handshakes failed, the first: %s", during, h.failed.Load(), *first)
	}
}

// TestBrokenSecretsAmongGood (T01, T06, T13): twenty hosts with good certificates are
// not touched by what is wrong with others, and each fault is a Warning that
// names Secret and reason.
func TestBrokenSecretsAmongGood(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	authority := certtest.NewAuthority(t)
	good := make(map[string]*x509.Certificate)
	var names []string
	for n := range 20 {
		host := fmt.Sprintf("good-%d.test", n)
		cert, key := authority.Pair(t, host)
		good[host] = parse(t, cert)
		names = append(names, host)
		w.put(tlsSecret(fmt.Sprint("good-", n), cert, key), withTLS(ingress(fmt.Sprint("good-", n), rule{host: host, path: "/", service: "shop"}), fmt.Sprint("good-", n), host))
	}
	c.shows("good-19.test", good["good-19.test"])
	stream := c.handshakes(2, func(name string, leaf *x509.Certificate) bool { return leaf.Equal(good[name]) }, names...)

	cert, key := authority.Pair(t, "bad.test")
	_, otherKey := authority.Pair(t, "bad.test")
	w.namespace("elsewhere")
	for _, bad := range []struct {
		name   string
		secret *core.Secret
		reason string // in the note
	}{
		{"missing", nil, "not found among Secrets of type kubernetes.io/tls in namespace default"},
		{"garbled", tlsSecret("garbled", []byte("-----BEGIN CERTIFICATE-----\ngarbage\n-----END CERTIFICATE-----\n"), key), "default/garbled"},
		{"empty", tlsSecret("empty", nil, key), "default/empty"},
		{"keyless", tlsSecret("keyless", cert, nil), "default/keyless"},
		{"swapped", tlsSecret("swapped", key, cert), "default/swapped"},
		{"foreign", tlsSecret("foreign", cert, otherKey), "default/foreign"},
		{"opaque", opaque("opaque", core.TLSCertKey, cert, core.TLSPrivateKeyKey, key), "not found among Secrets of type kubernetes.io/tls in namespace default"},
		{"elsewhere", tlsSecret("elsewhere/elsewhere", cert, key), "not found among Secrets of type kubernetes.io/tls in namespace default"},
	} {
		host := bad.name + ".bad.test"
		if bad.secret != nil {
			w.put(bad.secret)
		}
		w.put(withTLS(ingress(bad.name, rule{host: host, path: "/", service: "shop"}), bad.name, host))
		c.comes(host, "/", "shop") // plain HTTP is served all the same
		c.shows(host, nil)
		w.warned(bad.name, "SecretUnusable", bad.reason)
		w.warned(bad.name, "SecretUnusable", bad.name) // the Secret by name
	}
	stream.clean(t, "eight broken Secrets")
}

// opaque is a Secret of type Opaque; key and value in turns.
func opaque(name string, pairs ...any) *core.Secret {
	s := &core.Secret{ObjectMeta: named(name), Type: core.SecretTypeOpaque, Data: make(map[string][]byte)}
	for n := 0; n < len(pairs); n += 2 {
		s.Data[pairs[n].(string)] = pairs[n+1].([]byte)
	}
	return s
}

// TestKeyOfAnotherCertificate (T02): a pair that does not belong together is
// skipped, and served once it is corrected; ten times to and fro wedge nothing.
func TestKeyOfAnotherCertificate(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	authority := certtest.NewAuthority(t)
	cert, key := authority.Pair(t, "shop.test")
	_, other := authority.Pair(t, "shop.test")
	w.put(tlsSecret("shop-tls", cert, other), withTLS(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}), "shop-tls", "shop.test"))
	c.comes("shop.test", "/", "shop")
	c.shows("shop.test", nil)
	w.warned("shop", "SecretUnusable", "shop-tls")
	for range 10 {
		w.put(tlsSecret("shop-tls", cert, key))
		c.shows("shop.test", parse(t, cert))
		w.put(tlsSecret("shop-tls", cert, other))
		c.shows("shop.test", nil)
	}
	c.is("shop.test", "/", "shop")
}

// TestSecretAfterIngress (T03): either order converges by itself, and so does
// each later change.
func TestSecretAfterIngress(t *testing.T) {
	w := shared(t)
	c := w.controller()
	w.simple("shop")
	authority := certtest.NewAuthority(t)
	w.put(withTLS(ingress("shop", rule{host: "shop.test", path: "/", service: "shop"}), "later", "shop.test"))
	c.comes("shop.test", "/", "shop")
	c.shows("shop.test", nil)

	cert, key := authority.Pair(t, "shop.test")
	secret := tlsSecret("later", cert, key)
	w.put(secret)
	c.shows("shop.test", parse(t, cert))

	w.remove(secret)
	c.shows("shop.test", nil)
	w.warned("shop", "SecretUnusable", "default/later")

	cert, key = authority.Pair(t, "shop.test")
	w.put(tlsSecret("later", cert, key))
	c.shows("shop.test", parse(t, cert))
}

// TestRotation (T05): 50 rotations of one Secret during full handshakes to ten
// hosts. None fails, each new leaf is on the wire within the second, and a
// connection of before goes on.
func TestRotation(t *testing.T) {
	w := shared(t)
	c := w.controller("--client-idle-timeout", "1h")
	w.simple("shop")
	authority := certtest.NewAuthority(t)
	var names []string
	for n := range 10 {
		names = append(names, fmt.Sprintf("host-%d.test", n))
	}
	cert, key := authority.Pair(t, names...)
	w.put(tlsSecret("shop-tls", cert, key))
	for n, host := range names {
		w.put(withTLS(ingress(fmt.Sprint("host-", n), rule{host: host, path: "/", service: "shop"}), "shop-tls", host))
	}
	for _, host := range names {
		c.shows(host, parse(t, cert))
	}
	old := c.tunnel(t, names[0])
	stream := c.handshakes(4, func(name string, leaf *x509.Certificate) bool { return leaf.VerifyHostname(name) == nil }, names...)
	var worst time.Duration
	for range 50 {
		cert, key := authority.Pair(t, names...)
		w.put(tlsSecret("shop-tls", cert, key))
		acknowledged := time.Now()
		c.shows(names[3], parse(t, cert))
		worst = max(worst, time.Since(acknowledged))
	}
	stream.clean(t, "50 rotations")
	t.Logf("the new certificate was shown after %s at the latest", ms(worst))
	if worst > 5*time.Second {
		t.Errorf("a new certificate was shown after %s", worst)
	}
	if err := old.ask(names[0]); err != nil {
		t.Errorf("a connection that was open before: %v", err)
	}
}

// tunnel is a TLS connection that was used once and is kept.
func (c *controller) tunnel(t *testing.T, host string) *idle {
	t.Helper()
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: daemon.Patience}, "tcp", c.HTTPS,
		&tls.Config{ServerName: host, InsecureSkipVerify: true}) //nolint:gosec // what it shows is of no matter here
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	i := newIdle(conn)
	if err := i.ask(host); err != nil {
		t.Fatal(err)
	}
	return i
}

// TestDefaultCertificate: --default-tls-secret is shown where no Ingress has one, and
// changes with its Secret.
func TestDefaultCertificate(t *testing.T) {
	w := shared(t)
	authority := certtest.NewAuthority(t)
	cert, key := authority.Pair(t, "any.test")
	w.put(tlsSecret("any", cert, key))
	c := w.controller("--default-tls-secret", "default/any")
	c.shows("unknown.test", parse(t, cert))
	cert, key = authority.Pair(t, "any.test")
	w.put(tlsSecret("any", cert, key))
	c.shows("unknown.test", parse(t, cert))
}
