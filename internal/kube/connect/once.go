package connect

import (
	"errors"
	"net"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// once makes a timeout of a connection the end of a request. Left to itself the
// library repeats a watch ten times after one and tells nobody: with an API server
// that accepts connections and says nothing, those are two minutes without a line in
// the log. Whoever reads here tries again by themselves, and says so.
type once struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := o.RoundTripper.RoundTrip(r)
	var slow net.Error
	if err != nil && r.Context().Err() == nil && errors.As(err, &slow) && slow.Timeout() {
		err = final{err}
	}
	return response, err
}

// WrappedRoundTripper lets the library find what it made itself.
func (o once) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }

// CloseIdleConnections lets go of the connections of the transport inside.
func (o once) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(o.RoundTripper) }

// final is an error in words only: nobody can ask it whether it was a timeout.
type final struct{ cause error }

// Error implements error.
func (f final) Error() string { return f.cause.Error() }
