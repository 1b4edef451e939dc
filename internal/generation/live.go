package generation

import (
	"crypto/tls"
	"sync/atomic"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

// Live is what the data plane reads. Reading is one atomic load and never waits;
// publishing takes no lock that a reader takes. One goroutine publishes, any
// number read. The zero value is ready and serves nothing.
//
// It is two pointers, stored one after the other: first the keys, then the table
// that requests are matched against. So whoever has loaded a table finds the keys
// of that table, or of a later publish, in place.
//
// A handshake needs a name map and keys that fit each other. Two loads from two
// pointers could not promise that in either order: between them a publish may
// replace the keys by a set that no longer holds what the older map names. The
// first pointer therefore leads to both, the keys and the table that names them,
// and a handshake loads it once.
type Live struct {
	keys  atomic.Pointer[keyring]
	table atomic.Pointer[route.Table]
}

// keyring is a certificate set with the table whose names it answers for.
type keyring struct {
	names *route.Table
	set   *certs.Set
}

// Publish puts a generation on the wire: its certificates, then its table.
// Requests and handshakes that began before finish with what they loaded.
func (l *Live) Publish(c Compiled) {
	l.keys.Store(&keyring{names: c.Table, set: c.Certs})
	l.table.Store(c.Table)
}

// Table is the table that serves now, or nil before the first publish. A request
// calls it once and finishes against what it got.
func (l *Live) Table() *route.Table { return l.table.Load() }

// Certs is the certificate set that serves now, or nil before the first publish.
func (l *Live) Certs() *certs.Set {
	k := l.keys.Load()
	if k == nil {
		return nil
	}
	return k.set
}

// Certificate resolves the server name of a handshake: exact, then one-label
// wildcard, then default. It is made for tls.Config.GetCertificate, and does not
// allocate.
//
// Where no usable certificate answers to the name it returns neither a certificate
// nor an error. That is the one answer to which crypto/tls replies with the alert
// unrecognized_name (RFC 6066, section 3), provided that the Config has no
// Certificates of its own; an error would become internal_error, which tells the
// client that the server is broken. A name whose certificate was left out as
// unusable is answered in the same way and does not fall to the default one.
func (l *Live) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	k := l.keys.Load()
	if k == nil {
		return nil, nil
	}
	id, ok := k.names.Certificate(hello.ServerName)
	if !ok {
		return nil, nil
	}
	return k.set.Get(id), nil
}
