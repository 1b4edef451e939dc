package certs

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"strings"
)

// minRSABits is the smallest RSA modulus that crypto/rsa signs with. A smaller
// one would parse and then fail every handshake.
const minRSABits = 1024

// parsePair makes a certificate of a PEM chain and a PEM key, or says what is
// wrong with them in the words of a Problem.
func parsePair(certPEM, keyPEM []byte) (*tls.Certificate, *fault) {
	certs, keys := readPEM(certPEM), readPEM(keyPEM)
	if f := checkBlocks(certs, keys); f != nil {
		return nil, f
	}
	leaf, err := x509.ParseCertificate(certs.chain[0])
	if err != nil {
		return nil, leafFault(certs.chain[0], err)
	}
	key, f := parseKey(keys.key)
	if f != nil {
		return nil, f
	}
	if !belongs(key, leaf) {
		return nil, mismatch(key, leaf, certs.chain)
	}
	if f := usable(key); f != nil {
		return nil, f
	}
	return &tls.Certificate{Certificate: certs.chain, PrivateKey: key, Leaf: leaf}, nil
}

// checkBlocks judges what the two texts hold before any of it is parsed.
func checkBlocks(certs, keys blocks) *fault {
	switch {
	case certs.utf16:
		return faultf(ReasonGarbledCertificate, "the certificate is UTF-16 text: save it as UTF-8")
	case keys.utf16:
		return faultf(ReasonGarbledKey, "the key is UTF-16 text: save it as UTF-8")
	case len(certs.chain) == 0 && certs.key != nil && keys.key == nil && len(keys.chain) > 0:
		return faultf(ReasonSwapped, "certificate and key are swapped: each is where the other should be")
	case certs.brokenChain:
		return faultf(ReasonGarbledCertificate,
			"certificate block %d is not valid PEM: copy the whole block again, from BEGIN to END", len(certs.chain)+1)
	case len(certs.chain) == 0 && certs.key != nil:
		return faultf(ReasonEmptyChain, "found a private key where the certificate chain should be")
	case len(certs.chain) == 0 && len(certs.others) > 0:
		return faultf(ReasonEmptyChain, "the chain holds no CERTIFICATE block, only: %s", strings.Join(certs.others, ", "))
	case len(certs.chain) == 0:
		return faultf(ReasonEmptyChain, "the certificate chain is empty: no PEM block in it")
	case keys.brokenKey:
		return faultf(ReasonGarbledKey, "the key is not valid PEM: copy the whole block again, from BEGIN to END")
	case keys.key == nil && len(keys.chain) > 0:
		return faultf(ReasonNoKey, "found a certificate where the private key should be")
	case keys.key == nil:
		return faultf(ReasonNoKey, "there is no PEM private key")
	}
	return nil
}

// leafFault explains a first certificate that does not parse.
func leafFault(der []byte, err error) *fault {
	c, _ := readCertificate(der)
	curve, ec := c.curve()
	switch {
	case ec && isSequence(curve):
		return faultf(ReasonExplicitCurve,
			"the certificate spells out its curve's parameters: issue it again for a key with a named curve")
	case ec && !supported(curve):
		return faultf(ReasonUnsupportedKey,
			"the certificate's curve is not supported: use P-256, P-384 or P-521")
	}
	return faultf(ReasonGarbledCertificate, "the first certificate does not parse: %v", err)
}

// belongs reports whether key is the private half of the key in cert.
func belongs(key crypto.Signer, cert *x509.Certificate) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(cert.PublicKey)
}

// mismatch tells a chain in the wrong order (RFC 8446, section 4.4.2: the
// sender's certificate comes first) from a key of another certificate.
func mismatch(key crypto.Signer, leaf *x509.Certificate, chain [][]byte) *fault {
	for _, der := range chain[1:] {
		// One that does not parse is not the one that we look for.
		if other, err := x509.ParseCertificate(der); err == nil && belongs(key, other) {
			return faultf(ReasonLeafNotFirst,
				"first certificate is not the one that this key signs for: put the leaf first")
		}
	}
	if keyKind, certKind := kind(key.Public()), kind(leaf.PublicKey); keyKind != certKind {
		return faultf(ReasonKeyMismatch,
			"the key belongs to another certificate: the key is %s, the certificate is for %s", keyKind, certKind)
	}
	return faultf(ReasonKeyMismatch, "the key belongs to another certificate: both are %s, but not the same pair",
		kind(leaf.PublicKey))
}

// kind is the algorithm of a public key in words.
func kind(public crypto.PublicKey) string {
	switch k := public.(type) {
	case *rsa.PublicKey:
		return "RSA"
	case *ecdsa.PublicKey:
		return "ECDSA " + k.Curve.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return "an unknown algorithm"
}

// usable refuses keys that parse but that no handshake could use.
func usable(key crypto.Signer) *fault {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if bits := k.N.BitLen(); bits < minRSABits {
			return faultf(ReasonUnsupportedKey, "an RSA key of %d bits is too small: use at least 2048", bits)
		}
	case *ecdsa.PrivateKey:
		// RFC 8446, section 4.2.3: TLS 1.3 has no signature scheme for P-224.
		if k.Curve == elliptic.P224() {
			return faultf(ReasonUnsupportedKey, "TLS 1.3 has no signatures with P-224: use P-256 or P-384")
		}
	}
	return nil
}
