// Package nethttp is the reference engine: Go's net/http server in front, one
// goroutine per exchange, upstream connections of its own (package upstream).
//
// net/http is a lenient reader; between it and the wire stands a gate that
// delimits every request with the strict kernel of package http1 and refuses
// what is ambiguous before net/http sees it. HTTP/2, by ALPN or with prior
// knowledge, is net/http's own.
//
// It knows the table and the certificates it is lent through Source, and
// nothing of where they come from.
package nethttp

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/mirror"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// Source lends the engine what it serves. Both methods are called for every
// request or handshake and must not block.
type Source interface {
	// Table is the table that serves now; nil when none was published.
	Table() *route.Table
	// Certificate answers a ClientHello, as tls.Config.GetCertificate.
	Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
}

// Engine serves connections. Make one with New, feed it listeners with Serve
// and ServeTLS, end it with Shutdown.
type Engine struct {
	options engine.Options
	source  Source
	pools   *upstream.Pools
	metrics *engine.Metrics
	log     *slog.Logger
	limits  http1.Limits

	mirrors *mirror.Queue
	// sharesMirrors is set when the queue is somebody else's.
	sharesMirrors bool
	server        *http.Server
	tlsConfig     *tls.Config

	adopted  adoptive       // connections that another engine accepted
	serving  sync.WaitGroup // accept loops, handshakes, lingering closes
	inflight inflight       // exchanges
	tunnels  inflight       // upgraded connections, which a drain does not wait for
	// proxyRefused is set once a connection without a PROXY header was closed.
	proxyRefused atomic.Bool
	forced       atomic.Bool // the grace is over: nothing lingers
	conns        registry    // every client connection
	fresh        registry    // those that have not sent a whole head yet
	upgraded     registry    // those that became tunnels
}

// New returns an engine that serves what source lends. It listens to nothing yet;
// the workers of its mirrors end with Shutdown.
func New(options engine.Options, source Source, pools *upstream.Pools, metrics *engine.Metrics, logger *slog.Logger) *Engine {
	e := &Engine{
		options: options,
		source:  source,
		pools:   pools,
		metrics: metrics,
		log:     logger,
		limits:  http1.Limits{HeadBytes: options.MaxHeaderBytes},
		mirrors: mirror.New(metrics),
	}
	e.tlsConfig = &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: source.Certificate,
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	e.server = &http.Server{
		Handler:                      http.HandlerFunc(e.serve),
		DisableGeneralOptionsHandler: true, // OPTIONS * is routed like any other
		Protocols:                    protocols,
		ReadHeaderTimeout:            options.HeaderTimeout,
		IdleTimeout:                  options.ClientIdle,
		MaxHeaderBytes:               max(options.MaxHeaderBytes-h2ListSlack, 1),
		HTTP2:                        &http.HTTP2Config{MaxReadFrameSize: 64 << 10},
		ConnContext:                  connContext,
		ErrorLog:                     log.New(debugWriter{logger}, "", 0),
	}
	return e
}

// h2ListSlack is what net/http adds to MaxHeaderBytes for the list of fields that it
// advertises to HTTP/2 clients and takes from them; HTTP/1 has the gate's limit.
const h2ListSlack = 10 * 32

// debugWriter puts net/http's own remarks where nobody is woken by them: they
// are all about what single clients did.
type debugWriter struct{ log *slog.Logger }

func (w debugWriter) Write(b []byte) (int, error) {
	w.log.Debug("http server", "message", string(b))
	return len(b), nil
}

type connKey struct{}

// client is what an exchange needs to know of the connection it came over.
type client struct {
	gate *gate // nil for HTTP/2 over TLS
	peer peer
	// shard spreads the counters: requests of one connection hit one cache line.
	shard uint32
}

func connContext(ctx context.Context, c net.Conn) context.Context {
	k := &client{peer: peerOf(c), shard: nextShard.Add(1)}
	switch c := c.(type) {
	case *gate:
		k.gate = c
	case *secureGate:
		k.gate = &c.gate
	}
	return context.WithValue(ctx, connKey{}, k)
}

var nextShard atomic.Uint32

// Serve accepts plaintext connections from l until Shutdown, which closes it.
func (e *Engine) Serve(l net.Listener) {
	if e.options.ProxyProtocol {
		e.runPrepared(newPrepared(l, e, e.preparePlain))
		return
	}
	e.run(newGateListener(l, e))
}

// ServeTLS is Serve for TLS connections.
func (e *Engine) ServeTLS(l net.Listener) {
	e.runPrepared(newPrepared(l, e, e.prepareTLS))
}

func (e *Engine) runPrepared(p *prepared) {
	e.serving.Go(p.accept)
	e.run(p)
}

func (e *Engine) run(l net.Listener) {
	e.serving.Go(func() {
		if err := e.server.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
			e.log.Error("a listener ended", "address", l.Addr().String(), "error", err)
		}
	})
}

// Shutdown drains: listeners and idle connections close at once, requests in
// flight may finish until ctx ends, tunnels are not waited for. What is left
// then is closed; the error says how many connections that were. No goroutine
// of the engine is left when it returns.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.adopted.end()
	e.fresh.closeAll() // net/http would give them five seconds
	err := e.server.Shutdown(ctx)
	left := 0
	if err != nil {
		left = e.inflight.len()
		e.forced.Store(true)
		e.server.Close()
	}
	e.inflight.wait()
	e.upgraded.closeAll()
	e.tunnels.wait()
	e.inflight.wait() // where the tunnels came from
	e.forced.Store(true)
	e.conns.closeAll()
	e.serving.Wait()
	if !e.sharesMirrors {
		e.mirrors.Close()
	}
	if left > 0 {
		return &engine.CutError{Requests: left}
	}
	return nil
}

// inflight counts what is being served. Unlike a sync.WaitGroup it may be
// entered while somebody waits.
type inflight struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n reaches 0, made by a waiter
}

func (i *inflight) enter() {
	i.mu.Lock()
	i.n++
	i.mu.Unlock()
}

func (i *inflight) leave() {
	i.mu.Lock()
	if i.n--; i.n == 0 && i.empty != nil {
		close(i.empty)
		i.empty = nil
	}
	i.mu.Unlock()
}

func (i *inflight) len() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.n
}

// wait returns once nothing is in flight.
func (i *inflight) wait() {
	i.mu.Lock()
	if i.n == 0 {
		i.mu.Unlock()
		return
	}
	if i.empty == nil {
		i.empty = make(chan struct{})
	}
	empty := i.empty
	i.mu.Unlock()
	<-empty
}

// registry holds closers by identity.
type registry struct {
	mu     sync.Mutex
	all    map[io.Closer]struct{}
	closed bool
}

// add registers c; when everything was already closed, c is closed at once.
func (r *registry) add(c io.Closer) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		if r.all == nil {
			r.all = map[io.Closer]struct{}{}
		}
		r.all[c] = struct{}{}
	}
	r.mu.Unlock()
	if closed {
		c.Close()
	}
}

func (r *registry) remove(c io.Closer) {
	r.mu.Lock()
	delete(r.all, c)
	r.mu.Unlock()
}

// closeAll closes what is registered and whatever will be.
func (r *registry) closeAll() {
	r.mu.Lock()
	all := r.all
	r.all, r.closed = nil, true
	r.mu.Unlock()
	for c := range all {
		c.Close()
	}
}
