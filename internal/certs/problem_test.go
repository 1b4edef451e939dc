package certs_test

import (
	"bytes"
	"crypto/ecdh"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
)

// Each way to get a pair wrong has its own word and says what to do about it.
func TestReasons(t *testing.T) {
	ca := certtest.NewAuthority(t)
	sub := ca.Intermediate(t)
	key, other := certtest.Key(t), certtest.Key(t)
	leaf := sub.Leaf(t, key.Public(), tomorrow, host)
	cert, keyPEM := certtest.Chain(leaf), sec1(t, key)
	garbled := bytes.Replace(cert, []byte("\nMII"), []byte("\nM*I"), 1)
	legacy, err := x509.EncryptPEMBlock(rand.Reader, "EC PRIVATE KEY", []byte("0123456789"), []byte("pw"), x509.PEMCipherAES128) //nolint:staticcheck // that is the case
	if err != nil {
		t.Fatal(err)
	}
	x25519, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	x25519DER, err := x509.MarshalPKCS8PrivateKey(x25519)
	if err != nil {
		t.Fatal(err)
	}
	ed448 := marshal(t, struct {
		Version   int
		Algorithm struct{ ID asn1.ObjectIdentifier }
		Key       []byte
	}{0, struct{ ID asn1.ObjectIdentifier }{asn1.ObjectIdentifier{1, 3, 101, 113}}, []byte{4, 1, 0}})
	secp256k1 := marshal(t, asn1.ObjectIdentifier{1, 3, 132, 0, 10})
	onSecp256k1 := marshal(t, struct {
		Version int
		Key     []byte
		Curve   asn1.ObjectIdentifier `asn1:"explicit,tag:0"`
	}{1, make([]byte, 32), asn1.ObjectIdentifier{1, 3, 132, 0, 10}})
	p224, rsa1024 := ecKey(t, elliptic.P224()), rsaKey(t)
	for name, c := range map[string]struct {
		cert, key []byte
		reason    string
		words     string
	}{
		"nothing at all":           {nil, nil, certs.ReasonEmptyChain, "empty"},
		"empty chain":              {nil, keyPEM, certs.ReasonEmptyChain, "empty"},
		"text for a chain":         {[]byte("see the wiki\n"), keyPEM, certs.ReasonEmptyChain, "no PEM block"},
		"request for a chain":      {certtest.Block("CERTIFICATE REQUEST", []byte{1}), keyPEM, certs.ReasonEmptyChain, "only: CERTIFICATE REQUEST"},
		"key for a chain":          {keyPEM, keyPEM, certs.ReasonEmptyChain, "private key where the certificate"},
		"no key":                   {cert, nil, certs.ReasonNoKey, "no PEM private key"},
		"certificate for a key":    {cert, cert, certs.ReasonNoKey, "certificate where the private key"},
		"parameters for a key":     {cert, ecParameters, certs.ReasonNoKey, "no PEM private key"},
		"swapped":                  {keyPEM, cert, certs.ReasonSwapped, "swapped"},
		"garbled leaf":             {garbled, keyPEM, certs.ReasonGarbledCertificate, "block 1"},
		"garbled link":             {join(cert, bytes.Replace(certtest.Chain(sub.Cert), []byte("\nMII"), []byte("\nM*I"), 1)), keyPEM, certs.ReasonGarbledCertificate, "block"},
		"cut in the last block":    {join(cert, certtest.Chain(sub.Cert)[:200]), keyPEM, certs.ReasonGarbledCertificate, "block 2"},
		"not X.509":                {certtest.Block("CERTIFICATE", []byte("hello")), keyPEM, certs.ReasonGarbledCertificate, "does not parse"},
		"UTF-16 chain":             {utf16LE(cert), keyPEM, certs.ReasonGarbledCertificate, "UTF-16"},
		"UTF-16 key":               {cert, utf16LE(keyPEM), certs.ReasonGarbledKey, "UTF-16"},
		"garbled key":              {cert, bytes.Replace(keyPEM, []byte("\nM"), []byte("\n*"), 1), certs.ReasonGarbledKey, "not valid PEM"},
		"cut key":                  {cert, keyPEM[:80], certs.ReasonGarbledKey, "not valid PEM"},
		"key without contents":     {cert, certtest.Block("PRIVATE KEY", []byte("hello")), certs.ReasonGarbledKey, "does not hold a private key"},
		"encrypted PKCS#8":         {cert, certtest.Block("ENCRYPTED PRIVATE KEY", []byte{1}), certs.ReasonEncryptedKey, "passphrase"},
		"encrypted the old way":    {cert, pem.EncodeToMemory(legacy), certs.ReasonEncryptedKey, "passphrase"},
		"key of another pair":      {cert, sec1(t, other), certs.ReasonKeyMismatch, "both are ECDSA P-256"},
		"key of another algorithm": {cert, pkcs1(rsa1024), certs.ReasonKeyMismatch, "the key is RSA, the certificate is for ECDSA P-256"},
		"key of another curve":     {cert, sec1(t, ecKey(t, elliptic.P384())), certs.ReasonKeyMismatch, "ECDSA P-384"},
		"RSA with RSA":             {certtest.Chain(ca.Leaf(t, rsaKey(t).Public(), tomorrow, host)), pkcs1(rsa1024), certs.ReasonKeyMismatch, "both are RSA"},
		"intermediate first":       {certtest.Chain(sub.Cert, leaf), keyPEM, certs.ReasonLeafNotFirst, "put the leaf first"},
		"root first":               {certtest.Chain(ca.Cert, sub.Cert, leaf), keyPEM, certs.ReasonLeafNotFirst, "first certificate is not the one that this key signs for: put the leaf first"},
		"X25519":                   {cert, certtest.Block("PRIVATE KEY", x25519DER), certs.ReasonUnsupportedKey, "cannot sign"},
		"P-224":                    {certtest.Chain(ca.Leaf(t, p224.Public(), tomorrow, host)), sec1(t, p224), certs.ReasonUnsupportedKey, "P-224"},
		"DSA":                      {cert, certtest.Block("DSA PRIVATE KEY", []byte("any")), certs.ReasonUnsupportedKey, "not supported"},
		"PKCS#8 of Ed448":          {cert, certtest.Block("PRIVATE KEY", ed448), certs.ReasonUnsupportedKey, "not supported"},
		"certificate on secp256k1": {certtest.Block("CERTIFICATE", withCurve(t, leaf.Raw, secp256k1)), keyPEM, certs.ReasonUnsupportedKey, "certificate's curve"},
		"key on secp256k1":         {cert, certtest.Block("EC PRIVATE KEY", onSecp256k1), certs.ReasonUnsupportedKey, "not supported"},
		"OpenSSH":                  {cert, certtest.Block("OPENSSH PRIVATE KEY", []byte("openssh-key-v1\x00")), certs.ReasonUnsupportedKey, "OpenSSH"},
	} {
		t.Run(name, func(t *testing.T) {
			set, problems := buildOne(c.cert, c.key)
			if len(problems) != 1 || set.Len() != 0 {
				t.Fatalf("%d certificates, problems %v", set.Len(), problems)
			}
			p := problems[0]
			if p.Reason != c.reason || !strings.Contains(p.Message, c.words) {
				t.Errorf("got %s: %s\nwant %s: …%s…", p.Reason, p.Message, c.reason, c.words)
			}
			if strings.ContainsAny(p.Message, "\n\r") {
				t.Errorf("message has line ends: %q", p.Message)
			}
			if got := p.String(); !strings.HasPrefix(got, "prod/shop-tls: ") {
				t.Errorf("String() = %q does not name the Secret", got)
			}
		})
	}
}

// The leaf-first order is served exactly as it was given, links and root included.
func TestChainKeepsItsOrder(t *testing.T) {
	ca := certtest.NewAuthority(t)
	sub := ca.Intermediate(t)
	key := certtest.Key(t)
	leaf := sub.Leaf(t, key.Public(), tomorrow, host)
	set, problems := buildOne(certtest.Chain(leaf, sub.Cert, ca.Cert), sec1(t, key))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	state := handshake(t, set.Get(set.IDs()[0]), ca, tls.VersionTLS13)
	for i, want := range []*x509.Certificate{leaf, sub.Cert, ca.Cert} {
		if !state.PeerCertificates[i].Equal(want) {
			t.Errorf("certificate %d is %s", i, state.PeerCertificates[i].Subject)
		}
	}
}

// utf16LE is what some editors and shells make of a text file.
func utf16LE(text []byte) []byte {
	out := []byte{0xff, 0xfe}
	for _, b := range text {
		out = append(out, b, 0)
	}
	return out
}
