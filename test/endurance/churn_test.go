//go:build endurance

package endurance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"
)

// rolling asks a Service whose backends are replaced. Nothing may fail.
func rolling(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		q := query{host: "roll.test", size: v.some(0, 8<<10), from: rollService}
		if v.one(3) {
			q.method, q.body = http.MethodPost, v.text(1, 32<<10)
		}
		return v.ask(q)
	}
}

// crashing asks a Service whose backends die. What was under way at that moment may
// fail, with 502 or a body that breaks off; nothing else may.
func crashing(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		q := query{host: "crash.test", size: v.some(0, 64<<10), from: crashService}
		if v.one(4) {
			q.method, q.body = http.MethodPost, v.text(1, 32<<10)
		}
		begun := time.Now()
		err := v.ask(q)
		if err != nil && v.crashes.during(begun) && explained(err) {
			return excused{err}
		}
		return err
	}
}

// explained reports whether an error is one of those that a backend leads to that
// went away: 502, or an answer without its end.
func explained(err error) bool {
	var w wrong
	var b broken
	return errors.As(err, &b) || errors.As(err, &w) && w.status == http.StatusBadGateway
}

// quiet asks a backend that closes what is quiet for a second, about once a second.
// A request that may be repeated never fails. One that may not is answered 502 when
// its connection was closed under way, and was not served then.
func quiet(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		name := fmt.Sprint("quiet", v.number)
		q := query{host: name + ".test", size: 100, from: name}
		if v.one(2) {
			return v.ask(q)
		}
		q.method, q.body = http.MethodPost, v.text(1, 4<<10)
		id := v.id()
		err := v.askAs(q, id)
		ran := v.runs.forget(id)
		switch {
		case err == nil && ran == 1:
			return nil
		case err != nil && ran == 0 && explained(err):
			return excused{err}
		}
		return fmt.Errorf("served %d times: %w", ran, err)
	}
}

// faulty asks a backend to misbehave, and wants exactly what follows from that.
func faulty(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		q := query{host: "faulty.test", size: v.some(2, 32<<10), from: faultyService}
		switch v.some(0, 4) {
		case 0: // a reset in place of an answer
			q.target, q.from, q.status = "/?do=reset", "", http.StatusBadGateway
		case 1: // half an answer, or none if the reset overtakes it
			q.target = "/?do=cut"
			err := v.ask(q)
			if explained(err) {
				return nil
			}
			return errors.Join(errors.New("an answer that breaks off ended well"), err)
		case 2: // the end of the connection, without a word
			q.target = "/?do=bye"
		case 3: // an answer while the body is being sent
			q.method, q.target, q.body = http.MethodPost, "/?do=early", v.text(1<<10, 256<<10)
			q.status = http.StatusRequestEntityTooLarge
			// Connections to the faulty ones end at any moment, and a POST is sent once.
			q.host, q.from = "steady.test", steadyService
			err := v.ask(q)
			v.leave() // what of the body was still to come is nobody's
			return err
		case 4:
			q.target = "/?do=slow"
		}
		return v.ask(q)
	}
}

// refused sends what is no request.
func refused(v *visitor) func(context.Context) error {
	return func(context.Context) (err error) {
		v.leave()
		if v.conn, err = v.dialer(); err != nil {
			return err
		}
		defer v.leave()
		v.conn.SetDeadline(time.Now().Add(patience))
		bad := []string{
			"GET / HTTP/1.1\r\nHost: steady.test\r\nHost: main.test\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: steady.test\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
			"GET / HTTP/1.1\r\nHost : steady.test\r\n\r\n",
			"GET /../.. HTTP/1.1\r\nHost: steady.test\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: steady.test\r\nTransfer-Encoding: chunked\r\n\r\n3;\nabc\r\n0\r\n\r\n",
		}
		if _, err := v.conn.Write([]byte(bad[v.chance.IntN(len(bad))])); err != nil {
			return err
		}
		_, err = v.conn.answer(query{host: "steady.test", status: http.StatusBadRequest}, v.id())
		return err
	}
}

// ended reports whether an error is that of a connection which the other side closed.
func ended(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
