package watch

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// newClosed is a Watch that nobody runs: a test plays its sources.
func newClosed(now func() time.Time) *Watch {
	client := kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://127.0.0.1:1"})
	return New(Options{Client: client, Log: slog.New(slog.DiscardHandler), Now: now})
}

// readRequired lets the API server send what is required, and nothing of it is there.
func (w *Watch) readRequired(t *testing.T) {
	t.Helper()
	for i, s := range []interface{ Replace([]any, string) error }{w.ingresses, w.classes, w.services, w.slices} {
		w.kinds[i].health.succeeded()
		if err := s.Replace(nil, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRightsComeLate: a Pod starts before its rights, all kinds are refused, and what is
// required is asked for again before Secrets are. It waits to hear about Secrets anew,
// and is ready with them if they are allowed, and without if they are not.
func TestRightsComeLate(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		now := time.Unix(1000, 0)
		w := newClosed(func() time.Time { return now })
		refuse := func(kinds ...kind) {
			for _, k := range kinds {
				k.health.failed(failureForbidden, errForbidden)
			}
			w.openGate()
		}
		refuse(w.kinds...)
		now = now.Add(8 * time.Second)
		refuse(w.kinds...)
		now = now.Add(12 * time.Second)
		w.readRequired(t)
		w.openGate()
		if w.Complete() {
			t.Fatal("complete without Secrets that were not asked for since the rest was allowed")
		}
		if allowed {
			w.kinds[4].health.succeeded()
			if w.openGate(); w.Complete() {
				t.Fatal("complete before the list of Secrets is")
			}
			if err := w.secrets.Replace(nil, ""); err != nil {
				t.Fatal(err)
			}
		} else {
			refuse(w.kinds[4])
			if w.Complete() {
				t.Fatal("complete after a refusal that may be a moment's")
			}
			now = now.Add(patience)
			refuse(w.kinds[4])
		}
		if s := w.Snapshot(); !w.Complete() || s.SecretsUnread == allowed {
			t.Errorf("Secrets allowed: %v; complete %v, unread %v", allowed, w.Complete(), s.SecretsUnread)
		}
	}
}

// TestRefusedWakeUp: who sleeps on a refusal asks again as soon as another kind is allowed,
// and as soon as it alone is waited for.
func TestRefusedWakeUp(t *testing.T) {
	for name, c := range map[string]struct {
		others bool // are refused too
		wake   func(*testing.T, *Watch)
	}{
		"another kind is allowed": {true, func(_ *testing.T, w *Watch) { w.kinds[0].health.succeeded() }},
		"the rest is read":        {false, func(t *testing.T, w *Watch) { w.readRequired(t) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newClosed(time.Now)
				for _, k := range w.kinds {
					if c.others {
						k.health.failed(failureForbidden, errForbidden)
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				var asked []time.Time
				var asking sync.WaitGroup
				asking.Go(func() {
					_, _, _ = patiently(ctx, w.kinds[4].health, func() (int, error) {
						asked = append(asked, time.Now())
						return 0, errForbidden
					})
				})
				<-time.After(time.Hour) // it asks each ten seconds or so by now
				synctest.Wait()
				before, now := len(asked), time.Now()
				c.wake(t, w)
				<-time.After(time.Second)
				synctest.Wait()
				if since := asked[before:]; len(since) < 2 || !since[0].Equal(now) {
					t.Errorf("asked at %v since %v", since, now)
				}
				cancel()
				asking.Wait()
			})
		})
	}
}
