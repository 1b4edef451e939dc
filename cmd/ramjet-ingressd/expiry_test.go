package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/route"
)

// warnings is a logger whose records a test can take.
type warnings struct{ text text }

func (w *warnings) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&w.text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// take returns the records since the last call.
func (w *warnings) take() []string {
	lines := strings.Split(strings.TrimSuffix(w.text.take(), "\n"), "\n")
	return slices.DeleteFunc(lines, func(l string) bool { return l == "" })
}

// serving makes what serves certificates that end at given times, each for its
// hosts.
func serving(t *testing.T, ends map[string]time.Time) (*route.Table, *certs.Set) {
	t.Helper()
	authority := certtest.NewAuthority(t)
	var spec route.Spec
	var material []certs.Material
	for hosts, end := range ends {
		key := certtest.Key(t)
		leaf := authority.Leaf(t, key.Public(), end, "any.test")
		m := certs.Material{Name: hosts, Cert: certtest.Chain(leaf), Key: certtest.PKCS8(t, key)}
		material = append(material, m)
		for host := range strings.SplitSeq(hosts, " ") {
			spec.Certs = append(spec.Certs, route.CertSpec{Host: host, ID: m.ID()})
		}
	}
	table, diagnostics := route.Compile(spec)
	set, _, problems := certs.Build(material)
	if len(diagnostics) > 0 || len(problems) > 0 {
		t.Fatal(diagnostics, problems)
	}
	return table, set
}

func checkWarnings(t *testing.T, when string, w *warnings, want ...string) {
	t.Helper()
	got := w.take()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	soon = `level=WARN msg="a certificate expires soon: renew it" `
	past = `level=WARN msg="a certificate has expired and is served all the same: renew it" `
)

// TestExpiryWarnings walks a clock over the ends of certificates.
func TestExpiryWarnings(t *testing.T) {
	now := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	var w warnings
	watch := newExpiryWatch(w.logger(), func() time.Time { return now })
	watch.check() // nothing serves yet
	checkWarnings(t, "before anything serves", &w)

	table, set := serving(t, map[string]time.Time{
		"old.test":            now.Add(-time.Hour),
		"*.b.test a.test":     now.Add(expiryNotice),
		"later.test":          now.Add(expiryNotice + 2*time.Hour),
		"* fine.test [::1]":   now.Add(365 * 24 * time.Hour),
		"ends-right-now.test": now,
	})
	watch.applied(table, set)
	checkWarnings(t, "at first", &w,
		past+"hosts=[old.test] expired=2030-05-01T11:00:00Z",
		soon+"hosts=[ends-right-now.test] expires=2030-05-01T12:00:00Z",
		soon+`hosts="[*.b.test a.test]" expires=2030-05-15T12:00:00Z`)

	watch.applied(table, set)
	watch.check()
	checkWarnings(t, "again", &w)

	now = now.Add(time.Nanosecond)
	watch.check()
	checkWarnings(t, "a moment later", &w, past+"hosts=[ends-right-now.test] expired=2030-05-01T12:00:00Z")

	now = now.Add(2 * time.Hour)
	watch.check()
	checkWarnings(t, "two hours later", &w, soon+"hosts=[later.test] expires=2030-05-15T14:00:00Z")

	now = now.Add(expiryNotice)
	watch.check()
	checkWarnings(t, "when both have ended", &w,
		past+`hosts="[*.b.test a.test]" expired=2030-05-15T12:00:00Z`,
		past+"hosts=[later.test] expired=2030-05-15T14:00:00Z")

	renewed, fresh := serving(t, map[string]time.Time{"a.test": now.Add(10 * time.Hour)})
	watch.applied(renewed, fresh)
	checkWarnings(t, "another identity", &w, soon+"hosts=[a.test] expires=2030-05-16T00:00:00Z")
	if len(watch.warned) != 1 || len(watch.expired) != 0 {
		t.Errorf("%d and %d are remembered that do not serve and have ended", len(watch.warned)-1, len(watch.expired))
	}

	watch.applied(serving(t, nil))
	watch.applied(renewed, fresh)
	checkWarnings(t, "one that was away for a moment", &w)
}

// TestExpiryEveryHour: time passes also while nothing changes.
func TestExpiryEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w warnings
		watch := newExpiryWatch(w.logger(), time.Now)
		begun := time.Now() // the bubble's clock: midnight of the year 2000
		table, set := serving(t, map[string]time.Time{"a.test": begun.Add(expiryNotice + 90*time.Minute)})
		watch.applied(table, set)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); watch.run(ctx) }()
		for hour, want := range [][]string{
			1: nil,
			2: {soon + "hosts=[a.test] expires=2000-01-15T01:30:00Z"},
			3: nil,
		} {
			<-time.After(time.Until(begun.Add(time.Duration(hour)*time.Hour + time.Minute)))
			synctest.Wait()
			checkWarnings(t, time.Since(begun).String(), &w, want...)
		}
		cancel()
		<-ended
	})
}
