package reactor

import (
	"io"
	"math"
	"net"
	"runtime"
	"testing"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/engine/enginetest"
)

const (
	getRequest  = "GET /x?a=b HTTP/1.1\r\nHost: a.test\r\nUser-Agent: bench\r\nAccept: */*\r\nCookie: a=b\r\n\r\n"
	getResponse = "HTTP/1.1 200 OK\r\nServer: origin\r\nDate: Sun, 29 Nov 2026 16:00:00 GMT\r\n" +
		"Content-Type: text/plain\r\nContent-Length: 128\r\n\r\n"
)

// echoing is an origin that answers everything with the same bytes and allocates
// nothing.
func echoing(t testing.TB, answer string) *enginetest.Origin {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in, out := make([]byte, 64<<10), []byte(answer)
				for {
					if _, err := c.Read(in); err != nil {
						return
					}
					c.Write(out)
				}
			}()
		}
	}()
	return &enginetest.Origin{Address: l.Addr().String()}
}

// asker sends a request again and again and allocates nothing.
type asker struct {
	net.Conn
	request, got []byte
	size         int // of an answer
}

func newAsker(t testing.TB, p *enginetest.Proxy, request string, size int) *asker {
	c, err := net.Dial("tcp", p.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &asker{Conn: c, request: []byte(request), got: make([]byte, 64<<10), size: size}
}

func (a *asker) ask(t testing.TB) {
	if _, err := a.Write(a.request); err != nil {
		t.Fatal(err)
	}
	for want := a.size; want > 0; {
		n, err := a.Read(a.got)
		if err != nil && err != io.EOF || n == 0 {
			t.Fatalf("%v, %d bytes missing", err, want)
		}
		want -= n
	}
}

func noRecords(o *engine.Options) { o.Done = nil }

// TestNoAllocations is the promise that a request on a kept connection allocates
// nothing. The rest of the process allocates too, more of it the longer the requests
// take, so they are asked in rounds, and the best of these counts: what
// requests allocate is in all of them.
func TestNoAllocations(t *testing.T) {
	answer := getResponse + string(make([]byte, 128))
	p := enginetest.Start(t, newEngine, enginetest.Setup{Spec: echoing(t, answer).Spec(), Change: noRecords})
	for _, try := range []struct{ say, request string }{
		{"GET", getRequest},
		{"POST", "POST /x HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello"},
		{"chunked POST", "POST /x HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	} {
		a := newAsker(t, p, try.request, len(answer))
		for range 1000 {
			a.ask(t)
		}
		rounds, times := 10, 10_000
		if raceEnabled {
			times = 500
		}
		least := uint64(math.MaxUint64)
		for range rounds {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range times {
				a.ask(t)
			}
			runtime.ReadMemStats(&after)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		if least > uint64(times)/100 {
			t.Errorf("%s: %d allocations for %d requests", try.say, least, times)
		}
	}
}

// BenchmarkGet is a keep-alive GET of 128 bytes through the engine.
func BenchmarkGet(b *testing.B) {
	answer := getResponse + string(make([]byte, 128))
	p := enginetest.Start(b, newEngine, enginetest.Setup{Spec: echoing(b, answer).Spec(), Change: noRecords})
	a := newAsker(b, p, getRequest, len(answer))
	b.ReportAllocs()
	for b.Loop() {
		a.ask(b)
	}
}
