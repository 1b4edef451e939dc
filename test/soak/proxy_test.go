//go:build e2e

package soak

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/test/daemon"
)

// load is clients that send requests without a pause until it is ended.
type load struct {
	stop    chan struct{}
	clients sync.WaitGroup

	mu     sync.Mutex
	counts map[string]int // answers by release
	faults []string
}

// startLoad has some clients on connections that are kept, and some that open one for
// each request.
func startLoad(url string) *load {
	l := &load{stop: make(chan struct{}), counts: map[string]int{}}
	for i := range 8 {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 0}, Timeout: daemon.Patience}
		l.clients.Go(func() {
			defer client.CloseIdleConnections()
			for {
				select {
				case <-l.stop:
					return
				default:
				}
				l.note(ask(client, url))
			}
		})
	}
	return l
}

// ask sends a request and returns the release that answered, or what went wrong.
func ask(client *http.Client, url string) (version string, err error) {
	a, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err == nil && a.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", a.StatusCode, text)
	}
	version, _, _ = strings.Cut(string(text), " ")
	return version, err
}

func (l *load) note(version string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.faults = append(l.faults, time.Now().Format("15:04:05.000 ")+err.Error())
		return
	}
	l.counts[version]++
}

// seen waits until a release has answered n requests more.
func (l *load) seen(t *testing.T, version string, n int) {
	t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.counts[version]
	}
	was := count()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for start := time.Now(); count() < was+n; <-look.C {
		if time.Since(start) > daemon.Patience {
			t.Fatalf("%s answered %d requests more, want %d", version, count()-was, n)
		}
	}
}

func (l *load) end() {
	close(l.stop)
	l.clients.Wait()
}

// TestNoGap: with a proxy in front that has static routes to both ports, no request
// fails while a release takes over from another, while its supervisor is killed and
// replaced, and while a release is gone back to.
func TestNoGap(t *testing.T) {
	s := newService(t, knobs{})
	s.run()
	s.serves("v1")
	routes := daemon.Write(t, s.dir, "routes.yaml", fmt.Sprintf(`
backends:
  - {name: app, endpoints: ["127.0.0.1:%d", "127.0.0.1:%d"]}
routes:
  - {path: /, pathType: Prefix, backend: app}
`, s.ports[0], s.ports[1]))
	proxy := daemon.Start(t, daemon.Setup{Args: []string{"--static-routes", routes, "--http", "127.0.0.1:0", "--no-https",
		"--admin", "127.0.0.1:0", "--log-format", "json"}})
	l := startLoad("http://" + proxy.Serving().HTTP + "/")
	l.seen(t, "v1", 200)
	for i := range 3 {
		next := fmt.Sprintf("w%d", i)
		s.wants(0, "serves, and is on probation", "deploy", "--detach", s.config, next)
		s.serves(next)
		l.seen(t, next, 200)
		s.kill()
		l.seen(t, next, 200)
		s.run()
		s.wants(0, "v1 is ready and serves", "rollback", s.config)
		s.serves("v1")
		l.seen(t, "v1", 200)
	}
	l.end()
	t.Logf("answers by release: %v", l.counts)
	if len(l.faults) > 0 {
		t.Errorf("%d requests failed, the first with %s\n%s", len(l.faults), l.faults[0], strings.Join(l.faults[:min(len(l.faults), 10)], "\n"))
	}
}
