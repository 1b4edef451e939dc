// Package certs turns certificate and key material into what a TLS handshake
// needs, once per contents.
//
// The identity of a certificate is a hash of where it came from and what it
// says, so equal contents are recognised without parsing and changed contents
// are never mistaken for the old ones. A Set is the immutable map from identity
// to parsed certificate that belongs to one generation; building the next one
// takes over every identity that a kept set already holds and does X.509 work
// for the others only.
//
// Guarantees: a pair that cannot be used is left out and described by a Problem
// with a fixed reason word, and never affects another pair; an expired pair is
// used, because a client that looks away is better served than nobody; a chain
// is sent in the order in which it was given, and only if each link of it is a
// certificate; nothing of a key can be printed.
//
// The package never knows host names (which name uses which certificate is the
// route table's business), files, Secrets as API objects, clocks or loggers.
package certs

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"ramjet.dev/ingress/internal/route"
)

// Material is a certificate chain and its private key as they were found,
// before anybody looked inside. The byte slices are not modified and not kept
// by this package.
//
// Formatting a Material with fmt, encoding it as text or JSON, or logging it
// yields its namespace and name only. (A private struct field of this type is
// out of reach for that protection: keep Materials in exported fields, slices
// and maps, or behind a pointer.)
type Material struct {
	// Namespace and Name say where the material came from: a Secret, or in
	// static mode a name of the compiler's choice. They are part of the identity
	// and appear in messages.
	Namespace, Name string
	// Cert is the PEM chain, the leaf first (RFC 8446, section 4.4.2).
	Cert []byte
	// Key is the PEM private key of the leaf. It is secret.
	Key []byte
}

// ID is the identity of the material: the first 64 bits of SHA-256 over
// namespace, name, certificate and key, each preceded by its length as eight
// bytes in network order. The same contents under another name have another
// identity.
func (m Material) ID() route.CertID {
	h := sha256.New()
	writePart(h, []byte(m.Namespace))
	writePart(h, []byte(m.Name))
	writePart(h, m.Cert)
	writePart(h, m.Key)
	return route.CertID(binary.BigEndian.Uint64(h.Sum(nil)))
}

// writePart writes the length and then the bytes, so that no two different
// sequences of parts give the same stream. A hash never fails to write.
func writePart(w io.Writer, part []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(part)))
	_, _ = w.Write(length[:])
	_, _ = w.Write(part)
}

// String is "namespace/name", or the name alone where there is no namespace.
func (m Material) String() string { return source(m.Namespace, m.Name) }

// Format prints String whatever the verb, so that no verb reaches the key.
func (m Material) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.String()) }

// MarshalText encodes String. Encoders of JSON, XML and structured logs use it
// in place of the fields.
func (m Material) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

func source(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
