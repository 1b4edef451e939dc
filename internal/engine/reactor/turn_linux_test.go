package reactor

import (
	"bytes"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/enginetest"
	"ramjet.dev/ingress/internal/generation"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// newOne is an engine with one loop.
func newOne(o engine.Options, live *generation.Live, pools *upstream.Pools, m *engine.Metrics, log *slog.Logger) enginetest.Engine {
	e, err := New(o, live, pools, m, log, 1)
	if err != nil {
		panic(err)
	}
	return e
}

// TestTurnIsBounded: however much there is to move, a connection moves a bounded amount of
// it in a turn.
func TestTurnIsBounded(t *testing.T) {
	const size = 32 << 20
	o := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
		_ = e.Raw("HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n")
		piece := strings.Repeat("x", 1<<20)
		for range size / len(piece) {
			if err := e.Raw(piece); err != nil {
				return err
			}
		}
		return nil
	})
	p := enginetest.Start(t, newOne, enginetest.Setup{Spec: o.Spec()})
	l := p.Engine.(*Engine).loops[0]
	var most atomic.Int64
	var last int64
	var over atomic.Bool
	var look func()
	look = func() { // once in each turn
		for _, s := range l.socks {
			if s == nil {
				continue
			}
			if c, ok := s.of.(*conn); ok && c.x != nil {
				now := c.x.rec.BytesOut
				most.Store(max(most.Load(), now-last))
				last = now
			}
		}
		if !over.Load() {
			l.post(look)
		}
	}
	l.post(look)
	c := p.Dial()
	c.Send("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if _, err := io.CopyN(io.Discard, c.In, size); err != nil {
		t.Fatal(err)
	}
	over.Store(true)
	if got := most.Load(); got == 0 || got > (moves+1)*large {
		t.Errorf("at most %d bytes were moved in a turn, want 1 to %d", got, (moves+1)*large)
	}
}

// TestRetryOnAnotherKeptConnection: a request that is repeated elsewhere is sent, although
// no event says that the other connection, which has idled, can be written to.
func TestRetryOnAnotherKeptConnection(t *testing.T) {
	var broken atomic.Bool
	origin := func(name string) *enginetest.Origin {
		return enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
			if broken.Load() && name == "a" {
				return enginetest.ErrClose
			}
			return e.Reply("200 OK", name)
		})
	}
	a, b := origin("a"), origin("b")
	p := enginetest.Start(t, newOne, enginetest.Setup{Spec: route.Spec{
		Backends: []route.BackendSpec{{Name: "up", Endpoints: []route.EndpointSpec{{Address: a.Address, Weight: 1}, {Address: b.Address, Weight: 1}}}},
		Routes:   []route.RouteSpec{{Path: "/", PathType: route.Prefix, Backend: "up"}},
	}})
	c := p.Dial()
	for seen := map[string]bool{}; len(seen) < 2; {
		seen[c.Do("GET", getRequest).Body] = true
	}
	broken.Store(true)
	// Nobody listens behind a, and connecting to it fails at once.
	inspect(p, func(l *loop) { l.pools[a.Address].to = netip.MustParseAddrPort("255.255.255.255:1") })
	for range 4 {
		if got := c.Do("GET", getRequest); got.Status != 200 || got.Body != "b" {
			t.Fatalf("got %+v", got)
		}
	}
}

// TestTakeLeavesAloneWhatHasNews: an idle connection that something has happened to, of
// which it has not been told yet, is not lent.
func TestTakeLeavesAloneWhatHasNews(t *testing.T) {
	p := enginetest.Start(t, newOne, enginetest.Setup{Spec: enginetest.NewOrigin(t, enginetest.Text("ok")).Spec()})
	p.Dial().Do("GET", getRequest)
	inspect(p, func(l *loop) {
		for _, pool := range l.pools {
			u := pool.idle[0]
			for _, news := range []*bool{&u.readable, &u.hup} {
				*news = true
				if pool.take() != nil {
					t.Error("a connection with news was lent")
				}
				*news = false
			}
			if pool.take() != u {
				t.Error("the idle connection was not lent")
			}
			pool.put(u)
		}
	})
}

// TestQuietHoldsLittle: what streams, uploads and tunnels need while bytes flow is given
// back when they pause.
func TestQuietHoldsLittle(t *testing.T) {
	burst := strings.Repeat("x", 100<<10)
	o := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
		switch e.Target() {
		case "/tunnel":
			_ = e.Raw("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			_, _ = io.Copy(e.Out, e.In)
			return enginetest.ErrClose
		case "/down":
			_ = e.Raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n19000\r\n" + burst + "\r\n")
			return e.Gone()
		}
		_, err := io.Copy(io.Discard, e.In)
		return err
	})
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	for say, dial := range map[string]func() *enginetest.Raw{"plain": p.Dial, "TLS": func() *enginetest.Raw { return p.DialTLS("a.test") }} {
		for what, c := range map[string]struct {
			send string
			back int // bytes that come back, at least
			most int
		}{
			"a stream":            {"GET /down HTTP/1.1\r\nHost: a.test\r\n\r\n", len(burst), small},
			"an upload":           {"POST /up HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000\r\n\r\n" + burst, 0, 2 * small},
			"an upload in chunks": {"POST /up HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n19000\r\n" + burst, 0, 2 * small},
			"a tunnel":            {"GET /tunnel HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n" + burst, len(burst), small},
		} {
			client := dial()
			client.Send(c.send)
			if _, err := io.CopyN(io.Discard, client.In, int64(c.back)); err != nil {
				t.Fatalf("%s, %s: %v", say, what, err)
			}
			settles(t, say+", "+what+" to hold little", func() bool {
				holds, taken := 0, int64(0)
				inspect(p, func(l *loop) {
					for _, s := range l.socks {
						if s == nil {
							continue
						}
						if c, ok := s.of.(*conn); ok && c.x != nil {
							holds += c.x.holds()
							taken += c.x.rec.BytesIn
						}
					}
				})
				return holds <= c.most && (c.back > 0 || taken == int64(len(burst)))
			})
			client.Conn.Close()
			settles(t, say+", "+what+" to end", func() bool { return held(p).clients == 0 })
		}
	}
}

// holds is the size of the buffers of an exchange.
func (x *exchange) holds() int {
	n := cap(x.in.b) + cap(x.more.b) + cap(x.upload.head) + cap(x.upload.coded) + cap(x.response.buf.b) + cap(x.out)
	if x.tunnel != nil {
		n += cap(x.tunnel.in.b) + cap(x.tunnel.out.b)
	}
	return n
}

// TestManyTrailersAreNotKept: the memory of a body's decoder goes to the next body, but not
// that of unusually many trailers.
func TestManyTrailersAreNotKept(t *testing.T) {
	for trailers, kept := range map[int]bool{3: true, manyFields: true, manyFields + 1: false} {
		var c http1.Chunked
		c.Reset(http1.Limits{})
		if _, _, err := c.Next([]byte("0\r\n" + strings.Repeat("A: b\r\n", trailers) + "\r\n")); err != nil || !c.Done() {
			t.Fatalf("%d trailers: done %v, error %v", trailers, c.Done(), err)
		}
		left := spare(c)
		if got := len(left.Trailer()) > 0; got != kept {
			t.Errorf("%d trailers: kept %v, want %v", trailers, got, kept)
		}
	}
}

// faulty is an owner that panics when its time is over.
type faulty struct {
	timer
	panics, killed, told bool
}

func (f *faulty) ready() {}
func (f *faulty) kill()  { f.killed = true }
func (f *faulty) expire() {
	f.told = true
	if f.panics {
		panic("on purpose")
	}
}

// TestFaultOfATimer: a panic in a timer ends its owner, and the others of its slot are told.
func TestFaultOfATimer(t *testing.T) {
	var said lines
	p := enginetest.Start(t, func(o engine.Options, live *generation.Live, pools *upstream.Pools, m *engine.Metrics, _ *slog.Logger) enginetest.Engine {
		return newOne(o, live, pools, m, slog.New(slog.NewTextHandler(&said, nil)))
	}, enginetest.Setup{Spec: enginetest.NewOrigin(t, enginetest.Text("ok")).Spec()})
	all := []*faulty{{}, {panics: true}, {}, {panics: true}, {}}
	inspect(p, func(l *loop) {
		for _, one := range all {
			one.of = one
			l.wheel.set(&one.timer, l.in(time.Millisecond))
		}
	})
	settles(t, "five timers to be told, and the owners of two to end", func() (done bool) {
		done = true
		inspect(p, func(*loop) {
			for _, one := range all {
				done = done && one.told && one.killed == one.panics
			}
		})
		return done
	})
	if got := said.count("on purpose"); got != 2 {
		t.Errorf("the log tells of %d faults, want 2", got)
	}
	if a := p.Dial().Do("GET", getRequest); a.Status != 200 {
		t.Errorf("after that: got %+v", a)
	}
}

// lines is a log to be looked at.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.all.String(), text)
}
