// Package webhook delivers audit events to a collector over HTTP: one POST of JSON
// an event, never repeated.
//
// A delivery is a copy. The log, the history and Kubernetes Events have the record,
// so there are no retries, no backoff and nothing on disk that would need an
// operator's attention during the very incident that it tells of.
//
// Guarantees: Record never waits, whatever the collector does; events are delivered
// one at a time in the order in which they were recorded; a delivery takes five
// seconds at most, name lookup and answer included; redirects are not followed; one
// goroutine, a bounded queue, and a bounded answer are all that a bad collector can
// cost. What was dropped or refused is counted and logged, and of the URL only its host is.
//
// The package never knows how a generation is made or published, Kubernetes, or TLS.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/audit"
)

const (
	// timeout bounds a delivery from the lookup of the name to the end of the answer.
	timeout = 5 * time.Second
	// queueLength is how many events wait for a slow collector. Beyond it the
	// newest are dropped: those delivered are then a complete history up to a point,
	// and the numbers in later ones show the gap.
	queueLength = 64
	// answerLimit is how much of an answer's body is read.
	answerLimit = 4 << 10
	// logInterval is the least time between two warnings of a kind.
	logInterval = time.Minute
)

// Options says where events go.
type Options struct {
	// URL is the collector: http://host[:port][/path]. Required.
	URL string
	// Logger takes failures. nil = slog.Default().
	Logger *slog.Logger
}

// Webhook is an audit.Sink with one goroutine of its own. Its owner calls Close.
type Webhook struct {
	url    string
	client *http.Client
	logger *slog.Logger

	mu     sync.Mutex // guards closed, and sends on queue against its closing
	closed bool
	queue  chan audit.Event

	cancel context.CancelFunc // gives up the delivery under way
	done   chan struct{}      // closed when the goroutine has ended

	delivered, failed, dropped atomic.Uint64
}

// Stats are numbers since the start.
type Stats struct {
	// Delivered events were answered with a 2xx status.
	Delivered uint64
	// Failed ones were sent, or tried to be, without such an answer in time.
	Failed uint64
	// Dropped ones were never tried: the queue was full, or the Webhook closed.
	Dropped uint64
}

// New checks the URL and starts the goroutine. The error says why a URL is refused,
// in words for the one who wrote it.
func New(options Options) (*Webhook, error) {
	target, err := checkURL(options.URL)
	if err != nil {
		return nil, fmt.Errorf("audit webhook: %w", err)
	}
	transport := &http.Transport{
		// No proxy, no kept connection: a collector is inside the cluster and events
		// are rare, so that an idle connection would mostly be found dead.
		DisableKeepAlives:      true,
		MaxResponseHeaderBytes: 16 << 10,
	}
	return start(target, transport, options.Logger), nil
}

// checkURL parses a URL that CheckURL accepts. No error quotes the URL or a part of
// it: it may hold a password, in a place that only its author knows.
func checkURL(raw string) (*url.URL, error) {
	const form = "write http://host:port/path"
	u, err := url.Parse(raw)
	if err != nil {
		return nil, errors.New("not a URL: " + form)
	}
	switch {
	case u.Scheme == "https":
		return nil, errors.New("https:// is refused and not downgraded: the control plane carries " +
			"no TLS client; point it to a collector inside the cluster, with http://")
	case u.Scheme != "http":
		return nil, errors.New("only http:// is accepted: " + form)
	case u.Hostname() == "":
		return nil, errors.New("the URL names no host: " + form)
	}
	if port, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || port == 0) {
		return nil, errors.New("the port of the URL is not a number from 1 to 65535")
	}
	return u, nil
}

// CheckURL reports why a URL cannot be that of a collector, without starting
// anything. nil = it can. The error never shows the URL, which may hold a password.
func CheckURL(raw string) error {
	_, err := checkURL(raw)
	return err
}

func start(target *url.URL, transport http.RoundTripper, logger *slog.Logger) *Webhook {
	if logger == nil {
		logger = slog.Default()
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Webhook{
		url: target.String(),
		client: &http.Client{
			Transport: transport,
			Timeout:   timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error {
				// A collector must not choose where the configuration is sent next.
				return http.ErrUseLastResponse
			},
		},
		// Collectors take their tokens in the path or the query, too.
		logger: logger.With("webhook", "http://"+target.Host),
		queue:  make(chan audit.Event, queueLength),
		cancel: cancel,
		done:   make(chan struct{}),
	}
	go w.run(ctx)
	return w
}

// Record queues an event for delivery. It never blocks: an event that finds the
// queue full, or the Webhook closed, is dropped and counted. Generations that a pin
// held back are not delivered at all.
func (w *Webhook) Record(e audit.Event) {
	if c, ok := e.(audit.Config); ok && !c.Published {
		return
	}
	w.mu.Lock() // held for two instructions by anybody
	defer w.mu.Unlock()
	if w.closed {
		w.dropped.Add(1)
		return
	}
	select {
	case w.queue <- e:
	default:
		w.dropped.Add(1)
	}
}

// Stats returns the numbers. It is safe for concurrent use.
func (w *Webhook) Stats() Stats {
	return Stats{Delivered: w.delivered.Load(), Failed: w.failed.Load(), Dropped: w.dropped.Load()}
}

// Close takes no further event, waits for the delivery of those that are queued and
// for the goroutine to end. When ctx is done first, the delivery under way is given
// up, the rest is dropped, and the error is that of ctx. It may be called again.
func (w *Webhook) Close(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	select {
	case <-w.done:
		return nil
	case <-ctx.Done():
	}
	w.cancel()
	<-w.done
	return ctx.Err()
}

// run delivers until the queue is closed and empty.
func (w *Webhook) run(ctx context.Context) {
	defer close(w.done)
	defer w.cancel()
	failures := limiter{interval: logInterval}
	drops := limiter{interval: logInterval}
	var dropsSeen uint64
	for e := range w.queue {
		if ctx.Err() != nil {
			w.dropped.Add(1)
		} else if err := w.deliver(ctx, e); err != nil {
			w.failed.Add(1)
			w.logFailure(&failures, e, err)
		} else {
			w.delivered.Add(1)
		}
		// Drops are logged from here and not from Record, which must not wait for a
		// log handler either.
		if n := w.dropped.Load(); n > dropsSeen && drops.allow(time.Now()) {
			w.logger.Warn("audit events dropped: the collector is too slow", "dropped", n-dropsSeen)
			dropsSeen = n
		}
	}
	if n := w.dropped.Load(); n > dropsSeen {
		w.logger.Warn("audit events dropped", "dropped", n-dropsSeen)
	}
}

// logFailure warns about the first failure in a while and tells the others to those
// who look for them.
func (w *Webhook) logFailure(l *limiter, e audit.Event, err error) {
	level := slog.LevelDebug
	if l.allow(time.Now()) {
		level = slog.LevelWarn
	}
	w.logger.Log(context.Background(), level, "audit webhook delivery failed",
		"event", e.Kind(), "message", e.Message(), "error", err, "failed_total", w.failed.Load())
}

// deliver makes the one attempt that an event gets.
func (w *Webhook) deliver(ctx context.Context, e audit.Event) error {
	body, err := encode(e)
	if err != nil {
		return fmt.Errorf("encode %s event: %w", e.Kind(), err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("build request: %w", err)
	}
	// With this the transport cannot send the body a second time, whatever it makes
	// of an error.
	request.GetBody = nil
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "ramjet-ingress")
	response, err := w.client.Do(request)
	if err != nil {
		if quoting := new(url.Error); errors.As(err, &quoting) {
			err = quoting.Err // without the URL
		}
		return err
	}
	defer response.Body.Close()
	// The answer means nothing beyond its status; reading a little of it lets a
	// collector finish writing.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, answerLimit))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("collector answered %d", response.StatusCode)
	}
	return nil
}

// limiter lets one event an interval through.
type limiter struct {
	interval time.Duration
	last     time.Time // zero = none yet
}

func (l *limiter) allow(now time.Time) bool {
	if !l.last.IsZero() && now.Sub(l.last) < l.interval {
		return false
	}
	l.last = now
	return true
}
