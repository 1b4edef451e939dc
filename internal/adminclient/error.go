package adminclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/plain"
)

// Error says why a daemon could not be asked, in one line that is fit for a
// terminal.
type Error struct {
	// Target and Path are what was asked.
	Target Target
	Path   string
	// Status is that of the answer, 0 where there was none or where it was 200.
	Status int
	// Told is set when the daemon itself said why, in the words of the interface; a
	// proxy on the way does not.
	Told bool
	// Said is what it said, zero without Told.
	Said admin.Failure
	// Reason is in words, without target and path.
	Reason string
}

func (e *Error) Error() string { return e.Target.Name + e.Path + ": " + e.Reason }

func (c *Client) fault(path, reason string) error {
	return &Error{Target: c.options.Target, Path: path, Reason: plain.Clean(reason)}
}

// foreign is the error for an answer that is not one of the interface.
func (c *Client) foreign(path string, err error) error {
	return c.fault(path, "this is not the answer of a ramjet-ingressd admin port: "+short(err.Error()))
}

// maxReason bounds what a stranger may say, in columns.
const maxReason = 300

// short is what a stranger says, cleaned before it is cut: an escape sequence takes no
// columns.
func short(text string) string { return plain.Cut(plain.Clean(text), maxReason) }

// failed is the error of an exchange that did not come to its end.
func (c *Client) failed(path string, err error) error {
	var name *net.DNSError
	var timeout net.Error
	var reason string
	switch {
	case errors.Is(err, context.Canceled):
		reason = "given up"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		reason = fmt.Sprintf("no answer within %v", c.options.Timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		reason = "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		reason = "the connection broke off"
	case errors.As(err, &name):
		reason = "the host name leads nowhere"
	default:
		var wrapped *url.Error
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		reason = short(err.Error())
	}
	return c.fault(path, reason)
}

// refused is the error of an answer with another status than 200. What the interface
// says of it is passed on.
func (c *Client) refused(path string, response *http.Response) error {
	reason := fmt.Sprint(response.StatusCode)
	if text := http.StatusText(response.StatusCode); text != "" {
		reason += " " + text
	}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxPin)) // what came is all there is to tell
	var said admin.Failure
	told := json.Unmarshal(body, &said) == nil && said.Error != ""
	if !told {
		said = admin.Failure{}
	} else {
		reason += ": " + short(said.Error)
	}
	return &Error{Target: c.options.Target, Path: path, Status: response.StatusCode, Told: told, Said: said, Reason: reason}
}
