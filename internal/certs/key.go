package certs

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
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
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, faultf(ReasonUnsupportedKey, "the key cannot sign: use an RSA, ECDSA or Ed25519 key")
	}
	switch {
	case keyHasExplicitCurve(der):
		return nil, faultf(ReasonExplicitCurve,
			"the key spells out its curve's parameters: convert it to a named curve (openssl ec -param_enc named_curve)")
	case isPKCS8(der) || strings.HasPrefix(block.Type, "DSA "):
		return nil, faultf(ReasonUnsupportedKey,
			"the key's algorithm or curve is not supported: use RSA, ECDSA (P-256, P-384, P-521) or Ed25519")
	case block.Type == "OPENSSH PRIVATE KEY":
		return nil, faultf(ReasonUnsupportedKey, "the key is in OpenSSH's format: convert it to PKCS#8")
	}
	return nil, faultf(ReasonGarbledKey, "the key block does not hold a private key")
}

// encrypted recognises both ways of protecting a key: PKCS#8's own label
// (RFC 7468, section 11) and the headers of the older format (RFC 1421, section
// 4.6.1.1).
func encrypted(block *pem.Block) bool {
	return block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED")
}

// pkcs8 is the part of a PrivateKeyInfo that says what key it wraps.
type pkcs8 struct {
	Version   int
	Algorithm algorithm
	Key       []byte
}

// algorithm is an AlgorithmIdentifier with its parameters left undecoded.
type algorithm struct {
	ID         asn1.ObjectIdentifier
	Parameters asn1.RawValue `asn1:"optional"`
}

// sec1 is an ECPrivateKey (RFC 5915, section 3) with its curve left undecoded.
type sec1 struct {
	Version int
	Key     []byte
	Curve   asn1.RawValue `asn1:"optional,explicit,tag:0"`
}

func isPKCS8(der []byte) bool {
	var k pkcs8
	_, err := asn1.Unmarshal(der, &k)
	return err == nil && len(k.Algorithm.ID) > 0
}

// keyHasExplicitCurve reports whether an EC key in either wrapper spells out its
// curve as a SEQUENCE where an OBJECT IDENTIFIER should name it.
func keyHasExplicitCurve(der []byte) bool {
	var wrapped pkcs8
	if _, err := asn1.Unmarshal(der, &wrapped); err == nil {
		return isExplicitEC(wrapped.Algorithm)
	}
	var bare sec1
	_, err := asn1.Unmarshal(der, &bare)
	return err == nil && bare.Curve.Tag == asn1.TagSequence && bare.Curve.IsCompound
}

// ecPublicKey is id-ecPublicKey (RFC 5480, section 2.1.1), which EC keys carry
// in PKCS#8 as well.
var ecPublicKey = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}

func isExplicitEC(a algorithm) bool {
	return a.ID.Equal(ecPublicKey) && a.Parameters.Tag == asn1.TagSequence && a.Parameters.IsCompound
}

// certHasExplicitCurve does the same for the subject's key of a certificate
// (RFC 5280, section 4.1).
func certHasExplicitCurve(der []byte) bool {
	var cert struct {
		TBS struct {
			Version    int `asn1:"optional,explicit,default:0,tag:0"`
			Serial     asn1.RawValue
			Signature  asn1.RawValue
			Issuer     asn1.RawValue
			Validity   asn1.RawValue
			Subject    asn1.RawValue
			SubjectKey struct {
				Algorithm algorithm
				Key       asn1.BitString
			}
			Rest []asn1.RawValue `asn1:"-"`
		}
		Signature algorithm
		Value     asn1.BitString
	}
	// Trailing fields of a SEQUENCE that the struct does not name are ignored.
	_, err := asn1.Unmarshal(der, &cert)
	return err == nil && isExplicitEC(cert.TBS.SubjectKey.Algorithm)
}
