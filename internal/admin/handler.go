// Package admin is the HTTP interface for those who run the daemon, on a port of
// its own: probes, metrics, the history of generations, the routes with their
// numbers, and the emergency brake.
//
// Guarantees: reading is never gated and takes no lock that the data plane or the
// single writer takes; the two verbs that change something need the token where one
// is set, are refused to pages of another origin, and change nothing when they are
// refused; the number of metric series does not depend on the configuration; bodies,
// headers and waiting are bounded.
//
// The package never knows how a generation is compiled or published, files of routes,
// or Kubernetes. The one thing it changes is what the Controller changes for it.
package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"ramjet.dev/ingress/internal/control"
	"ramjet.dev/ingress/internal/engine"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// Controller is what the interface needs of the single writer: *control.Control.
type Controller interface {
	// State is the snapshot after the last change; never nil, never waits.
	State() *control.State
	// Pin puts a kept generation on the wire and holds it there.
	Pin(ctx context.Context, number uint64) (*control.State, error)
	// Release lets the newest generation through again.
	Release(ctx context.Context) (*control.State, error)
}

// Options says what the interface shows and who may change something.
type Options struct {
	// Controller is asked for the state and told to pin and release. Required.
	Controller Controller
	// Metrics are the numbers of the data plane. Required.
	Metrics *engine.Metrics
	// AccessLogDropped counts the lines that the access log lost. nil = there is none.
	AccessLogDropped func() uint64
	// Numbers are further metrics. nil = none.
	Numbers []Number
	// Token must come with POST and DELETE. "" = everybody may.
	Token string
	// Version is that of the program, for build_info.
	Version string
}

// NewHandler returns the interface. It is safe for concurrent use and holds nothing
// that must be closed.
func NewHandler(o Options) http.Handler {
	a := &api{controller: o.Controller, token: newToken(o.Token), crossOrigin: http.NewCrossOriginProtection()}
	metrics := metricsHandler(o)
	a.resources = map[string]resource{
		PathHealth:      {{methodsOfReading, a.health}},
		PathReady:       {{methodsOfReading, a.ready}},
		PathMetrics:     {{methodsOfReading, metrics.ServeHTTP}},
		PathGenerations: {{methodsOfReading, a.generations}},
		PathRoutes:      {{methodsOfReading, a.routes}},
		PathRollback:    {{[]string{http.MethodPost}, a.pin}, {[]string{http.MethodDelete}, a.release}},
	}
	return a
}

type api struct {
	controller  Controller
	token       token
	crossOrigin *http.CrossOriginProtection
	resources   map[string]resource
}

// resource is what can be done with a path.
type resource []operation

type operation struct {
	methods []string
	do      http.HandlerFunc
}

var methodsOfReading = []string{http.MethodGet, http.MethodHead}

// allowed is the value of Allow (RFC 9110, section 10.2.1).
func (r resource) allowed() string {
	var all []string
	for _, op := range r {
		all = append(all, op.methods...)
	}
	return strings.Join(all, ", ")
}

// ServeHTTP answers one request. The order of the checks is: who asks, what for, how
// much; so somebody without the token learns nothing but that it is needed.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if changes(r) && !a.admit(w, r) {
		return
	}
	res, ok := a.resources[r.URL.Path]
	if !ok {
		fail(w, http.StatusNotFound, Failure{Error: "there is nothing at this path: see " + strings.Join(a.paths(), ", ")})
		return
	}
	i := slices.IndexFunc(res, func(op operation) bool { return slices.Contains(op.methods, r.Method) })
	if i < 0 {
		w.Header().Set("Allow", res.allowed())
		fail(w, http.StatusMethodNotAllowed, Failure{Error: "this path takes " + res.allowed() + " only"})
		return
	}
	if r.ContentLength > maxBody {
		tooLarge(w)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	res[i].do(w, r)
}

// changes reports whether a request could change something.
func changes(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/admin/") && (r.Method == http.MethodPost || r.Method == http.MethodDelete)
}

// admit checks where a changing request comes from and that it has the token. A
// browser sends what a page of anybody asks for, so a page of another origin is
// refused even where no token is set.
func (a *api) admit(w http.ResponseWriter, r *http.Request) bool {
	if err := a.crossOrigin.Check(r); err != nil {
		fail(w, http.StatusForbidden, Failure{Error: "a web page of another origin may not do this"})
		return false
	}
	if !a.token.admits(r.Header) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		fail(w, http.StatusUnauthorized, Failure{Error: "this needs the admin token: send it as Authorization: Bearer <token>"})
		return false
	}
	return true
}

func (a *api) paths() []string {
	var all []string
	for path := range a.resources {
		all = append(all, path)
	}
	slices.Sort(all)
	return all
}
