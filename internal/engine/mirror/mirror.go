// Package mirror sends copies of requests to mirror backends and throws the
// answers away.
//
// Guarantee: a mirror never makes the primary slower or more likely to fail.
// Offer never blocks: what does not fit into the queue, or into the memory that
// waiting copies may hold, is dropped and counted. A fixed number of workers
// sends the copies, each within Deadline, over connections of their own; no
// balancing state and no pool of the primaries is touched. Where a copy would be
// dropped or refused anyway, Admit says so before any work is put into it.
package mirror

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
)

const (
	// Deadline is how long one copy may take, answer included.
	Deadline = 5 * time.Second
	// queueLength and queueBytes bound what waits to be sent, copies in the making
	// included.
	queueLength = 512
	queueBytes  = 32 << 20
	// Workers bounds the copies on their way at once.
	Workers = 32
	// By is the value of the X-Mirrored-By field of every copy.
	By = "ramjet-ingress"
	// answerBytes is how much of an answer is read so that its connection can be
	// used again; a longer one costs the connection.
	answerBytes = 256 << 10
)

// Copy is a request to be sent to a mirror. It owns its Header and Body.
type Copy struct {
	Mirror *route.Mirror
	// Endpoint is what Admit chose.
	Endpoint *route.Endpoint
	Method   string
	// Target is in origin form.
	Target string
	// Host is what the primary got.
	Host   string
	Header http.Header
	Body   []byte
}

// Queue sends copies. Make one with New, end it with Close.
type Queue struct {
	metrics *engine.Metrics
	waiting chan *Copy
	held    atomic.Int64 // bytes of the bodies that are made, wait or are being sent
	refused refused
	http1   *http.Transport
	http2   *http.Transport
	cancel  context.CancelFunc
	workers sync.WaitGroup
}

// New starts the workers.
func New(metrics *engine.Metrics) *Queue {
	ctx, cancel := context.WithCancel(context.Background())
	q := &Queue{
		metrics: metrics,
		waiting: make(chan *Copy, queueLength),
		http1:   transport(false),
		http2:   transport(true),
		cancel:  cancel,
	}
	for range Workers {
		q.workers.Go(func() { q.work(ctx) })
	}
	return q
}

func transport(h2 bool) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!h2)
	protocols.SetUnencryptedHTTP2(h2)
	return &http.Transport{
		Protocols:              protocols,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    Workers,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// Admit chooses the endpoint of a copy that is about to be made. It is nil, and the
// copy counted as dropped or failed, when making it would be work for nothing: the
// queue is full, the mirror has no endpoints, or the endpoint let nobody connect a
// moment ago. It never blocks.
func (q *Queue) Admit(m *route.Mirror) *route.Endpoint {
	if len(q.waiting) == cap(q.waiting) {
		q.metrics.MirrorDropped.Inc()
		return nil
	}
	ep := m.Pick()
	if ep == nil || !q.refused.passes(ep.Address, time.Now()) {
		q.metrics.MirrorFailures.Inc()
		return nil
	}
	return ep
}

// Reserve claims memory for a piece of the body of a copy in the making; false
// means that there is none left. What was claimed goes back with Release, or with
// the copy when it is offered.
func (q *Queue) Reserve(size int) bool {
	if q.held.Add(int64(size)) <= queueBytes {
		return true
	}
	q.Release(size)
	return false
}

// Release gives back memory that was reserved.
func (q *Queue) Release(size int) { q.held.Add(-int64(size)) }

// Offer takes a copy to send, or drops it. Its body was reserved. It never blocks.
func (q *Queue) Offer(c *Copy) {
	select {
	case q.waiting <- c:
	default:
		q.Release(len(c.Body))
		q.metrics.MirrorDropped.Inc()
	}
}

// Close ends what is on its way, drops what waits, and waits for the workers.
func (q *Queue) Close() {
	q.cancel()
	q.workers.Wait()
	q.http1.CloseIdleConnections()
	q.http2.CloseIdleConnections()
}

func (q *Queue) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case c := <-q.waiting:
			err := q.send(ctx, c)
			q.refused.note(c.Endpoint.Address, err, time.Now())
			if err != nil {
				q.metrics.MirrorFailures.Inc()
			} else {
				q.metrics.Mirrored.Inc()
			}
			q.Release(len(c.Body))
		}
	}
}

// send delivers one copy.
func (q *Queue) send(ctx context.Context, c *Copy) error {
	ctx, cancel := context.WithTimeout(ctx, Deadline)
	defer cancel()
	t := q.http1
	if c.Mirror.Backend.Protocol == route.GRPC {
		t = q.http2
	}
	resp, err := t.RoundTrip(c.request(ctx))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.CopyN(io.Discard, resp.Body, answerBytes)
	if err == io.EOF {
		return nil
	}
	return err
}

func (c *Copy) request(ctx context.Context) *http.Request {
	host := c.Host
	if c.Mirror.Host != "" {
		host = c.Mirror.Host
	}
	c.Header["X-Mirrored-By"] = []string{By}
	if _, ok := c.Header["User-Agent"]; !ok {
		c.Header["User-Agent"] = nil // net/http would write its own
	}
	r := &http.Request{
		Method: c.Method,
		URL:    TargetURL(c.Target, c.Endpoint.Address, host),
		Host:   host,
		Header: c.Header,
		Body:   http.NoBody,
	}
	if len(c.Body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(c.Body)), int64(len(c.Body))
	}
	return r.WithContext(ctx)
}

// TargetURL is a URL that makes net/http's client send a request target byte for
// byte to an address; host is the request's Host.
func TargetURL(target, address, host string) *url.URL {
	u := &url.URL{Scheme: "http", Host: address, Opaque: target}
	if !strings.HasPrefix(target, "//") {
		return u
	}
	// It would read as an authority: as a path it does not, if net/url leaves it as it is,
	// and in absolute form it does not either. net/http takes scheme and host off again
	// for HTTP/2.
	raw, query, asks := strings.Cut(target, "?")
	if path, err := url.PathUnescape(raw); err == nil {
		p := &url.URL{Scheme: "http", Host: address, Path: path, RawPath: raw, RawQuery: query, ForceQuery: asks}
		if p.RequestURI() == target {
			return p
		}
	}
	u.Opaque = "//" + host + target
	return u
}
