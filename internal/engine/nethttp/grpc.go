package nethttp

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"ramjet.dev/ingress/internal/http1"
)

// The status codes of gRPC that a stream's end can mean.
const (
	grpcCancelled         = "1"
	grpcDeadlineExceeded  = "4"
	grpcPermissionDenied  = "7"
	grpcResourceExhausted = "8"
	grpcInternal          = "13"
	grpcUnavailable       = "14"

	grpcDeadlineMessage = "the deadline of the call has passed"
)

// h2Reset has the shape of net/http's error for a stream that the peer reset, which
// errors.As fills in.
type h2Reset struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error says the code.
func (e h2Reset) Error() string { return fmt.Sprintf("the stream was reset with code %d", e.Code) }

// resetCode is the code of an error that is a reset by the peer; ok says that it is one.
func resetCode(err error) (code uint32, ok bool) {
	var reset h2Reset
	ok = errors.As(err, &reset)
	return reset.Code, ok
}

// Error codes of HTTP/2 (RFC 9113 section 7).
const (
	codeRefusedStream      = 0x7
	codeCancel             = 0x8
	codeEnhanceYourCalm    = 0xb
	codeInadequateSecurity = 0xc
)

// grpcBroken are the trailers that tell a gRPC client that its call broke off after
// the head of the response. A backend's reset means what it would have meant to the
// client itself ("Errors" in gRPC over HTTP/2); everything else is the way to the
// backend.
func (s *stream) grpcBroken(err error) []http1.Field {
	status, message := grpcUnavailable, "the backend broke off its response"
	if code, ok := resetCode(err); ok && code != codeRefusedStream {
		message = "the backend reset the stream"
		switch {
		case s.deadlineOver(err):
			status, message = grpcDeadlineExceeded, grpcDeadlineMessage
		case code == codeCancel:
			status = grpcCancelled
		case code == codeEnhanceYourCalm:
			status = grpcResourceExhausted
		case code == codeInadequateSecurity:
			status = grpcPermissionDenied
		default:
			status = grpcInternal
		}
	}
	return []http1.Field{
		{Name: []byte("Grpc-Status"), Value: []byte(status)},
		{Name: []byte("Grpc-Message"), Value: []byte(message)},
	}
}

// deadlineOver reports whether the backend cancelled a call whose deadline has
// passed: servers and clients of gRPC keep the time each for itself, and the
// server may be the first to notice.
func (s *stream) deadlineOver(err error) bool {
	code, ok := resetCode(err)
	if !ok || code != codeCancel || !isGRPC(s.x.r.Header["Content-Type"]) {
		return false
	}
	limit, ok := grpcTimeout(s.x.r.Header.Get("Grpc-Timeout"))
	return ok && time.Since(s.x.rec.Start) >= limit
}

// deadlineExceeded answers such a call, as the client itself would have: with a
// head that ends the stream.
func (s *stream) deadlineExceeded() {
	x := s.x
	x.rec.Status = http.StatusOK
	h := x.w.Header()
	h["Content-Type"] = []string{"application/grpc"}
	h["Content-Length"] = nil
	h["Grpc-Status"] = []string{grpcDeadlineExceeded}
	h["Grpc-Message"] = []string{grpcDeadlineMessage}
	x.w.WriteHeader(http.StatusOK)
}

// grpcTimeout reads the value of a Grpc-Timeout field: up to eight digits and a unit.
func grpcTimeout(value string) (d time.Duration, ok bool) {
	last := len(value) - 1
	if last < 1 || last > 8 {
		return 0, false
	}
	n, err := strconv.ParseUint(value[:last], 10, 32)
	unit, known := grpcUnits[value[last]]
	return time.Duration(n) * unit, err == nil && known
}

var grpcUnits = map[byte]time.Duration{
	'H': time.Hour, 'M': time.Minute, 'S': time.Second,
	'm': time.Millisecond, 'u': time.Microsecond, 'n': time.Nanosecond,
}
