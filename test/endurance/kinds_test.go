//go:build endurance

package endurance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"time"
)

// kinds are all kinds of load, with 2,000 requests a second in all.
var kinds = []kind{
	{"get", 24, 30 * time.Millisecond, get(128)},
	{"get 64 KiB", 4, 50 * time.Millisecond, get(64 << 10)},
	{"post", 8, 50 * time.Millisecond, post(false)},
	{"post chunked", 4, 40 * time.Millisecond, post(true)},
	{"tls", 12, 40 * time.Millisecond, overTLS},
	{"handshake", 2, 100 * time.Millisecond, handshake},
	{"new", 2, 40 * time.Millisecond, newConnection},
	{"h2", 8, 40 * time.Millisecond, http2("main.test", steadyService)},
	{"h2 to h2c", 3, 60 * time.Millisecond, http2("h2c.test", h2cService)},
	{"h1 to h2c", 2, 100 * time.Millisecond, toH2C},
	{"tunnel", 16, 250 * time.Millisecond, tunnel},
	{"mirror", 4, 50 * time.Millisecond, mirrored},
	{"canary", 4, 50 * time.Millisecond, canaried},
	{"guest", 6, 50 * time.Millisecond, guestHost},
	{"roll", 6, 50 * time.Millisecond, rolling},
	{"crash", 6, 50 * time.Millisecond, crashing},
	{"quiet", quiets, time.Second, quiet},
	{"refusing", 2, 50 * time.Millisecond, refusing},
	{"down", 1, 100 * time.Millisecond, down},
	{"pipelined", 4, 200 * time.Millisecond, pipelined},
	{"faulty", 4, 100 * time.Millisecond, faulty},
	{"miss", 1, 50 * time.Millisecond, miss},
	{"malformed", 3, 150 * time.Millisecond, malformed},
	{"slow head", 4, time.Second, slowHead},
	{"slow body", 4, time.Second, slowBody},
	{"slow reader", 2, time.Second, slowReader},
	{"too slow", 4, time.Second, tooSlow},
	{"left idle", 4, time.Second, leftIdle},
	{"abandoned", 4, 80 * time.Millisecond, abandoned},
	{"gone", 4, 100 * time.Millisecond, gone},
}

// get asks on one connection, which is kept.
func get(size int) func(*visitor) func(context.Context) error {
	return func(v *visitor) func(context.Context) error {
		return func(context.Context) error {
			q := query{host: "steady.test", size: size, from: steadyService}
			switch v.some(0, 9) {
			case 0:
				q.method = http.MethodHead
			case 1:
				q.target = "/?chunked"
			}
			return v.ask(q)
		}
	}
}

// post sends bodies and wants each to arrive once.
func post(chunked bool) func(*visitor) func(context.Context) error {
	return func(v *visitor) func(context.Context) error {
		return func(context.Context) error {
			most := 4 << 10
			if v.one(4) {
				most = 128 << 10
			}
			return v.ask(query{method: http.MethodPost, host: "steady.test", body: v.text(1, most), chunked: chunked, size: v.some(0, 1000), from: steadyService})
		}
	}
}

func overTLS(v *visitor) func(context.Context) error {
	v.dialer = v.dialTLS
	return func(context.Context) error {
		if v.one(10) {
			return v.ask(query{method: http.MethodPost, host: "main.test", body: v.text(1, 64<<10), size: 100, from: steadyService})
		}
		return v.ask(query{host: "main.test", size: v.some(100, 10000), from: steadyService})
	}
}

// handshake wants each new connection to be shown a certificate that is not older
// than the newest one of which it is known that it is served.
func handshake(v *visitor) func(context.Context) error {
	v.dialer = v.dialTLS
	return func(context.Context) (err error) {
		v.leave()
		oldest, pins := v.serial.Load(), v.pins.Load()
		if v.conn, err = v.dialTLS(); err != nil {
			return err
		}
		shown := v.conn.serial()
		if shown < oldest && pins%2 == 0 && pins == v.pins.Load() {
			return fmt.Errorf("certificate number %d, want %d or newer", shown, oldest)
		}
		return v.ask(query{host: "main.test", size: 100, from: steadyService})
	}
}

func newConnection(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		v.leave()
		q := query{host: "steady.test", size: 100, from: steadyService}
		if v.one(2) {
			q.fields = "Connection: close\r\n"
		}
		return v.ask(q)
	}
}

// http2 asks over a connection that it shares with nobody, and makes a new one now
// and then.
func http2(host, service string) func(*visitor) func(context.Context) error {
	return func(v *visitor) func(context.Context) error {
		transport := &http.Transport{TLSClientConfig: v.tlsConfig(), ForceAttemptHTTP2: true}
		v.atEnd = transport.CloseIdleConnections
		return func(ctx context.Context) error {
			if v.one(300) {
				transport.CloseIdleConnections()
			}
			id, q := v.id(), query{host: host, size: v.some(0, 4000), from: service}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			var body io.Reader
			if v.one(4) {
				q.method, q.body = http.MethodPost, v.text(1, 32<<10)
				body = bytes.NewReader(q.body)
			}
			if v.one(4) {
				q.target = "/?chunked"
			}
			r, err := http.NewRequestWithContext(ctx, q.method, "https://"+v.at.HTTPS+q.path(), body)
			if err != nil {
				return err
			}
			r.Host = host
			r.Header.Set("X-Id", id)
			if body != nil {
				r.Header.Set("X-Sum", strconv.Itoa(int(crc32.ChecksumIEEE(q.body))))
			}
			a, err := transport.RoundTrip(r)
			if err != nil {
				return err
			}
			defer a.Body.Close()
			text, err := io.ReadAll(a.Body)
			if ran := v.runs.forget(id); body != nil && err == nil && ran != 1 {
				return fmt.Errorf("the request %s was served %d times", id, ran)
			}
			if a.ProtoMajor != 2 {
				return fmt.Errorf("the answer to %s is of %s", id, a.Proto)
			}
			return q.right(a, id, text, err)
		}
	}
}

func toH2C(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		if v.one(20) {
			v.leave()
		}
		if v.one(4) {
			return v.ask(query{method: http.MethodPost, host: "h2c.test", body: v.text(1, 32<<10), chunked: v.one(2), size: 100, from: h2cService})
		}
		return v.ask(query{host: "h2c.test", size: v.some(0, 10000), from: h2cService})
	}
}

// tunnel sends messages through an upgraded connection, which lives for minutes, and
// wants them back. No change may end it.
func tunnel(v *visitor) func(context.Context) error {
	rest := 0
	return func(context.Context) (err error) {
		if v.conn == nil {
			rest = v.some(100, 1500)
			if v.conn, err = v.dialer(); err != nil {
				return err
			}
			if err = v.upgrade(); err != nil {
				v.leave()
				return err
			}
		}
		v.conn.SetDeadline(time.Now().Add(patience))
		message := v.text(1, 8<<10)
		if _, err = v.conn.Write(message); err == nil {
			back := make([]byte, len(message))
			if _, err = io.ReadFull(v.conn.in, back); err == nil && !bytes.Equal(back, message) {
				err = errors.New("another message came back")
			}
		}
		if rest--; rest <= 0 || err != nil {
			defer v.leave()
			if err == nil { // the end crosses as well
				err = v.conn.Conn.(interface{ CloseWrite() error }).CloseWrite()
				if b, end := v.conn.in.ReadByte(); end != io.EOF {
					return fmt.Errorf("after the end of a tunnel: %q, %v, %v", b, end, err)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("a tunnel broke: %w", err)
		}
		return nil
	}
}

func (v *visitor) upgrade() error {
	v.conn.SetDeadline(time.Now().Add(patience))
	q := query{host: "steady.test", target: "/?do=tunnel", fields: "Connection: upgrade\r\nUpgrade: echo\r\n"}
	if _, err := v.conn.Write(q.head(v.id())); err != nil {
		return err
	}
	r, err := http.ReadResponse(v.conn.in, nil)
	if err == nil && r.StatusCode != http.StatusSwitchingProtocols {
		err = fmt.Errorf("no tunnel: %s", r.Status)
	}
	return err
}

func mirrored(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		if v.one(2) {
			return v.ask(query{method: http.MethodPost, host: "mirrored.test", body: v.text(1, 32<<10), chunked: v.one(2), size: 100, from: steadyService})
		}
		return v.ask(query{host: "mirrored.test", size: 100, from: steadyService})
	}
}

func canaried(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		q := query{host: "shared.test", size: 100, from: steadyService + "|" + canaryService}
		switch v.some(0, 3) {
		case 0:
			q.fields, q.from = "X-Canary: always\r\n", canaryService
		case 1:
			q.fields, q.from = "X-Canary: never\r\n", steadyService
		}
		return v.ask(q)
	}
}

// guestHost asks for a host that comes and goes. When nothing changed meanwhile, it
// is known what has to come.
func guestHost(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		n := v.chance.IntN(guests)
		g := &v.guests[n]
		before, there := g.epoch.Load(), g.there.Load()
		q := query{host: fmt.Sprintf("guest%d.test", n), size: 100, from: steadyService}
		if !there {
			q.from, q.status = "", http.StatusNotFound
		}
		err := v.ask(q)
		var w wrong
		if errors.As(err, &w) && (w.status == http.StatusOK || w.status == http.StatusNotFound) && (before%2 == 1 || g.epoch.Load() != before) {
			return nil
		}
		return err
	}
}

func miss(v *visitor) func(context.Context) error {
	return func(context.Context) error {
		return v.ask(query{host: "nobody.test", status: http.StatusNotFound})
	}
}
