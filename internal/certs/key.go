package certs

import (
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"strings"
)

// parseKey reads a private key whatever its wrapper: PKCS#1 (RFC 8017), SEC 1
// (RFC 5915) or PKCS#8 (RFC 5208). The block's label is not trusted to say which:
// tools have mislabelled keys for decades, and the encodings cannot be confused.
//
// Faults carry fixed text only. The errors of the parsers may quote bytes of
// their input, and this input is a key.
func parseKey(block *pem.Block) (crypto.Signer, *fault) {
	if encrypted(block) {
		return nil, faultf(ReasonEncryptedKey, "the key is encrypted with a passphrase: store it decrypted")
	}
	der := block.Bytes
	if key, ok := unwrap(block); ok {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, faultf(ReasonUnsupportedKey, "the key cannot sign: use an RSA, ECDSA or Ed25519 key")
	}
	curve, ec := keyCurve(der)
	switch {
	case ec && isSequence(curve):
		return nil, faultf(ReasonExplicitCurve,
			"the key spells out its curve's parameters: convert it to a named curve (openssl ec -param_enc named_curve)")
	case ec && !supported(curve), isPKCS8(der), strings.HasPrefix(block.Type, "DSA "):
		return nil, faultf(ReasonUnsupportedKey,
			"the key's algorithm or curve is not supported: use RSA, ECDSA (P-256, P-384, P-521) or Ed25519")
	case block.Type == "OPENSSH PRIVATE KEY":
		return nil, faultf(ReasonUnsupportedKey, "the key is in OpenSSH's format: convert it to PKCS#8")
	}
	return nil, faultf(ReasonGarbledKey, "the key block does not hold a private key")
}

// wrappers are the encodings of private keys, each with the label that its block should have.
var wrappers = []struct {
	label string
	parse func(der []byte) (any, error)
}{
	{"RSA PRIVATE KEY", func(der []byte) (any, error) { return x509.ParsePKCS1PrivateKey(der) }},
	{"EC PRIVATE KEY", func(der []byte) (any, error) { return x509.ParseECPrivateKey(der) }},
	{"PRIVATE KEY", x509.ParsePKCS8PrivateKey},
}

// unwrap tries the encoding that the label names before the others: a parser that fails asks
// the other parsers what it had, for the words of its error, and costs as much as all of them.
func unwrap(block *pem.Block) (key any, ok bool) {
	for _, named := range []bool{true, false} {
		for _, w := range wrappers {
			if named != (w.label == block.Type) {
				continue
			}
			if key, err := w.parse(block.Bytes); err == nil {
				return key, true
			}
		}
	}
	return nil, false
}

// encrypted recognises both ways of protecting a key: PKCS#8's own label
// (RFC 7468, section 11) and the headers of the older format (RFC 1421, section
// 4.6.1.1).
func encrypted(block *pem.Block) bool {
	return block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED")
}
