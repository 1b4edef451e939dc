package engine

// Failure describes an attempt that ended before any byte of a response.
type Failure struct {
	// Method is the request's.
	Method string
	// Reused is set when the attempt ran on a connection from the idle pool.
	Reused bool
	// Wrote is set when at least one byte of the request was handed to the
	// kernel.
	Wrote bool
	// BodyTaken is set when a byte of the request body was consumed: it cannot
	// be sent again.
	BodyTaken bool
	// Closed is set when the backend closed or reset the connection, not when
	// it was silent or answered garbage.
	Closed bool
	// Retried is set when the request was already repeated once.
	Retried bool
}

// MayRetry reports whether the request may be sent once more, on a new
// connection: a kept-alive connection that its server had closed by the time we
// used it says nothing about the request, as long as sending it twice cannot do
// harm (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
func (f Failure) MayRetry() bool {
	if !f.Reused || !f.Closed || f.Retried || f.BodyTaken {
		return false
	}
	return !f.Wrote || Idempotent(f.Method)
}

// Idempotent reports whether sending the method twice means the same as once
// (RFC 9110 §9.2.2).
func Idempotent(method string) bool {
	switch method {
	case "GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE":
		return true
	}
	return false
}
