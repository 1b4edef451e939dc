// Package certtest issues throwaway certificates for tests. Everything is made at
// run time, so that no key lies in the tree and nothing in a test expires.
//
// It is for tests only, knows nothing of the rest of the project, and its
// certificates are worth nothing.
package certtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"sync/atomic"
	"testing"
	"time"
)

// serial numbers the certificates of the process: equal names still give different
// certificates, which a test can tell apart.
var serial atomic.Int64

// Authority is a certificate authority.
type Authority struct {
	// Cert is its own certificate.
	Cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority makes a self-signed authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	return newAuthority(t, "root", nil)
}

// Intermediate makes an authority below a.
func (a *Authority) Intermediate(t testing.TB) *Authority {
	t.Helper()
	return newAuthority(t, "intermediate", a)
}

func newAuthority(t testing.TB, name string, above *Authority) *Authority {
	t.Helper()
	template := newTemplate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	a := &Authority{Cert: template, key: Key(t)}
	if above == nil {
		above = a
	}
	a.Cert = above.sign(t, template, a.key.Public())
	return a
}

// Pool holds the authority's certificate, for clients.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.Cert)
	return pool
}

// Leaf issues a certificate for a key, valid until notAfter, for DNS names.
func (a *Authority) Leaf(t testing.TB, public crypto.PublicKey, notAfter time.Time, names ...string) *x509.Certificate {
	t.Helper()
	template := newTemplate(names[0])
	template.DNSNames = names
	template.NotAfter = notAfter
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	return a.sign(t, template, public)
}

// Pair issues a certificate with a new P-256 key for DNS names, valid for a day,
// both as PEM.
func (a *Authority) Pair(t testing.TB, names ...string) (cert, key []byte) {
	t.Helper()
	k := Key(t)
	leaf := a.Leaf(t, k.Public(), time.Now().Add(24*time.Hour), names...)
	return Chain(leaf), PKCS8(t, k)
}

func newTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial.Add(1)),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-365 * 24 * time.Hour),
		NotAfter:     time.Now().Add(365 * 24 * time.Hour),
	}
}

func (a *Authority) sign(t testing.TB, template *x509.Certificate, public crypto.PublicKey) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.Cert, public, a.key)
	if err != nil {
		t.Fatalf("sign %s: %v", template.Subject, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatalf("parse %s: %v", template.Subject, err)
	}
	return cert
}

// Key makes a P-256 key.
func Key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatalf("generate key: %v", err)
	}
	return key
}

// Chain encodes certificates in the order given.
func Chain(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, Block("CERTIFICATE", c.Raw)...)
	}
	return out
}

// PKCS8 encodes a private key.
func PKCS8(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatalf("encode key: %v", err)
	}
	return Block("PRIVATE KEY", der)
}

// Block is one PEM block.
func Block(label string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: label, Bytes: der})
}
