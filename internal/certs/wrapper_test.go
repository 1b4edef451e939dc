package certs_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"net"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
)

// All keys and certificates of these tests are made when the tests run.

const host = "shop.test"

var tomorrow = time.Now().Add(24 * time.Hour)

// ecParameters is the block that "openssl ecparam -genkey" writes before a SEC 1
// key: the object identifier of P-256.
var ecParameters = certtest.Block("EC PARAMETERS", []byte{6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7})

func ecKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func rsaKey(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024) // small: quick to make, and enough to sign
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func edKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sec1(t testing.TB, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return certtest.Block("EC PRIVATE KEY", der)
}

func pkcs1(key *rsa.PrivateKey) []byte {
	return certtest.Block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key))
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// buildOne builds a set of one pair.
func buildOne(cert, key []byte) (*certs.Set, []certs.Problem) {
	m := certs.Material{Namespace: "prod", Name: "shop-tls", Cert: cert, Key: key}
	set, _, problems := certs.Build([]certs.Material{m})
	return set, problems
}

// Every wrapper that keys come in, and everything that may stand around a block,
// ends in a handshake, with both versions of TLS.
func TestEveryWrapperServes(t *testing.T) {
	ca := certtest.NewAuthority(t)
	p256, p384, p521, small, ed := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P384()),
		ecKey(t, elliptic.P521()), rsaKey(t), edKey(t)
	leaf := func(key crypto.Signer) []byte {
		return certtest.Chain(ca.Leaf(t, key.Public(), tomorrow, host))
	}
	cert := leaf(p256)
	crlf := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }
	bom := []byte("\xef\xbb\xbf")
	text := []byte("Bag Attributes\n    friendlyName: shop\nsubject=CN = shop.test\n")
	for name, pair := range map[string][2][]byte{
		"P-256 SEC 1 after EC PARAMETERS": {cert, join(ecParameters, sec1(t, p256))},
		"P-256 SEC 1":                     {cert, sec1(t, p256)},
		"P-256 PKCS#8":                    {cert, certtest.PKCS8(t, p256)},
		"P-384 SEC 1":                     {leaf(p384), sec1(t, p384)},
		"P-384 PKCS#8":                    {leaf(p384), certtest.PKCS8(t, p384)},
		"P-521 PKCS#8":                    {leaf(p521), certtest.PKCS8(t, p521)},
		"Ed25519 PKCS#8":                  {leaf(ed), certtest.PKCS8(t, ed)},
		"RSA PKCS#1":                      {leaf(small), pkcs1(small)},
		"RSA PKCS#8":                      {leaf(small), certtest.PKCS8(t, small)},
		"mislabelled":                     {leaf(small), bytes.ReplaceAll(pkcs1(small), []byte("RSA PRIVATE"), []byte("PRIVATE"))},
		"text around":                     {join(text, cert, text), join(text, sec1(t, p256), text)},
		"CRLF":                            {crlf(join(text, cert)), crlf(join(ecParameters, sec1(t, p256)))},
		"CR alone":                        {bytes.ReplaceAll(cert, []byte("\n"), []byte("\r")), sec1(t, p256)},
		"BOM at the start":                {join(bom, cert), join(bom, sec1(t, p256))},
		"BOM in the middle":               {join(bom, cert, bom, certtest.Chain(ca.Cert)), sec1(t, p256)},
		"indented":                        {bytes.ReplaceAll(cert, []byte("\n"), []byte("\n    ")), sec1(t, p256)},
		"no line end between blocks":      {join(bytes.TrimSpace(cert), certtest.Chain(ca.Cert)), bytes.TrimSpace(sec1(t, p256))},
		"all in one, twice":               {join(sec1(t, p256), cert), join(sec1(t, p256), cert)},
	} {
		t.Run(name, func(t *testing.T) {
			set, problems := buildOne(pair[0], pair[1])
			if len(problems) > 0 {
				t.Fatalf("refused: %s: %s", problems[0].Reason, problems[0].Message)
			}
			got := set.Get(set.IDs()[0])
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				state := handshake(t, got, ca, version)
				if !bytes.Equal(state.PeerCertificates[0].Raw, got.Leaf.Raw) {
					t.Errorf("TLS %x: another certificate was presented", version)
				}
			}
		})
	}
}

// handshake serves a certificate to a client that trusts the authority.
func handshake(t *testing.T, cert *tls.Certificate, ca *certtest.Authority, version uint16) tls.ConnectionState {
	t.Helper()
	left, right := net.Pipe()
	defer left.Close()
	defer right.Close()
	server := tls.Server(left, &tls.Config{Certificates: []tls.Certificate{*cert}, SessionTicketsDisabled: true})
	served := make(chan error, 1)
	go func() { served <- server.Handshake() }()
	client := tls.Client(right, &tls.Config{RootCAs: ca.Pool(), ServerName: host, MinVersion: version, MaxVersion: version})
	if err := client.Handshake(); err != nil {
		t.Fatalf("TLS %x: client: %v", version, err)
	}
	if err := <-served; err != nil {
		t.Fatalf("TLS %x: server: %v", version, err)
	}
	return client.ConnectionState()
}

// A key or certificate whose curve is spelled out, as old versions of other tools
// write it, in each place where a curve stands.
func TestExplicitCurveIsNamed(t *testing.T) {
	ca := certtest.NewAuthority(t)
	key := ecKey(t, elliptic.P256())
	leaf := ca.Leaf(t, key.Public(), tomorrow, host)
	cert := certtest.Chain(leaf)
	explicit := explicitP256(t)
	bare := marshal(t, struct {
		Version int
		Key     []byte
		Curve   asn1.RawValue
	}{1, key.D.FillBytes(make([]byte, 32)), asn1.RawValue{Class: asn1.ClassContextSpecific, IsCompound: true, Bytes: explicit}})
	wrapped := marshal(t, struct {
		Version   int
		Algorithm explicitAlgorithm
		Key       []byte
	}{0, explicitAlgorithm{oidECPublicKey, asn1.RawValue{FullBytes: explicit}}, bare})
	for name, pair := range map[string][2][]byte{
		"SEC 1":       {cert, join(certtest.Block("EC PARAMETERS", explicit), certtest.Block("EC PRIVATE KEY", bare))},
		"PKCS#8":      {cert, certtest.Block("PRIVATE KEY", wrapped)},
		"certificate": {certtest.Block("CERTIFICATE", withCurve(t, leaf.Raw, explicit)), sec1(t, key)},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := buildOne(pair[0], pair[1])
			if len(problems) != 1 || problems[0].Reason != certs.ReasonExplicitCurve {
				t.Errorf("problems %v", problems)
			}
		})
	}
	// The same parameters in a block of their own do no harm before a named key.
	if _, problems := buildOne(cert, join(certtest.Block("EC PARAMETERS", explicit), sec1(t, key))); len(problems) > 0 {
		t.Errorf("explicit EC PARAMETERS before a named key: %v", problems)
	}
}

var oidECPublicKey = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}

type explicitAlgorithm struct {
	ID         asn1.ObjectIdentifier
	Parameters asn1.RawValue
}

// explicitP256 is ECParameters of P-256 (SEC 1, appendix C.2).
func explicitP256(t *testing.T) []byte {
	p := elliptic.P256().Params()
	type fieldID struct {
		Type  asn1.ObjectIdentifier
		Prime any
	}
	type curve struct{ A, B []byte }
	a := p.P.Bytes()
	a[31] -= 3
	base := append(append([]byte{4}, p.Gx.FillBytes(make([]byte, 32))...), p.Gy.FillBytes(make([]byte, 32))...)
	return marshal(t, struct {
		Version  int
		Field    fieldID
		Curve    curve
		Base     []byte
		Order    any
		Cofactor int
	}{1, fieldID{asn1.ObjectIdentifier{1, 2, 840, 10045, 1, 1}, p.P}, curve{a, p.B.FillBytes(make([]byte, 32))}, base, p.N, 1})
}

// withCurve puts another curve into a certificate. Its signature is then wrong,
// which nobody gets to see.
func withCurve(t *testing.T, der, curve []byte) []byte {
	t.Helper()
	type tbs struct {
		Version                                      int `asn1:"explicit,tag:0"`
		Serial, Signature, Issuer, Validity, Subject asn1.RawValue
		Key                                          struct {
			Algorithm explicitAlgorithm
			Key       asn1.BitString
		}
		Extensions asn1.RawValue
	}
	var cert struct {
		TBS       tbs
		Signature asn1.RawValue
		Value     asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &cert); err != nil {
		t.Fatal(err)
	}
	cert.TBS.Key.Algorithm.Parameters = asn1.RawValue{FullBytes: curve}
	return marshal(t, cert)
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	der, err := asn1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return der
}
