//go:build endurance

package endurance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// trickle writes a few bytes at a time. It reports whether it came to the end.
func (v *visitor) trickle(ctx context.Context, bytes []byte, step int, pause time.Duration) bool {
	for len(bytes) > 0 {
		n := min(step, len(bytes))
		if _, err := v.conn.Write(bytes[:n]); err != nil {
			return false
		}
		if bytes = bytes[n:]; len(bytes) > 0 && !wait(ctx, pause) {
			return false
		}
	}
	return true
}

// fresh replaces the connection by a new one.
func (v *visitor) fresh() (err error) {
	v.leave()
	if v.conn, err = v.dialer(); err == nil {
		v.conn.SetDeadline(time.Now().Add(patience))
	}
	return err
}

// slowHead sends a head byte by byte, for some seconds. Ten are allowed, so on a machine
// that is slow itself the rest of it is sent at once.
func slowHead(v *visitor) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := v.fresh(); err != nil {
			return err
		}
		defer v.leave()
		id, q := v.id(), query{host: "steady.test", size: 200, from: steadyService}
		bytes := q.head(id)
		for begun := time.Now(); len(bytes) > 1 && time.Since(begun) < 4*time.Second; bytes = bytes[1:] {
			if !v.trickle(ctx, bytes[:1], 1, 0) || !wait(ctx, 40*time.Millisecond) {
				return givenUp(ctx)
			}
		}
		if !v.trickle(ctx, bytes, len(bytes), 0) {
			return givenUp(ctx)
		}
		_, err := v.conn.answer(q, id)
		return err
	}
}

// givenUp is what a turn ends with that could not be finished: nothing, if it is the end
// of the whole.
func givenUp(ctx context.Context) error {
	if ctx.Err() != nil {
		return errUncounted
	}
	return errors.New("the connection ended while it was written to")
}

// slowBody sends the bytes of a body one by one, one a second at the slowest.
func slowBody(v *visitor) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := v.fresh(); err != nil {
			return err
		}
		defer v.leave()
		v.conn.SetDeadline(time.Now().Add(4 * patience))
		id, q := v.id(), query{method: http.MethodPost, host: "steady.test", body: v.text(20, 20), size: 200, from: steadyService}
		defer v.runs.forget(id)
		if _, err := v.conn.Write(q.head(id)); err != nil {
			return err
		}
		if !v.trickle(ctx, q.body, 1, time.Duration(v.some(50, 1000))*time.Millisecond) {
			return givenUp(ctx)
		}
		_, err := v.conn.answer(q, id)
		return err
	}
}

// slowReader takes a large answer in small bites.
func slowReader(v *visitor) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := net.DialTimeout("tcp", v.at.HTTP, patience)
		if err != nil {
			return err
		}
		c.(*net.TCPConn).SetReadBuffer(16 << 10)
		c.SetDeadline(time.Now().Add(8 * patience))
		v.conn = newWire(sipping{c, ctx})
		defer v.leave()
		return v.ask(query{host: "steady.test", size: 1 << 20, from: steadyService})
	}
}

// sipping is a connection that is read from slowly.
type sipping struct {
	net.Conn
	ctx context.Context
}

// SetDeadline does nothing: the connection has a deadline of its own.
func (sipping) SetDeadline(time.Time) error { return nil }

func (s sipping) Read(b []byte) (int, error) {
	wait(s.ctx, 10*time.Millisecond)
	return s.Conn.Read(b[:min(len(b), 16<<10)])
}

// tooSlow never finishes its head, and wants to be told so, or closed.
func tooSlow(v *visitor) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := v.fresh(); err != nil {
			return err
		}
		defer v.leave()
		begun := time.Now()
		head := fmt.Sprintf("GET / HTTP/1.1\r\nHost: steady.test\r\nX-Long: %040d", 0)
		conn := v.conn
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		defer stop()
		go func() { // one byte a second, until it is closed
			for n := range head {
				if _, err := io.WriteString(conn, head[n:n+1]); err != nil || !wait(ctx, time.Second) {
					return
				}
			}
		}()
		_, err := v.conn.answer(query{host: "steady.test", status: http.StatusRequestTimeout}, "")
		took := time.Since(begun)
		switch {
		case ctx.Err() != nil:
			return errUncounted
		case took < 8*time.Second || took > 40*time.Second:
			return fmt.Errorf("a head that takes for ever was waited for during %s: %w", took, err)
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || ended(err):
			return nil
		}
		return err
	}
}

// leftIdle asks once, and waits until the daemon has enough of it.
func leftIdle(v *visitor) func(context.Context) error {
	return func(ctx context.Context) error {
		if v.one(2) {
			v.dialer = v.dialTLS
		} else {
			v.dialer = v.dial
		}
		v.leave()
		if err := v.ask(query{host: "main.test", size: 100, from: steadyService}); err != nil {
			return err
		}
		if v.conn == nil {
			return errors.New("the connection is not kept")
		}
		defer v.leave()
		v.conn.SetDeadline(time.Now().Add(2 * patience))
		conn := v.conn
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		defer stop()
		begun := time.Now()
		b, err := v.conn.in.ReadByte()
		took := time.Since(begun)
		switch {
		case ctx.Err() != nil:
			return errUncounted
		case err != io.EOF || took < 15*time.Second || took > 50*time.Second:
			return fmt.Errorf("a quiet connection ended after %s with %q, %w", took, b, err)
		}
		return nil
	}
}

// abandoned opens a connection, says little or nothing, and leaves.
func abandoned(v *visitor) func(context.Context) error {
	said := []string{"", "G", "GET / HTTP/1.1\r\nHost: steady", "POST / HTTP/1.1\r\nHost: steady.test\r\nContent-Length: 100\r\n\r\nhalf", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PRI * HTTP/2.0\r\n\r\nSM"}
	return func(ctx context.Context) error {
		to := v.at.HTTP
		if v.one(3) {
			to = v.at.HTTPS
		}
		c, err := net.DialTimeout("tcp", to, patience)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, said[v.chance.IntN(len(said))]); err != nil {
			return err
		}
		wait(ctx, time.Duration(v.some(0, 20))*time.Millisecond)
		if v.one(2) {
			c.(*net.TCPConn).SetLinger(0)
		}
		return nil
	}
}

// gone asks for something, and leaves before it has it.
func gone(v *visitor) func(context.Context) error {
	return func(ctx context.Context) error {
		if v.one(3) {
			v.dialer = v.dialTLS
		} else {
			v.dialer = v.dial
		}
		if err := v.fresh(); err != nil {
			return err
		}
		defer v.leave()
		q := query{host: "main.test", size: 1 << 20}
		var begun []byte // of a body
		switch v.some(0, 2) {
		case 0: // before there is an answer
			q.target = "/?do=slow"
		case 1: // in the middle of the answer
		case 2: // in the middle of the body
			q.method, q.fields = http.MethodPost, "Content-Length: 1000000\r\n"
			begun = v.text(0, 64<<10)
		}
		if _, err := v.conn.Write(append(q.head(v.id()), begun...)); err != nil {
			return err
		}
		wait(ctx, time.Duration(v.some(0, 40))*time.Millisecond)
		if c, ok := v.conn.Conn.(*net.TCPConn); ok && v.one(2) {
			c.SetLinger(0)
		}
		return nil
	}
}
