package certs_test

import (
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"ramjet.dev/ingress/internal/certs/certtest"
)

// TestParsingCosts: to parse a pair as anybody might send it costs little more than the
// parsers of the standard library do that fit it. A start with 500 certificates waits for it.
func TestParsingCosts(t *testing.T) {
	const most = 30 // allocations, for the line ends, the set and its entry
	ec, rsa := ecKey(t, elliptic.P256()), rsaKey(t)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		key   []byte
		chain *x509.Certificate
		parse func(der []byte) (any, error)
	}{
		{"PKCS#8", certtest.Block("PRIVATE KEY", pkcs8), certtest.NewAuthority(t).Leaf(t, ec.Public(), tomorrow, host), x509.ParsePKCS8PrivateKey},
		{"SEC 1", sec1(t, ec), certtest.NewAuthority(t).Leaf(t, ec.Public(), tomorrow, host), func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) }},
		{"PKCS#1", pkcs1(rsa), certtest.NewAuthority(t).Leaf(t, rsa.Public(), tomorrow, host), func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) }},
	} {
		cert := certtest.Block("CERTIFICATE", c.chain.Raw)
		alone := testing.AllocsPerRun(20, func() {
			chain, _ := pem.Decode(cert)
			key, _ := pem.Decode(c.key)
			_, certErr := x509.ParseCertificate(chain.Bytes)
			_, keyErr := c.parse(key.Bytes)
			if certErr != nil || keyErr != nil {
				t.Fatal(certErr, keyErr)
			}
		})
		ours := testing.AllocsPerRun(20, func() {
			if _, problems := buildOne(cert, c.key); len(problems) > 0 {
				t.Fatal(problems)
			}
		})
		t.Logf("%s: %v allocations, %v of them the parsers'", c.name, ours, alone)
		if ours > alone+most {
			t.Errorf("%s: %v allocations beside the %v of the parsers, want at most %d", c.name, ours-alone, alone, most)
		}
	}
}
