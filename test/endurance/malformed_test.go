//go:build endurance

package endurance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// malformedHeads are no requests. ID stands for the name of the request.
var malformedHeads = []string{
	"GET / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nHost: main.test\r\n\r\n",
	"GET / HTTP/1.1\r\nX-Id: ID\r\n\r\n",
	"GET / HTTP/1.1\r\nHost : steady.test\r\nX-Id: ID\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\n folded\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nX-A: a\rb\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nX-A: a\x00b\r\n\r\n",
	"GET / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\n: nameless\r\n\r\n",
	"GET /../.. HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\n\r\n",
	"GET /%zz HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\n\r\n",
	"GET / HTTP/1.1 \r\nHost: steady.test\r\nX-Id: ID\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
	"POST / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
	"POST / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nContent-Length: +3\r\n\r\nabc",
	"POST / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
}

// malformedBodies are what no chunked body is: at its first chunk, between chunks, at
// its end.
var malformedBodies = []string{
	"Z\r\nabc\r\n0\r\n\r\n",
	"\r\nabc\r\n0\r\n\r\n",
	"-3\r\nabc\r\n0\r\n\r\n",
	"0x3\r\nabc\r\n0\r\n\r\n",
	" 3\r\nabc\r\n0\r\n\r\n",
	"3;\nabc\r\n0\r\n\r\n",
	"3\nabc\r\n0\r\n\r\n",
	"3\r\nabcd\r\n0\r\n\r\n",
	"fffffffffffffffff\r\nabc\r\n0\r\n\r\n",
	"3\r\nabc\r\nZ\r\nabc\r\n0\r\n\r\n",
	"3\r\nabc\r\n3\r\nabcXX0\r\n\r\n",
	"3\r\nabc\r\n0\r\nX-A\r\n\r\n",
	"3\r\nabc\r\n0\r\nX-A : b\r\n\r\n",
}

// malformed sends what is no request, at once or in two pieces, maybe after a good one
// on the same connection. It wants 400 and the end of the connection, and no backend
// to take it for a request that is whole.
func malformed(v *visitor) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if v.one(3) {
			v.dialer = v.dialTLS
		} else {
			v.dialer = v.dial
		}
		if err := v.fresh(); err != nil {
			return err
		}
		defer v.leave()
		if v.one(2) {
			if err := v.ask(query{host: "main.test", size: v.some(0, 1000), from: steadyService}); err != nil {
				return err
			}
		}
		id := v.id()
		text := malformedHeads[v.chance.IntN(len(malformedHeads))]
		if v.one(2) {
			text = "POST / HTTP/1.1\r\nHost: steady.test\r\nX-Id: ID\r\nX-Sum: 0\r\nTransfer-Encoding: chunked\r\n\r\n" +
				malformedBodies[v.chance.IntN(len(malformedBodies))]
		}
		text = strings.ReplaceAll(text, "ID", id)
		cut := len(text)
		if v.one(2) {
			cut = v.some(1, len(text))
		}
		if _, err := io.WriteString(v.conn, text[:cut]); err != nil {
			return err
		}
		if cut < len(text) {
			wait(ctx, time.Duration(v.some(0, 5))*time.Millisecond)
			// It may be known already that this is wrong.
			if _, err := io.WriteString(v.conn, text[cut:]); err != nil && !ended(err) {
				return err
			}
		}
		if err := v.conn.refused(id); err != nil {
			return fmt.Errorf("%w, to %q, cut at %d", err, text, cut)
		}
		if ran := v.runs.forget(id); ran > 0 {
			return fmt.Errorf("a malformed request was served: %q", text)
		}
		return nil
	}
}

// refused wants 400 and the end of the connection.
func (c *wire) refused(id string) error {
	if _, err := c.answer(query{status: http.StatusBadRequest}, id); err != nil {
		return err
	}
	if b, err := c.in.ReadByte(); !errors.Is(err, io.EOF) && !ended(err) {
		return fmt.Errorf("after 400: %q, %w", b, err)
	}
	return nil
}
