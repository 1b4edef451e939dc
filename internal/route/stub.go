package route

import (
	"errors"
	"regexp"
	"time"
)

// Table is stubbed while the package is being filled in.
type Table struct{}

// Compile builds a table.
func Compile(spec Spec, kept ...*Table) (*Table, []Diagnostic) { return &Table{}, nil }

// Match finds the route of a request.
func (t *Table) Match(authority, path string) *Route { return nil }

// Certificate resolves a server name.
func (t *Table) Certificate(serverName string) (CertID, bool) { return 0, false }

// Routes lists the routes.
func (t *Table) Routes() []*Route { return nil }

// Hosts lists the named hosts.
func (t *Table) Hosts() []string { return nil }

// Backends lists the backends.
func (t *Table) Backends() []*Backend { return nil }

// Certs lists the effective certificates.
func (t *Table) Certs() []CertSpec { return nil }

// DefaultBackend is the default backend.
func (t *Table) DefaultBackend() *Backend { return nil }

// Text is the canonical text form.
func (t *Table) Text() string { return "" }

// Digest is the first 16 hex digits of the SHA-256 of Text.
func (t *Table) Digest() string { return "" }

// ParseText reads the canonical text form.
func ParseText(text string) (Spec, error) { return Spec{}, nil }

// Route is one route.
type Route struct {
	Host, Path string
	PathType   PathType
	Regex      bool
	Backend    *Backend
	Canary     *Canary
	Mirror     *Mirror
	Counters   *Counters
}

// Default reports the default route.
func (r *Route) Default() bool { return false }

// String is host path -> backend.
func (r *Route) String() string { return "" }

// Backend is one backend.
type Backend struct {
	Name      string
	Policy    Policy
	Protocol  Protocol
	Endpoints []*Endpoint
}

// Pick chooses an endpoint.
func (b *Backend) Pick(tried []*Endpoint) *Endpoint { return nil }

// Endpoint is one endpoint.
type Endpoint struct {
	Address string
	Weight  int
}

// Acquire counts a request in.
func (e *Endpoint) Acquire() {}

// Release counts a request out.
func (e *Endpoint) Release() {}

// InFlight is the number of requests.
func (e *Endpoint) InFlight() int64 { return 0 }

// Canary is a compiled canary.
type Canary struct {
	Backend             *Backend
	Weight, WeightTotal int
	Header, HeaderValue string
	HeaderPattern       *regexp.Regexp
	Cookie              string
}

// Fields is what a canary asks of a request.
type Fields interface {
	Field(name string) (value string, ok bool)
	Cookie(name string) (value string, ok bool)
}

// Takes decides.
func (c *Canary) Takes(f Fields, roll uint32) bool { return false }

// Mirror is a compiled mirror.
type Mirror struct {
	Backend *Backend
	Percent int
	Host    string
}

// Samples decides.
func (m *Mirror) Samples(roll uint32) bool { return false }

// Counters are the numbers of a route.
type Counters struct{}

// Sample is one request.
type Sample struct {
	Canary, Error5xx, HasLatency bool
	Latency                      time.Duration
}

// Count adds a request.
func (c *Counters) Count(shard uint32, s Sample) {}

// Numbers is a sum.
type Numbers struct {
	Requests, Errors5xx, LatencyCount uint64
	LatencySum                        time.Duration
}

// Total sums all.
func (c *Counters) Total() Numbers { return Numbers{} }

// Canary sums the canary side.
func (c *Counters) Canary() Numbers { return Numbers{} }

// NormalizeHost normalises an authority.
func NormalizeHost(authority string) (host string, ok bool) { return authority, authority != "" }

// Errors of NormalizePath.
var (
	ErrClimbs      = errors.New("path climbs above the root")
	ErrNUL         = errors.New("path contains a NUL")
	ErrPercent     = errors.New("path contains an invalid percent sequence")
	ErrNotAbsolute = errors.New("path does not start with a slash")
)

// NormalizePath normalises a path.
func NormalizePath(path string) (normal string, dots bool, err error) { return path, false, nil }

// Diff is the difference of two tables.
type Diff struct {
	RoutesAdded           []string `json:"routes_added"`
	RoutesRemoved         []string `json:"routes_removed"`
	BackendsChanged       []string `json:"backends_changed"`
	CertsRotated          []string `json:"certs_rotated"`
	CertsAdded            []string `json:"certs_added"`
	CertsRemoved          []string `json:"certs_removed"`
	HostsAdded            []string `json:"hosts_added"`
	HostsRemoved          []string `json:"hosts_removed"`
	MirrorsAdded          []string `json:"mirrors_added"`
	MirrorsRemoved        []string `json:"mirrors_removed"`
	DefaultBackendChanged bool     `json:"default_backend_changed"`
	DefaultBackend        string   `json:"-"`
}

// Compare diffs.
func Compare(old, new *Table) Diff { return Diff{} }

// Summary is one line.
func (d Diff) Summary(from, to uint64) string { return "" }
