package certs

import "fmt"

// Reason words: each names one way in which a pair can be unusable. Logs, Events
// and the admin API show them, so none is ever renamed.
const (
	// ReasonEmptyChain: no certificate where the chain should be.
	ReasonEmptyChain = "EmptyChain"
	// ReasonNoKey: no private key where the key should be.
	ReasonNoKey = "NoKey"
	// ReasonSwapped: the key is where the chain should be and the other way round.
	ReasonSwapped = "SwappedFiles"
	// ReasonGarbledCertificate: a certificate block that is not valid PEM or X.509.
	ReasonGarbledCertificate = "GarbledCertificate"
	// ReasonGarbledKey: a key block that is not valid PEM or not a key.
	ReasonGarbledKey = "GarbledKey"
	// ReasonEncryptedKey: the key is protected by a passphrase.
	ReasonEncryptedKey = "EncryptedKey"
	// ReasonExplicitCurve: the curve of an EC key is spelled out and not named.
	ReasonExplicitCurve = "ExplicitCurve"
	// ReasonUnsupportedKey: an algorithm, curve or size that TLS here cannot use.
	ReasonUnsupportedKey = "UnsupportedKey"
	// ReasonKeyMismatch: the key belongs to none of the certificates.
	ReasonKeyMismatch = "KeyMismatch"
	// ReasonLeafNotFirst: the key belongs to a certificate, but not to the first.
	ReasonLeafNotFirst = "LeafNotFirst"
)

// fault is a Problem that does not know yet whose it is.
type fault struct{ reason, message string }

// faultf builds a fault. Arguments must never come from a key.
func faultf(reason, format string, args ...any) *fault {
	return &fault{reason: reason, message: fmt.Sprintf(format, args...)}
}
