package engine

import "time"

// Options are the settings that every engine obeys. The zero value is not
// useful; cmd/ fills all of it.
type Options struct {
	// ResponseTimeout bounds the wait for the first byte of a response head
	// after the request was sent.
	ResponseTimeout time.Duration
	// StreamIdle bounds the gap between two bytes of a body in either
	// direction; 0 = none.
	StreamIdle time.Duration
	// TunnelIdle bounds the silence of an upgraded tunnel in both directions;
	// 0 = none.
	TunnelIdle time.Duration
	// HeaderTimeout bounds the arrival of a request head, ClientIdle the life
	// of an idle client connection, HandshakeTimeout a TLS handshake.
	HeaderTimeout, ClientIdle, HandshakeTimeout time.Duration
	// ProxyProtocol requires a PROXY header, version 1 or 2, on every client
	// connection, before TLS, within ProxyProtocolTimeout. The peer is then the
	// address it names.
	ProxyProtocol        bool
	ProxyProtocolTimeout time.Duration
	// MaxHeaderBytes bounds request and response heads.
	MaxHeaderBytes int
	// MaxConnectAttempts bounds the endpoints tried for one request; 0 reads as 1.
	MaxConnectAttempts int
	// Trust are the peers whose forwarding fields are believed.
	Trust Trust
	// Underscores lets request fields with '_' in their name pass.
	Underscores bool
	// MirrorMaxBody bounds the request bodies that are copied for a mirror; 0 = no
	// request with a body is.
	MirrorMaxBody int64
	// Done, if set, gets the record of every exchange.
	Done func(*Record)
}

// HandshakeTimeout is how long a TLS handshake may take; no flag changes it.
const HandshakeTimeout = 10 * time.Second

// MaxInterim bounds the 1xx responses to one request: a backend that sends more
// is broken, and each one costs the client work.
const MaxInterim = 32
