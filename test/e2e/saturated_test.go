//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// plainOrigin answers every request as cheaply as can be: one read, one write.
func plainOrigin(t *testing.T) (endpoint string) {
	t.Helper()
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 128\r\n\r\n" + strings.Repeat("x", 128))
	return listening(t, func(c net.Conn) {
		request := make([]byte, 4<<10)
		for n := 0; ; {
			more, err := c.Read(request[n:])
			if err != nil {
				return
			}
			if n += more; !bytes.HasSuffix(request[:n], []byte("\r\n\r\n")) {
				continue
			}
			n = 0
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	})
}

// listening serves connections until the end of the test.
func listening(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			stop := make(chan struct{})
			all.Go(func() {
				defer c.Close()
				defer close(stop)
				serve(c)
			})
			all.Go(func() {
				select {
				case <-stop:
				case <-t.Context().Done():
					c.Close()
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// pressure is clients that ask as fast as they can, each for several things at once, so that
// no event loop ever has nothing to do.
type pressure struct {
	end    chan struct{}
	all    sync.WaitGroup
	mu     sync.Mutex
	served int
	took   []time.Duration // of each batch
	err    error
}

const request = "GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"

// saturate begins a load of clients that pipeline so many requests.
func saturate(address string, clients, pipelined int) *pressure {
	l := &pressure{end: make(chan struct{})}
	for range clients {
		l.all.Go(func() {
			served, took, err := askOn(address, pipelined, l.end)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.served += served
			l.took = append(l.took, took...)
			if err != nil {
				l.err = err
			}
		})
	}
	return l
}

func askOn(address string, pipelined int, end <-chan struct{}) (served int, took []time.Duration, err error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	batch, answers := []byte(strings.Repeat(request, pipelined)), []byte(nil)
	for {
		select {
		case <-end:
			return served, took, nil
		default:
		}
		c.SetDeadline(time.Now().Add(2 * daemon.Patience))
		began := time.Now()
		if _, err := c.Write(batch); err != nil {
			return served, took, err
		}
		if answers == nil {
			if answers, err = read(in, pipelined); err != nil {
				return served, took, err
			}
		} else if _, err := io.ReadFull(in, answers); err != nil || !bytes.HasPrefix(answers, []byte("HTTP/1.1 200 ")) {
			return served, took, fmt.Errorf("%.100q, %w", answers, err)
		}
		served += pipelined
		took = append(took, time.Since(began))
	}
}

// read reads so many answers and returns them: all that follow are as long, and need
// not be parsed, which would cost more than the daemon does.
func read(in *bufio.Reader, count int) ([]byte, error) {
	var all bytes.Buffer
	from := bufio.NewReader(io.TeeReader(in, &all))
	for range count {
		r, err := http.ReadResponse(from, nil)
		if err != nil {
			return nil, err
		}
		_, err = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if err != nil || r.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("%s, %w", r.Status, err)
		}
	}
	return all.Bytes(), nil
}

// stop ends the load, and wants it to have been one.
func (l *pressure) stop(t *testing.T) {
	t.Helper()
	close(l.end)
	l.all.Wait()
	if l.err != nil {
		t.Errorf("a client of the load: %v", l.err)
	}
	if l.served < 500 {
		t.Errorf("%d requests were served meanwhile: that is no load", l.served)
	}
}

// spread is how some times lie: the median, what one in a hundred exceeds, the worst.
type spread struct{ median, high, worst time.Duration }

func spreadOf(all []time.Duration) spread {
	if len(all) == 0 {
		return spread{}
	}
	slices.Sort(all)
	return spread{all[len(all)/2], all[len(all)*99/100], all[len(all)-1]}
}

func (s spread) String() string {
	return fmt.Sprintf("median %v, 99 %% %v, worst %v", s.median.Round(10*time.Microsecond), s.high.Round(10*time.Microsecond), s.worst.Round(10*time.Microsecond))
}

// cpu is the processor time that a process has used.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100
}

// TestAdminWhileSaturated asks the admin port while every event loop has more to do
// than it can. It has 100 ms to answer. A machine that others use may be late by itself,
// so what a server in the test's own process takes, under the same load, is allowed as
// well, and half of the answers count.
func TestAdminWhileSaturated(t *testing.T) {
	c, a := serve(t, plainOrigin(t))
	beside := listening(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
	l := saturate(a.HTTP, 32, 16)
	began, before := time.Now(), cpu(t, c.PID)
	answers, reference := map[string][]time.Duration{}, []time.Duration(nil)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * daemon.Patience}
	pages := []string{"/healthz", "/readyz", "/metrics", "/admin/routes", "/admin/generations"}
	tick := time.NewTicker(20 * time.Millisecond) // the load is there from the second on
	defer tick.Stop()
	for range 20 {
		for _, page := range pages {
			<-tick.C
			asked := time.Now()
			r, err := client.Get("http://" + a.Admin + page)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != http.StatusOK {
				t.Errorf("%s: %s, %v", page, r.Status, err)
			}
			r.Body.Close()
			answers[page] = append(answers[page], time.Since(asked))
		}
		asked := time.Now()
		echo := dial(t, beside)
		echo.send(t, "x")
		if _, err := echo.in.ReadByte(); err != nil {
			t.Fatal(err)
		}
		echo.Close()
		reference = append(reference, time.Since(asked))
	}
	used, lasted := cpu(t, c.PID)-before, time.Since(began)
	l.stop(t)
	own := spreadOf(reference)
	t.Logf("%d requests in %v, %.1f processors used by the daemon; a server of the test: %v", l.served, lasted.Round(time.Millisecond), used.Seconds()/lasted.Seconds(), own)
	for _, page := range pages {
		s := spreadOf(answers[page])
		t.Logf("%-20s %v", page, s)
		if most := 100*time.Millisecond + own.median; s.median > most {
			t.Errorf("%s takes %v, want at most %v", page, s.median, most)
		}
	}
}

// collection is a line of the runtime about a garbage collection: while the first and
// the last of the three times pass, the world stands.
var collection = regexp.MustCompile(`(?m)^gc \d+ @[\d.]+s \d+%: ([\d.e+-]+?)\+([\d.e+-]+?)\+([\d.e+-]+?) ms clock`)

// pauses are those of the collections in a log.
func pauses(t *testing.T, log string) (all []time.Duration) {
	t.Helper()
	for _, line := range collection.FindAllStringSubmatch(log, -1) {
		for _, text := range []string{line[1], line[3]} {
			ms, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatalf("%q: %v", line[0], err)
			}
			all = append(all, time.Duration(ms*float64(time.Millisecond)))
		}
	}
	return all
}

// TestCollectionsWhileServing makes the daemon collect its garbage again and again under
// load (whatever allocates does so with GOGC=1, and a page of the admin port allocates).
// No request waits longer than 10 ms for a collection: half of the pauses are held to
// that, the worst requests with and without are printed.
func TestCollectionsWhileServing(t *testing.T) {
	c, a := serveWith(t, []string{"GOGC=1", "GODEBUG=gctrace=1"}, plainOrigin(t))
	const enough = 20
	serving := func(disturb bool) (l *pressure, collected []time.Duration) {
		before := len(c.Log.String())
		l = saturate(a.HTTP, 8, 1)
		tick := time.NewTicker(30 * time.Millisecond)
		defer tick.Stop()
		end := time.Now().Add(daemon.Patience)
		for n := 0; n < 60 || disturb && len(collected)/2 < enough && time.Now().Before(end); n++ {
			<-tick.C
			if disturb {
				ask(t, "GET", "http://"+a.Admin+"/metrics", "", "")
			}
			if n >= 60 {
				collected = pauses(t, c.Log.String()[before:])
			}
		}
		l.stop(t)
		return l, pauses(t, c.Log.String()[before:])
	}
	serving(false) // what is made at first use is made
	quiet, few := serving(false)
	disturbed, many := serving(true)
	without, with, stopped := spreadOf(quiet.took), spreadOf(disturbed.took), spreadOf(many)
	t.Logf("%d requests beside %d collections: %v", quiet.served, len(few)/2, without)
	t.Logf("%d requests beside %d collections: %v, the worst %v longer; pauses: %v",
		disturbed.served, len(many)/2, with, (with.worst - without.worst).Round(10*time.Microsecond), stopped)
	if len(many)/2 < enough {
		t.Errorf("%d collections, want at least %d: nothing is shown", len(many)/2, enough)
	}
	if stopped.median > 10*time.Millisecond {
		t.Errorf("a collection stops the world for %v, want at most 10 ms", stopped.median)
	}
}
