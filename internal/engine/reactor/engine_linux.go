package reactor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/mirror"
	"ramjet.dev/ingress/internal/engine/nethttp"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/upstream"
)

// Engine serves connections. Make one with New, feed it listeners with Serve and
// ServeTLS, end it with Shutdown. Its methods may be called from any goroutine.
type Engine struct {
	options engine.Options
	source  nethttp.Source
	metrics *engine.Metrics
	log     *slog.Logger
	limits  http1.Limits

	connectTimeout time.Duration
	idlePerLoop    int // idle connections kept per endpoint
	tlsConfig      *tls.Config
	mirrors        *mirror.Queue
	idle           census

	loops  []*loop
	inner  *nethttp.Engine // serves what is handed over
	beside sync.WaitGroup  // accepting, handshakes, lookups
	shards atomic.Uint32

	mu        sync.Mutex // guards what follows
	listeners []*acceptor
	closed    bool

	// draining is set before the listeners close: from then on an answer says that its
	// connection ends.
	draining atomic.Bool
	// proxyRefused is set once a connection without a PROXY header was closed.
	proxyRefused atomic.Bool
}

// New returns an engine that serves what source lends with so many loops, 0 = as many
// as the process may use cores. It listens to nothing yet; its loops run until
// Shutdown.
func New(options engine.Options, source nethttp.Source, pools *upstream.Pools, metrics *engine.Metrics, logger *slog.Logger, loops int) (*Engine, error) {
	if loops <= 0 {
		loops = runtime.GOMAXPROCS(0)
	}
	e := &Engine{
		options: options,
		source:  source,
		metrics: metrics,
		log:     logger,
		limits:  http1.Limits{HeadBytes: options.MaxHeaderBytes},
	}
	kept := pools.Options()
	e.connectTimeout = kept.ConnectTimeout
	e.idlePerLoop = (kept.IdlePerEndpoint + loops - 1) / loops
	for range loops {
		l, err := newLoop(e)
		if err != nil {
			for _, l := range e.loops {
				l.poll.close()
			}
			return nil, err
		}
		e.loops = append(e.loops, l)
	}
	e.inner = nethttp.New(options, source, pools, metrics, logger)
	e.tlsConfig = e.inner.TLSConfig()
	e.mirrors = mirror.New(metrics)
	e.inner.ShareMirrors(e.mirrors)
	claimProcessors(loops)
	for _, l := range e.loops {
		go l.run()
	}
	pools.Join(e)
	return e, nil
}

// Retain closes the idle connections to endpoints that are not named.
func (e *Engine) Retain(named map[string]bool) {
	for _, l := range e.loops {
		l.post(func() { l.retain(named) })
	}
}

// Idle counts the idle connections to one endpoint.
func (e *Engine) Idle(address string) int { return e.idle.of(address) }

// census knows the pools of all loops, for those who count.
type census struct {
	mu  sync.Mutex
	all map[*endpoint]struct{}
}

func (c *census) add(p *endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[*endpoint]struct{}{}
	}
	c.all[p] = struct{}{}
}

func (c *census) remove(p *endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, p)
}

func (c *census) of(address string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.all {
		if p.address == address {
			n += int(p.count.Load())
		}
	}
	return n
}

// Serve accepts plaintext connections from l until Shutdown, which closes it.
func (e *Engine) Serve(l net.Listener) { e.accept(l, false) }

// ServeTLS is Serve for TLS connections.
func (e *Engine) ServeTLS(l net.Listener) { e.accept(l, true) }

// Shutdown drains: listeners and idle connections close at once, requests in flight may
// finish until ctx ends, tunnels are not waited for. What is left then is closed; the
// error says how many requests that were. No goroutine of the engine is left when it
// returns.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	again := e.closed
	e.closed = true
	listeners := e.listeners
	e.mu.Unlock()
	if again {
		return nil
	}
	e.draining.Store(true)
	for _, a := range listeners {
		a.close()
	}
	for _, l := range e.loops {
		l.post(l.drain)
	}
	inner := make(chan error, 1)
	go func() { inner <- e.inner.Shutdown(ctx) }()
	for _, l := range e.loops {
		select {
		case <-l.drained:
		case <-ctx.Done():
		}
	}
	err := <-inner // connections that were handed over have the same deadline
	left := 0
	for _, l := range e.loops {
		count := make(chan int, 1)
		l.post(func() {
			count <- l.inflight
			l.end()
		})
		left += <-count
		<-l.done
	}
	e.beside.Wait()
	e.mirrors.Close()
	claimProcessors(-len(e.loops))
	var cut *engine.CutError
	if errors.As(err, &cut) {
		left += cut.Requests
	} else if err != nil {
		return fmt.Errorf("shut down what was handed over: %w", err)
	}
	if left > 0 {
		return &engine.CutError{Requests: left}
	}
	return nil
}
