package mirror

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mirrorTo is a mirror whose backend has these endpoints.
func mirrorTo(t *testing.T, addresses ...string) *route.Mirror {
	t.Helper()
	shadow := route.BackendSpec{Name: "shadow"}
	for _, a := range addresses {
		shadow.Endpoints = append(shadow.Endpoints, route.EndpointSpec{Address: a, Weight: 1})
	}
	table, diagnostics := route.Compile(route.Spec{
		Backends: []route.BackendSpec{{Name: "web"}, shadow},
		Routes:   []route.RouteSpec{{Path: "/", PathType: route.Prefix, Backend: "web", Mirror: &route.MirrorSpec{Backend: "shadow", Percent: 100}}},
	})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return table.Match("a.test", "/").Mirror
}

// offer makes a copy with a body of that size, as an engine does, and offers it.
func (q *Queue) offer(t *testing.T, m *route.Mirror, size int) {
	t.Helper()
	if !q.Reserve(size) {
		t.Fatalf("no memory for a body of %d bytes", size)
	}
	q.Offer(&Copy{Mirror: m, Endpoint: m.Pick(), Method: "POST", Target: "/", Host: "a.test", Header: http.Header{}, Body: make([]byte, size)})
}

// hanging is a server that takes requests and never answers; each one that has come in
// gives a word.
func hanging(t *testing.T) (address string, asked <-chan struct{}) {
	t.Helper()
	requests := make(chan struct{}, queueLength+Workers+1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		requests <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), requests
}

// TestMemory: what is reserved has a bound, a refusal takes nothing of it, and what is
// released can be had again.
func TestMemory(t *testing.T) {
	q := New(&engine.Metrics{})
	defer q.Close()
	if !q.Reserve(queueBytes - 10) {
		t.Fatal("refused below the bound")
	}
	for range 3 {
		if q.Reserve(11) {
			t.Fatal("granted above the bound")
		}
	}
	if !q.Reserve(10) {
		t.Error("a refusal took memory along")
	}
	if q.Reserve(1) {
		t.Error("granted when nothing was left")
	}
	q.Release(7)
	if q.Reserve(8) || !q.Reserve(7) {
		t.Error("what was released is not what can be had")
	}
}

// TestFull: with a mirror that hangs, as many copies are on their way as there are
// workers, as many wait as the queue holds, and the next is dropped with its memory.
// Close then ends all of them, without waiting for their deadline.
func TestFull(t *testing.T) {
	address, asked := hanging(t)
	var metrics engine.Metrics
	q := New(&metrics)
	m := mirrorTo(t, address)
	const size = 100
	for range Workers {
		q.offer(t, m, size)
	}
	for range Workers {
		<-asked
	}
	for range queueLength {
		q.offer(t, m, size)
	}
	if n := metrics.MirrorDropped.Load(); n != 0 {
		t.Errorf("%d copies dropped although there was room", n)
	}
	for range 3 {
		q.offer(t, m, size)
		if q.Admit(m) != nil {
			t.Error("a copy is made for a queue that is full")
		}
	}
	if n := metrics.MirrorDropped.Load(); n != 6 {
		t.Errorf("%d copies dropped, want 6", n)
	}
	if got, want := q.held.Load(), int64((Workers+queueLength)*size); got != want {
		t.Errorf("%d bytes are held, want %d", got, want)
	}
	begun := time.Now()
	q.Close()
	if took := time.Since(begun); took >= Deadline {
		t.Errorf("closing took %v, the deadline of what was under way", took)
	}
	if n := metrics.MirrorFailures.Load(); n < Workers {
		t.Errorf("%d failures are counted, want at least the %d that were under way", n, Workers)
	}
	if n := metrics.Mirrored.Load(); n != 0 {
		t.Errorf("%d copies count as answered", n)
	}
}

// TestFates: each copy is booked once, and its memory comes back.
func TestFates(t *testing.T) {
	answering := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusInternalServerError) // an answer like any other
	}))
	defer answering.Close()
	var metrics engine.Metrics
	q := New(&metrics)
	defer q.Close()
	q.offer(t, mirrorTo(t, strings.TrimPrefix(answering.URL, "http://")), 10)
	if ep := q.Admit(mirrorTo(t)); ep != nil {
		t.Errorf("a mirror without endpoints has the endpoint %s", ep.Address)
	}
	for late := time.Now().Add(Deadline); q.held.Load() != 0; {
		if time.Now().After(late) {
			t.Fatalf("%d bytes are still held", q.held.Load())
		}
		runtime.Gosched()
	}
	if a, f := metrics.Mirrored.Load(), metrics.MirrorFailures.Load(); a != 1 || f != 1 {
		t.Errorf("%d answered, %d failed; want one of each", a, f)
	}
}

// TestDeadline: a copy that is not answered is given up when its time is over, neither
// earlier nor later.
func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var metrics engine.Metrics
		q := New(&metrics)
		defer q.Close()
		q.http1.DialContext = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { // reads the request and says nothing
				_, _ = io.Copy(io.Discard, bufio.NewReader(far))
				far.Close()
			}()
			return near, nil
		}
		q.offer(t, mirrorTo(t, "192.0.2.1:80"), 10)
		<-time.After(Deadline - time.Nanosecond)
		synctest.Wait()
		if n := metrics.MirrorFailures.Load(); n != 0 || q.held.Load() != 10 {
			t.Errorf("given up early: %d failures, %d bytes held", n, q.held.Load())
		}
		<-time.After(time.Nanosecond)
		synctest.Wait()
		if n := metrics.MirrorFailures.Load(); n != 1 || q.held.Load() != 0 {
			t.Errorf("after the deadline: %d failures, %d bytes held; want 1 and 0", n, q.held.Load())
		}
	})
}

// TestTargetURL: what goes out is what came in, byte for byte.
func TestTargetURL(t *testing.T) {
	for target, want := range map[string]string{
		"/":               "/",
		"/a%2Fb?x=%zz&y":  "/a%2Fb?x=%zz&y",
		"//other.test/a":  "//other.test/a",
		"//a%2Fb?":        "//a%2Fb?",
		"//a//?b?c=%zz":   "//a//?b?c=%zz",
		"//\"quoted\"":    "http://a.test//\"quoted\"", // net/url would encode it
		"*":               "*",
		"/a//b/./..?//":   "/a//b/./..?//",
		"/\"quoted\"<b>|": "/\"quoted\"<b>|",
	} {
		if got := TargetURL(target, "192.0.2.1:80", "a.test").RequestURI(); got != want {
			t.Errorf("%s goes out as %s, want %s", target, got, want)
		}
	}
}
