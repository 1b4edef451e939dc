package nethttp

import (
	"context"
	"crypto/tls"
	"net"
	"sync"

	"ramjet.dev/ingress/internal/engine/mirror"
)

// Adopted is a connection that another engine accepted, and what it has read of it.
type Adopted struct {
	Conn *net.TCPConn
	// Early is what was read off the socket and not used: it is read first.
	Early []byte
	// Source is the client that a PROXY header named; nil = the socket's peer.
	Source net.Addr
	// TLS says that the client has to shake hands first.
	TLS bool
	// Session, if not nil, is a TLS connection on which HTTP/1 is spoken already. Plain
	// is what was read of it. Bind makes it go on over the connection that it is given.
	Session *tls.Conn
	Plain   []byte
	Bind    func(net.Conn)
}

// Adopt serves a connection that another engine accepted, until Shutdown; after that it
// closes it.
func (e *Engine) Adopt(a Adopted) {
	k := e.count(a.Conn)
	k.early, k.source = a.Early, a.Source
	e.adopted.mu.Lock()
	defer e.adopted.mu.Unlock()
	if e.adopted.over {
		k.Close()
		return
	}
	if e.adopted.prepared == nil {
		e.adopted.prepared = newPrepared(noListener{}, e, nil)
		e.run(e.adopted.prepared)
	}
	p := e.adopted.prepared
	e.serving.Go(func() {
		p.handAs(k, func(ctx context.Context, k *counted) net.Conn { return e.prepareAdopted(ctx, k, &a) })
	})
}

// adoptive is the listener of what Adopt takes.
type adoptive struct {
	mu       sync.Mutex
	over     bool
	prepared *prepared // nil until the first
}

// end makes Adopt refuse.
func (a *adoptive) end() {
	a.mu.Lock()
	a.over = true
	a.mu.Unlock()
}

func (e *Engine) prepareAdopted(ctx context.Context, k *counted, a *Adopted) net.Conn {
	switch {
	case a.Session != nil:
		a.Bind(k)
		g := newSecureGateAt(a.Session, k, e)
		g.pending, g.cleared = g.admit(a.Plain)
		return g
	case a.TLS:
		return e.shakeHands(ctx, k)
	}
	return newGate(k, e)
}

// TLSConfig is the configuration of the engine's handshakes, to be shared, so that
// sessions can be resumed whoever serves them.
func (e *Engine) TLSConfig() *tls.Config { return e.tlsConfig }

// ShareMirrors makes the engine use a queue that somebody else owns and closes, so that
// its bounds hold for the process. It is called before anything is served.
func (e *Engine) ShareMirrors(q *mirror.Queue) {
	e.mirrors.Close()
	e.mirrors, e.sharesMirrors = q, true
}

// noListener stands where net/http wants one.
type noListener struct{}

func (noListener) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (noListener) Close() error              { return nil }
func (noListener) Addr() net.Addr            { return &net.TCPAddr{} }
