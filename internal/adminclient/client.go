// Package adminclient asks the admin port of one daemon, and tells it to pin and to
// release.
//
// Guarantees: every answer is bounded in bytes, in time, and in the memory that it
// takes when it is decoded; what is not an answer of
// the interface is an error that says so in one line fit for a terminal; the token
// goes with the two requests that need it and nowhere else, because redirects are not
// followed and proxies of the environment are not used. The package never knows what
// the numbers are for.
package adminclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"ramjet.dev/ingress/internal/admin"
)

// Bounds of what an answer may take, in bytes. A daemon with ten thousand routes
// answers with a few megabytes.
const (
	maxAnswer  = 64 << 20 // of /admin/routes and /admin/generations
	maxMetrics = 8 << 20
	maxPin     = 64 << 10 // of a pin, a release or a refusal
)

// Options says whom to ask and how.
type Options struct {
	// Target is the daemon. Required.
	Target Target
	// Token is sent with Pin and Release. "" = none.
	Token string
	// Raw keeps the answers of a Reading as they came, beside what they say.
	Raw bool
	// Timeout bounds a Read, a Pin and a Release as a whole. 0 = 10 s.
	Timeout time.Duration
	// Now is a monotonic clock, for the moments of a Reading. Required.
	Now func() time.Duration
}

// Client asks one daemon. It is safe for concurrent use.
type Client struct {
	options Options
	http    *http.Client
}

// New returns a client. It keeps a connection open until Close.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	transport := &http.Transport{
		DisableCompression:  true, // what is read is what was sent, so the bounds hold
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     time.Minute,
	}
	return &Client{options: o, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Target is the daemon that is asked.
func (c *Client) Target() Target { return c.options.Target }

// Reading is what a daemon said of itself at one time.
type Reading struct {
	Generations admin.Generations
	Routes      admin.Routes
	Series      Series
	// GenerationsJSON and RoutesJSON are the answers as they came, nil without
	// Options.Raw.
	GenerationsJSON, RoutesJSON []byte
	// RoutesAt and SeriesAt are when those two answers began, on the clock of the
	// client: the daemon took its numbers then, give or take a round trip.
	RoutesAt, SeriesAt time.Duration
	// Date is the daemon's own clock, in seconds; zero if it did not say.
	Date time.Time
}

// Read asks for everything, one answer after the other. The error is an *Error.
func (c *Client) Read(ctx context.Context) (*Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	r := &Reading{}
	metrics, err := c.get(ctx, admin.PathMetrics, maxMetrics)
	if err != nil {
		return nil, err
	}
	r.SeriesAt, r.Date = metrics.at, metrics.date
	if r.Series, err = parseSeries(metrics.body); err != nil {
		return nil, c.foreign(admin.PathMetrics, err)
	}
	routes, err := c.get(ctx, admin.PathRoutes, maxAnswer)
	if err != nil {
		return nil, err
	}
	r.RoutesAt = routes.at
	if c.options.Raw {
		r.RoutesJSON = routes.body
	}
	if err := c.decode(admin.PathRoutes, routes.body, &r.Routes, &r.Routes.Version); err != nil {
		return nil, err
	}
	generations, err := c.get(ctx, admin.PathGenerations, maxAnswer)
	if err != nil {
		return nil, err
	}
	if c.options.Raw {
		r.GenerationsJSON = generations.body
	}
	if err := c.decode(admin.PathGenerations, generations.body, &r.Generations, &r.Generations.Version); err != nil {
		return nil, err
	}
	return r, nil
}

// answer is one answer of the daemon.
type answer struct {
	body []byte
	at   time.Duration
	date time.Time
}

func (c *Client) get(ctx context.Context, path string, bound int64) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.options.Target.URL+path, http.NoBody)
	if err != nil {
		return answer{}, c.failed(path, err)
	}
	return c.do(r, path, bound)
}

// do sends a request and reads the answer to its end, up to a bound.
func (c *Client) do(r *http.Request, path string, bound int64) (answer, error) {
	response, err := c.http.Do(r)
	if err != nil {
		return answer{}, c.failed(path, err)
	}
	defer response.Body.Close()
	a := answer{at: c.options.Now()}
	if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		a.date = at
	}
	if response.StatusCode != http.StatusOK {
		return answer{}, c.refused(path, response)
	}
	if a.body, err = io.ReadAll(io.LimitReader(response.Body, bound+1)); err != nil {
		return answer{}, c.failed(path, err)
	}
	if int64(len(a.body)) > bound {
		return answer{}, c.fault(path, fmt.Sprintf("the answer is larger than %d KiB", bound>>10))
	}
	return a, nil
}

// decode reads an answer of the interface; version points into it.
func (c *Client) decode(path string, body []byte, into any, version *int) error {
	err := count(body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	switch {
	case err != nil:
		return c.foreign(path, err)
	case *version == 0:
		return c.foreign(path, errors.New("there is no version in it"))
	case *version != admin.Version:
		return c.fault(path, fmt.Sprintf("the answer is of version %d, and this program knows version %d: take the one that came with the daemon", *version, admin.Version))
	}
	return nil
}

// Pin puts a kept generation back on the wire and holds it there. A digest is sent along,
// so that a daemon where the number stands for another generation refuses; "" = none.
// The error is an *Error.
func (c *Client) Pin(ctx context.Context, generation uint64, digest string) (admin.Pin, error) {
	body, err := json.Marshal(admin.Rollback{Generation: generation, Digest: digest})
	if err != nil {
		return admin.Pin{}, c.failed(admin.PathRollback, err)
	}
	return c.rollback(ctx, http.MethodPost, body)
}

// Release lets the newest generation through again. The error is an *Error.
func (c *Client) Release(ctx context.Context) (admin.Pin, error) {
	return c.rollback(ctx, http.MethodDelete, nil)
}

func (c *Client) rollback(ctx context.Context, method string, body []byte) (pin admin.Pin, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.options.Target.URL+admin.PathRollback, bytes.NewReader(body))
	if err != nil {
		return pin, c.failed(admin.PathRollback, err)
	}
	if c.options.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	a, err := c.do(r, admin.PathRollback, maxPin)
	if err != nil {
		return pin, err
	}
	if err := json.Unmarshal(a.body, &pin); err != nil {
		return pin, c.foreign(admin.PathRollback, err)
	}
	return pin, nil
}
