package certs_test

import (
	"bytes"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
)

// A chain in which something is no certificate is not served: clients give up at it. Its
// neighbours are, those with the same leaf and the same links too.
func TestGarbledLink(t *testing.T) {
	ca := certtest.NewAuthority(t)
	sub := ca.Intermediate(t)
	key := certtest.Key(t)
	leaf := certtest.Chain(sub.Leaf(t, key.Public(), tomorrow, host))
	link, keyPEM := certtest.Chain(sub.Cert), sec1(t, key)
	text := certtest.Block("CERTIFICATE", []byte("this is no certificate"))
	cut := certtest.Block("CERTIFICATE", sub.Cert.Raw[:200])
	more := certtest.Block("CERTIFICATE", append(bytes.Clone(sub.Cert.Raw), 0))
	for name, c := range map[string]struct {
		chain []byte
		block int // the first that is none; 0 = all are
	}{
		"sound":                    {join(leaf, link), 0},
		"text":                     {join(leaf, text), 2},
		"text after a link":        {join(leaf, link, text), 3},
		"text before a link":       {join(leaf, text, link), 2},
		"cut":                      {join(leaf, cut), 2},
		"something after its end":  {join(leaf, more), 2},
		"the key among the blocks": {join(leaf, link, keyPEM), 0},
	} {
		t.Run(name, func(t *testing.T) {
			pairs := []certs.Material{
				{Namespace: "prod", Name: "a", Cert: join(leaf, link), Key: keyPEM},
				{Namespace: "prod", Name: "shop-tls", Cert: c.chain, Key: keyPEM},
				{Namespace: "prod", Name: "z", Cert: join(leaf, link), Key: keyPEM},
			}
			set, parsed, problems := certs.Build(pairs)
			if parsed != 3 || set.Get(pairs[0].ID()) == nil || set.Get(pairs[2].ID()) == nil {
				t.Errorf("parsed %d; the neighbours are concerned: %v", parsed, problems)
			}
			served := set.Get(pairs[1].ID()) != nil
			if c.block == 0 {
				if !served || len(problems) > 0 {
					t.Errorf("not served: %v", problems)
				}
				return
			}
			if served || len(problems) != 1 {
				t.Fatalf("served: %v, problems %v", served, problems)
			}
			p := problems[0]
			if want := fmt.Sprintf("prod/shop-tls: certificate block %d does not parse", c.block); p.Reason != certs.ReasonGarbledCertificate || !strings.HasPrefix(p.String(), want) {
				t.Errorf("%s: %s\nwant %s", p.Reason, p, want)
			}
			if _, parsed, again := certs.Build(pairs, set); parsed != 0 || len(again) != 1 || again[0] != p {
				t.Errorf("the next build parsed %d, problems %v", parsed, again)
			}
		})
	}
}

// A link that only our parser refuses is sent all the same: it is the client that has to
// know it, and until then nobody here uses it.
func TestForeignLink(t *testing.T) {
	ca := certtest.NewAuthority(t)
	key := certtest.Key(t)
	leaf := ca.Leaf(t, key.Public(), tomorrow, host)
	secp256k1 := marshal(t, asn1.ObjectIdentifier{1, 3, 132, 0, 10})
	commonName := []byte(ca.Cert.Subject.CommonName)
	for name, link := range map[string][]byte{
		"of another curve":       withCurve(t, ca.Cert.Raw, secp256k1),
		"with a negative number": withSerial(t, ca.Cert.Raw, -7),
		// PrintableString has no underscore, and old authorities' names do.
		"with a name that its type has no letters for": bytes.ReplaceAll(ca.Cert.Raw, commonName, bytes.Replace(commonName, commonName[:1], []byte("_"), 1)),
	} {
		if _, err := x509.ParseCertificate(link); err == nil {
			t.Errorf("%s: our parser takes it", name)
		}
		set, problems := buildOne(join(certtest.Chain(leaf), certtest.Block("CERTIFICATE", link)), sec1(t, key))
		if len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if cert := set.Get(set.IDs()[0]); len(cert.Certificate) != 2 || !bytes.Equal(cert.Certificate[1], link) {
			t.Errorf("%s: it is not sent", name)
		}
	}
}

// TestLinkCosts: a link that stands in many chains is parsed once. A start with 500
// certificates of one authority waits for it.
func TestLinkCosts(t *testing.T) {
	const (
		pairs = 20
		most  = 15 // allocations for each chain more than without a link, for its PEM
	)
	ca := certtest.NewAuthority(t)
	sub := ca.Intermediate(t)
	var with, without []certs.Material
	for i := range pairs {
		key := certtest.Key(t)
		m := certs.Material{Namespace: "prod", Name: fmt.Sprint(i), Key: certtest.PKCS8(t, key)}
		leaf := sub.Leaf(t, key.Public(), tomorrow, host)
		m.Cert = certtest.Chain(leaf)
		without = append(without, m)
		m.Cert = certtest.Chain(leaf, sub.Cert)
		with = append(with, m)
	}
	cost := func(want []certs.Material) float64 {
		return testing.AllocsPerRun(10, func() {
			if set, _, problems := certs.Build(want); set.Len() != pairs {
				t.Fatal(problems)
			}
		})
	}
	parsing := testing.AllocsPerRun(10, func() { _, _ = x509.ParseCertificate(sub.Cert.Raw) })
	more := cost(with) - cost(without)
	t.Logf("%d links: %v allocations, %v of them to parse it once", pairs, more, parsing)
	if more > parsing+pairs*most {
		t.Errorf("%v allocations for %d times the same link, want at most %v", more, pairs, parsing+pairs*most)
	}
}

// BenchmarkBuild is what a start waits for: 500 pairs of P-256, each with the same link.
func BenchmarkBuild(b *testing.B) {
	ca := certtest.NewAuthority(b)
	sub := ca.Intermediate(b)
	for _, links := range []int{0, 1} {
		var pairs []certs.Material
		for i := range 500 {
			key := certtest.Key(b)
			chain := []*x509.Certificate{sub.Leaf(b, key.Public(), tomorrow, host), sub.Cert}
			pairs = append(pairs, certs.Material{Name: fmt.Sprint(i), Cert: certtest.Chain(chain[:1+links]...), Key: certtest.PKCS8(b, key)})
		}
		b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
			for b.Loop() {
				certs.Build(pairs)
			}
		})
	}
}

// withSerial is a certificate with another serial number.
func withSerial(t *testing.T, der []byte, serial int64) []byte {
	t.Helper()
	var cert struct {
		TBS struct {
			Version                                   int `asn1:"explicit,tag:0"`
			Serial                                    int64
			Signature, Issuer, Validity, Subject, Key asn1.RawValue
			Extensions                                asn1.RawValue
		}
		Signature asn1.RawValue
		Value     asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &cert); err != nil {
		t.Fatal(err)
	}
	cert.TBS.Serial = serial
	return marshal(t, cert)
}
