package certs

import (
	"encoding/asn1"
	"slices"
)

// The parsers of the standard library say of a key or certificate on a curve that
// they do not take no more than that it is malformed. What stands here looks at the
// place where the curve is named, so that the owner of the pair can be told.

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
	Curve   asn1.RawValue `asn1:"optional,explicit,tag:0"` // the tagged wrapper
}

func isPKCS8(der []byte) bool {
	var k pkcs8
	_, err := asn1.Unmarshal(der, &k)
	return err == nil && len(k.Algorithm.ID) > 0
}

// ecPublicKey is id-ecPublicKey (RFC 5480, section 2.1.1), which private EC keys
// carry in PKCS#8 as well.
var ecPublicKey = asn1.ObjectIdentifier{1, 2, 840, 10045, 2, 1}

// curves are the names of those that crypto/x509 takes (RFC 5480, section 2.1.1.1).
var curves = []asn1.ObjectIdentifier{
	{1, 3, 132, 0, 33},          // P-224
	{1, 2, 840, 10045, 3, 1, 7}, // P-256
	{1, 3, 132, 0, 34},          // P-384
	{1, 3, 132, 0, 35},          // P-521
}

// keyCurve is the curve of an EC private key in either wrapper, false for
// everything else. It should be an OBJECT IDENTIFIER; a SEQUENCE spells it out.
func keyCurve(der []byte) (curve asn1.RawValue, ec bool) {
	var wrapped pkcs8
	if _, err := asn1.Unmarshal(der, &wrapped); err == nil {
		return wrapped.Algorithm.Parameters, wrapped.Algorithm.ID.Equal(ecPublicKey)
	}
	var bare sec1
	if _, err := asn1.Unmarshal(der, &bare); err != nil {
		return curve, false
	}
	_, err := asn1.Unmarshal(bare.Curve.Bytes, &curve)
	return curve, err == nil
}

// certificate is the part of a Certificate (RFC 5280, section 4.1) that is looked at where
// the parser refuses the whole.
type certificate struct {
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
	} // what follows in the SEQUENCE is ignored
	Signature algorithm
	Value     asn1.BitString
}

// readCertificate is false, and the certificate empty, for what is none or has something
// after its end.
func readCertificate(der []byte) (certificate, bool) {
	var c certificate
	if rest, err := asn1.Unmarshal(der, &c); err != nil || len(rest) > 0 {
		return certificate{}, false
	}
	return c, true
}

// curve is the curve of the subject's key, false where that is not an EC key.
func (c *certificate) curve() (curve asn1.RawValue, ec bool) {
	key := c.TBS.SubjectKey.Algorithm
	return key.Parameters, key.ID.Equal(ecPublicKey)
}

func isSequence(v asn1.RawValue) bool {
	return v.Class == asn1.ClassUniversal && v.Tag == asn1.TagSequence && v.IsCompound
}

// supported reports whether curve names one that can be used.
func supported(curve asn1.RawValue) bool {
	var id asn1.ObjectIdentifier
	_, err := asn1.Unmarshal(curve.FullBytes, &id)
	return err == nil && slices.ContainsFunc(curves, id.Equal)
}
