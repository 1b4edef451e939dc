//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// frugal is a collector that lets little garbage be: what is looked at is what a daemon
// holds, and garbage that was not collected yet would hide it.
var frugal = []string{"GOGC=10"}

// holdings is what a daemon has of what leaks. memory is its proportional set size, in bytes.
type holdings struct{ descriptors, goroutines, memory int }

// holds looks at a daemon; the connection that it asks over is not counted, having
// been closed each time.
func holds(t *testing.T, c *daemon.Child, a daemon.Addresses) (h holdings) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: daemon.Patience}
	r, err := client.Get("http://" + a.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	numbers, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	h.goroutines = number(t, string(numbers), "go_goroutines ")
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.PID))
	if err != nil {
		t.Fatal(err)
	}
	h.descriptors = len(open)
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", c.PID))
	if err != nil {
		t.Fatal(err)
	}
	h.memory = number(t, string(rollup), "Pss:") << 10
	return h
}

// number is what follows a name at the beginning of a line.
func number(t *testing.T, text, name string) int {
	t.Helper()
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no line that begins with %q", name)
	return 0
}

// eventually looks until it is as wanted, and returns the last look.
func eventually(t *testing.T, look func() holdings, wanted func(holdings) bool) (h holdings) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * daemon.Patience); ; <-tick.C {
		if h = look(); wanted(h) || time.Now().After(end) {
			return h
		}
	}
}

// TestAbandonedConnections opens 20,000 connections and leaves them: at once, in a
// head, in a body, in a handshake, while an answer is awaited, with FIN and with a
// reset. Nothing of them is left.
func TestAbandonedConnections(t *testing.T) {
	const clients, each = 40, 500
	c, a := serveWith(t, frugal, origin(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, strings.Repeat("x", 4<<10))
	}))
	said := []string{
		"", "G", "GET / HTTP/1.1\r\nHost: shop.te", "POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 100\r\n\r\nhalf",
		"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PRI * HTTP/2.0\r\n\r\nSM",
	}
	var failed atomic.Pointer[error]
	round := func(each int) {
		var all sync.WaitGroup
		for n := range clients {
			chance := rand.New(rand.NewPCG(1, uint64(n)))
			all.Go(func() {
				for range each {
					if err := abandon(chance, a, said[chance.IntN(len(said))]); err != nil {
						failed.Store(&err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	look := func() holdings { return holds(t, c, a) }
	round(50) // what is made at first use, and idle connections to the origin
	before := settledDown(t, look)
	round(each)
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
	// Idle connections to the origin stay, so many as were needed at once.
	most := holdings{descriptors: before.descriptors + clients, goroutines: before.goroutines + 2*clients, memory: before.memory + 16<<20}
	after := eventually(t, look, func(h holdings) bool {
		return h.descriptors <= most.descriptors && h.goroutines <= most.goroutines && h.memory <= most.memory
	})
	t.Logf("%d connections: before %+v, after %+v", clients*each, before, after)
	if after.descriptors > most.descriptors || after.goroutines > most.goroutines || after.memory > most.memory {
		t.Errorf("at most %+v were to be left", most)
	}
}

// settledDown looks until there has not been less for a second: each look takes a
// descriptor and goroutines of its own, for as long as chance decides.
func settledDown(t *testing.T, look func() holdings) holdings {
	t.Helper()
	least, still := look(), 0
	eventually(t, look, func(h holdings) bool {
		if h.descriptors < least.descriptors || h.goroutines < least.goroutines {
			still = 0
		}
		least.descriptors, least.goroutines = min(least.descriptors, h.descriptors), min(least.goroutines, h.goroutines)
		least.memory = h.memory
		still++
		return still == 10
	})
	return least
}

// abandon opens a connection, says something, and leaves.
func abandon(chance *rand.Rand, a daemon.Addresses, said string) error {
	to := a.HTTP
	if chance.IntN(3) == 0 {
		to = a.HTTPS
	}
	c, err := net.Dial("tcp", to)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, said); err != nil {
		return err
	}
	// With a reset no port is kept waiting: there are only so many.
	if chance.IntN(4) > 0 {
		c.(*net.TCPConn).SetLinger(0)
	}
	return nil
}

// TestIdleConnections: what ten thousand connections cost that were used and idle
// now, and that it is given back when they close. Only the reactor promises a number.
func TestIdleConnections(t *testing.T) {
	const connections = 10_000
	c, a := serveWith(t, frugal, origin(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }), "--client-idle-timeout", "1h")
	look := func() holdings { return holds(t, c, a) }
	open := func(n int) []net.Conn {
		all, errs := make([]net.Conn, n), make([]error, n)
		var workers sync.WaitGroup
		var next atomic.Int64
		for range 20 {
			workers.Go(func() {
				for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
					all[i], errs[i] = used(a.HTTP)
				}
			})
		}
		workers.Wait()
		t.Cleanup(func() { closeAll(all) })
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		return all
	}
	closeAll(open(100))
	before := settledDown(t, look)
	all := open(connections)
	during := look()
	kept := during.descriptors - before.descriptors
	each := (during.memory - before.memory) / max(kept, 1)
	closeAll(all)
	promised := os.Getenv("DAEMON_ENGINE") == "reactor"
	fine := func(h holdings) bool {
		// As many idle connections to the origin stay as there were clients at once; the
		// collector's turns differ by some megabytes.
		return h.descriptors <= before.descriptors+40 && h.goroutines <= before.goroutines+80 &&
			(!promised || h.memory <= before.memory+(during.memory-before.memory)/2+4<<20)
	}
	after := eventually(t, look, fine)
	t.Logf("%d idle connections: %d bytes each; before %+v, during %+v, after %+v", kept, each, before, during, after)
	if kept < connections*9/10 {
		t.Errorf("%d connections are kept, want %d", kept, connections)
	}
	if !fine(after) {
		t.Error("something of them is left")
	}
	if promised && each > 1<<10 {
		t.Errorf("%d bytes for each, want 1,024 at most", each)
	}
}

// used is a connection over which one request was answered.
func used(address string) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", address, daemon.Patience)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(daemon.Patience))
	if _, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"); err == nil {
		_, err = c.Read(make([]byte, 1<<10))
	}
	return c, err
}

func closeAll(all []net.Conn) {
	for _, c := range all {
		if c != nil {
			c.Close()
		}
	}
}
