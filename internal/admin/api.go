package admin

import "time"

// Version is the "version" of every answer that has one. It stays 1 as long as the
// interface only grows: a key is never renamed, removed or given another meaning.
const Version = 1

// The paths of the interface.
const (
	PathHealth      = "/healthz"
	PathReady       = "/readyz"
	PathMetrics     = "/metrics"
	PathGenerations = "/admin/generations"
	PathRoutes      = "/admin/routes"
	PathRollback    = "/admin/rollback"
)

// Generations is the answer of GET /admin/generations.
type Generations struct {
	Version int `json:"version"`
	// Serving is the number of the generation on the wire, 0 also before the first.
	Serving uint64 `json:"serving"`
	// Pinned is the generation that holds the pin; nil is no pin.
	Pinned *uint64 `json:"pinned"`
	// PinnedAt is when the pin began, in UTC and whole seconds; absent without a pin.
	PinnedAt *time.Time `json:"pinned_at,omitempty"`
	// Generations are all that can be pinned or that serve, the newest first. Never
	// nil.
	Generations []Generation `json:"generations"`
}

// Generation is one recorded generation.
type Generation struct {
	Generation uint64 `json:"generation"`
	// AppliedAt is when it was recorded, in UTC and whole seconds.
	AppliedAt time.Time `json:"applied_at"`
	// Published is false while a pin holds the generation back.
	Published bool `json:"published"`
	// Digest is 16 hexadecimal digits; equal tables have equal digests.
	Digest string `json:"digest"`
	// Routes, Hosts and Certs are how many its table has. The default backend is no
	// route, a route without a host adds no host, and the default certificate counts.
	Routes int  `json:"routes"`
	Hosts  int  `json:"hosts"`
	Certs  int  `json:"certs"`
	Diff   Diff `json:"diff"`
}

// Diff is what changed since the generation recorded before. Lists are sorted and
// never nil.
type Diff struct {
	// Summary is the change in one line.
	Summary string `json:"summary"`
	// RoutesAdded and RoutesRemoved are "host path -> backend", host "*" for none.
	RoutesAdded   []string `json:"routes_added"`
	RoutesRemoved []string `json:"routes_removed"`
	// BackendsChanged are "host path: old -> new" or "host path: 2 -> 3 endpoints".
	BackendsChanged []string `json:"backends_changed"`
	// CertsRotated are hosts, "*" for the default certificate.
	CertsRotated []string `json:"certs_rotated"`
	HostsAdded   []string `json:"hosts_added"`
	HostsRemoved []string `json:"hosts_removed"`
	// MirrorsAdded and MirrorsRemoved are "host path -> backend (N%)".
	MirrorsAdded   []string `json:"mirrors_added"`
	MirrorsRemoved []string `json:"mirrors_removed"`
}

// Routes is the answer of GET /admin/routes.
type Routes struct {
	Version int `json:"version"`
	// Generation is the one on the wire, whose routes these are.
	Generation uint64 `json:"generation"`
	// Routes are sorted by host, then in the order in which they are matched. Never
	// nil.
	Routes []Route `json:"routes"`
}

// Route is one route with its numbers. The numbers are totals since the route
// exists; they outlive generations.
type Route struct {
	// Host is "*" for a route without a host.
	Host string `json:"host"`
	Path string `json:"path"`
	// PathType is Exact, Prefix or ImplementationSpecific.
	PathType string `json:"path_type"`
	Backend  string `json:"backend"`
	// Regex is true for a path that is a regular expression.
	Regex bool `json:"regex,omitempty"`
	// Endpoints is how many endpoints the backend has, draining ones included.
	Endpoints int `json:"endpoints"`
	// Numbers include what the canary answered.
	Numbers
	// Canary is nil for none, and then CanaryNumbers is nil too.
	Canary        *Canary  `json:"canary"`
	CanaryNumbers *Numbers `json:"canary_stats"`
	Mirror        *Mirror  `json:"mirror"`
}

// Numbers are the counters of a route or of its canary side.
type Numbers struct {
	Requests  uint64 `json:"requests_total"`
	Errors5xx uint64 `json:"errors_5xx_total"`
	// LatencyCount and LatencyMillis are the number of measured upstream latencies
	// and their sum in milliseconds: the mean of a window is the quotient of their
	// differences.
	LatencyCount  uint64  `json:"upstream_latency_count"`
	LatencyMillis float64 `json:"upstream_latency_ms_sum"`
}

// Canary is the canary of a route.
type Canary struct {
	Backend string `json:"backend"`
	// WeightPercent is its share by weight, 0 to 100. Header and cookie rules come
	// before it.
	WeightPercent float64 `json:"weight_percent"`
}

// Mirror is the mirror of a route.
type Mirror struct {
	Backend string `json:"backend"`
	Percent int    `json:"percent"`
	// Host replaces the Host of the copies; nil keeps the client's.
	Host *string `json:"host"`
}

// Rollback is the body of POST /admin/rollback.
type Rollback struct {
	Generation uint64 `json:"generation"`
	// Digest is that of the generation that is meant, as GET /admin/generations had
	// it: nothing is changed where the number stands for another one by now. "" = not
	// compared.
	Digest string `json:"digest,omitempty"`
}

// Pin is the answer of POST and DELETE /admin/rollback.
type Pin struct {
	// Pinned is the generation that holds the pin; nil is no pin.
	Pinned *uint64 `json:"pinned"`
	// Serving is the generation on the wire.
	Serving uint64 `json:"serving"`
}

// Failure is the answer to what could not be done, with a status from 400 up.
type Failure struct {
	// Error says what happened, in words that a user can act on.
	Error string `json:"error"`
	// Generation is the one that was asked for and is not kept (404), or has another
	// digest (409).
	Generation *uint64 `json:"generation,omitempty"`
	// Digest is the one that it has (409).
	Digest string `json:"digest,omitempty"`
	// Pinned is the one that holds the pin already (409).
	Pinned *uint64 `json:"pinned,omitempty"`
}
