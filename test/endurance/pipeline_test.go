//go:build endurance

package endurance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// pipelined sends 2 to 16 requests without waiting for an answer, in pieces that have
// nothing to do with where they end, and wants the answers in their order. Now and then
// the last one is none, which does not harm those before it.
func pipelined(v *visitor) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		if v.conn == nil || v.one(10) {
			v.dialer = v.dial
			if v.one(3) {
				v.dialer = v.dialTLS
			}
			if err := v.fresh(); err != nil {
				return err
			}
		}
		v.conn.SetDeadline(time.Now().Add(patience))
		defer func() {
			if err != nil {
				v.leave()
			}
		}()
		var all []query
		var ids []string
		var text []byte
		for range v.some(2, 16) {
			q, id := v.anything(), v.id()
			all, ids, text = append(all, q), append(ids, id), append(text, q.bytes(id)...)
		}
		bad := v.one(8)
		if bad {
			head := malformedHeads[v.chance.IntN(len(malformedHeads))]
			text = append(text, strings.ReplaceAll(head, "ID", v.id())...)
		}
		conn, sent := v.conn, make(chan error, 1)
		step := v.some(1000, 1<<20)
		go func() { // while answers come: all of both fits nowhere
			for len(text) > 0 {
				n := min(step, len(text))
				if _, err := conn.Write(text[:n]); err != nil {
					sent <- err
					return
				}
				text = text[n:]
			}
			sent <- nil
		}()
		for n, q := range all {
			last, err := conn.answer(q, ids[n])
			if err == nil && last {
				err = errors.New("the connection ends")
			}
			if ran := v.runs.forget(ids[n]); err == nil && q.body != nil && q.from != "" && ran != 1 {
				err = fmt.Errorf("%s was served %d times", ids[n], ran)
			}
			if err != nil {
				conn.Close()
				return errors.Join(fmt.Errorf("answer %d of %d: %w", n+1, len(all), err), <-sent)
			}
		}
		if bad {
			if err := conn.refused(""); err != nil {
				return fmt.Errorf("after %d requests: %w", len(all), err)
			}
			v.leave()
		}
		if err := <-sent; err != nil && !bad {
			return fmt.Errorf("send: %w", err)
		}
		return nil
	}
}

// anything is a request of any kind whose answer is certain.
func (v *visitor) anything() query {
	q := query{host: []string{"steady.test", "main.test", "refusing.test"}[v.some(0, 2)], from: steadyService, size: v.some(0, 2000)}
	if q.host == "refusing.test" {
		q.from = refusingService
	}
	switch v.some(0, 6) {
	case 0:
		q.method = http.MethodHead
	case 1:
		q.target = "/?chunked"
	case 2:
		q.size = v.some(0, 64<<10)
	case 3:
		q.method, q.body = http.MethodPost, v.text(1, 32<<10)
	case 4:
		q.method, q.body, q.chunked = http.MethodPost, v.text(1, 32<<10), true
	case 5:
		q = query{host: "nobody.test", status: http.StatusNotFound}
	}
	return q
}
