package main

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
)

const (
	// expiryNotice is how long before its end a certificate is warned about.
	expiryNotice = 14 * 24 * time.Hour
	// expiryEvery is how often the certificates that serve are looked at again.
	expiryEvery = time.Hour
)

// expiryWatch warns once about each certificate that has expired or is about to.
type expiryWatch struct {
	log *slog.Logger
	now func() time.Time

	mu      sync.Mutex
	table   *route.Table
	set     *certs.Set
	warned  map[route.CertID]time.Time // about to expire, and when
	expired map[route.CertID]bool
}

func newExpiryWatch(log *slog.Logger, now func() time.Time) *expiryWatch {
	return &expiryWatch{log: log, now: now, warned: map[route.CertID]time.Time{}, expired: map[route.CertID]bool{}}
}

// applied looks at what serves from now on.
func (w *expiryWatch) applied(table *route.Table, set *certs.Set) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.table, w.set = table, set
	w.check()
}

// run looks again every hour, because time passes also while nothing changes.
func (w *expiryWatch) run(ctx context.Context) {
	tick := time.NewTicker(expiryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.mu.Lock()
			w.check()
			w.mu.Unlock()
		}
	}
}

func (w *expiryWatch) check() {
	if w.set == nil {
		return
	}
	now := w.now()
	for _, e := range w.set.Expiring(now, expiryNotice) {
		switch past := e.Expired(now); {
		case past && !w.expired[e.ID]:
			w.expired[e.ID] = true
			w.log.Warn("a certificate has expired and is served all the same: renew it", "hosts", w.hosts(e.ID), "expired", e.NotAfter.UTC().Format(time.RFC3339))
		case !past && w.warned[e.ID].IsZero():
			w.warned[e.ID] = e.NotAfter
			w.log.Warn("a certificate expires soon: renew it", "hosts", w.hosts(e.ID), "expires", e.NotAfter.UTC().Format(time.RFC3339))
		}
	}
	w.forget(now)
}

// forget drops those that do not serve any more and have ended: where certificates live
// for a day, there would be no end of them. One that comes back is worth another word.
func (w *expiryWatch) forget(now time.Time) {
	maps.DeleteFunc(w.warned, func(id route.CertID, end time.Time) bool { return now.After(end) && w.set.Get(id) == nil })
	maps.DeleteFunc(w.expired, func(id route.CertID, _ bool) bool { return w.set.Get(id) == nil })
}

// hosts are the names that a certificate answers to, "*" for all others.
func (w *expiryWatch) hosts(id route.CertID) []string {
	var hosts []string
	for _, c := range w.table.Certs() {
		if c.ID == id {
			hosts = append(hosts, c.Host)
		}
	}
	return hosts
}
