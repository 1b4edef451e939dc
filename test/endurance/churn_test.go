//go:build endurance

package endurance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
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

// crashing asks a Service whose backends die. What one had begun to answer, or was
// asked for on a connection that it had just ended, may fail as far as the rules of
// repeating allow it; nothing else may.
func crashing(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		q := query{host: "crash.test", target: "/?a", size: v.some(0, 64<<10), from: crashService}
		switch v.some(0, 7) {
		case 0:
			q.method, q.body = http.MethodPost, []byte{}
		case 1, 2:
			q.method, q.body, q.chunked = http.MethodPost, v.text(1, 32<<10), v.one(2)
		case 3:
			q.method = http.MethodDelete
		}
		switch v.some(0, 5) {
		case 0:
			q.target = "/?do=slow"
		case 1:
			q.target = "/?do=drip"
		}
		if v.one(3) {
			q.target += "&chunked"
		}
		return v.askMortals(q)
	}
}

// quiet asks a backend that closes what is quiet for a second, about once a second.
// A request that may be repeated never fails. One that may not is answered 502 when
// its connection was closed under way, and was not served then.
func quiet(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		name := fmt.Sprint("quiet", v.number)
		q := query{host: name + ".test", size: 100, from: name}
		if v.one(2) {
			q.method, q.body = http.MethodPost, v.text(1, 4<<10)
		}
		return v.askMortals(q)
	}
}

// refusing asks a Service with an endpoint that refuses connections. Others are
// there, so nobody notices, whatever is asked for.
func refusing(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		q := query{host: "refusing.test", size: v.some(0, 8<<10), from: refusingService}
		if v.one(2) {
			q.method, q.body, q.chunked = http.MethodPost, v.text(1, 32<<10), v.one(2)
		}
		return v.ask(q)
	}
}

// down asks a Service whose endpoints all refuse.
func down(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		q := query{host: "down.test", status: http.StatusBadGateway}
		if v.one(3) {
			q.method, q.body = http.MethodPost, v.text(1, 1<<10)
		}
		return v.ask(q)
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

// ended reports whether an error is that of a connection which the other side closed.
func ended(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
