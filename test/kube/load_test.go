//go:build cluster

package kube

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// load is a steady stream of requests, each of which has to succeed.
type load struct {
	c      *controller
	end    context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	total  int
	faults []string
}

// load starts workers that ask every few milliseconds, each on a connection that
// it keeps, until stop. An answer is fine when fine says nothing.
func (c *controller) load(workers int, host, path string, fine func(answer) error) *load {
	ctx, end := context.WithCancel(context.Background())
	l := &load{c: c, end: end}
	c.t.Cleanup(l.wait)
	for range workers {
		l.done.Go(func() {
			client := newClient()
			defer client.CloseIdleConnections()
			tick := time.NewTicker(4 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					l.once(ctx, client, host, path, fine)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return l
}

func (l *load) once(ctx context.Context, client *http.Client, host, path string, fine func(answer) error) {
	// A request that has begun is finished: breaking it off would be no fault of the daemon.
	request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodGet, "http://"+l.c.HTTP+path, http.NoBody)
	if err != nil {
		panic(err) // the tests write URLs
	}
	request.Host = host
	begun := time.Now()
	a, err := send(client, request)
	if err == nil {
		err = fine(a)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total++
	if err != nil {
		l.faults = append(l.faults, fmt.Sprintf("%s after %s: %v", begun.Format("15:04:05.000"), ms(time.Since(begun)), err))
	}
}

// wait ends the stream.
func (l *load) wait() {
	l.end()
	l.done.Wait()
}

// clean ends the stream and fails the test when any request failed, or when there
// were none.
func (l *load) clean(during string) {
	l.c.t.Helper()
	l.wait()
	l.c.t.Logf("%s: %d requests, %d failed", during, l.total, len(l.faults))
	if l.total == 0 {
		l.c.t.Errorf("%s: there were no requests", during)
	}
	for n, f := range l.faults {
		if n == 5 {
			l.c.t.Errorf("… %d more", len(l.faults)-n)
			break
		}
		l.c.t.Errorf("%s: a request failed: %s", during, f)
	}
}

// from accepts every answer of some backend.
func from(backends ...string) func(answer) error {
	return func(a answer) error {
		for _, b := range backends {
			if a.status == http.StatusOK && a.backend == b {
				return nil
			}
		}
		return fmt.Errorf("%s, want an answer of one of %s", a, backends)
	}
}
