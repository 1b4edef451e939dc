//go:build endurance

package endurance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// warmUp is how long load and changes last before anything is measured: what is made
// at its first use has been made then.
const warmUp = 10 * time.Second

// TestMixedLoad: see the comment of the package.
func TestMixedLoad(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("engine %s, %s, seed %d", *engine, *lasts, *seed)
	w := newWorld(t)
	t.Log("what is made at first use is made")
	w.run(warmUp, nil)
	w.again(true)
	before := w.settled(sample{})
	t.Logf("%s: before: %s", time.Now().Format(time.DateTime), before)

	w.tally.restart()
	var samples []sample
	done := w.run(*lasts, &samples)
	lasted := w.tally.since()
	w.again(false)
	after := w.settled(before)
	t.Logf("%s: after %s: %s", time.Now().Format(time.DateTime), lasted.Round(time.Second), after)
	t.Logf("numbers of each kind:\n%s", w.tally.table(lasted))
	t.Logf("meanwhile: %s", done)
	w.judge(before, after, samples)
	w.proxy.Signal(syscall.SIGTERM)
	if status := w.proxy.Exit(); status != 0 {
		t.Errorf("the daemon ended with status %d", status)
	}
}

// run lets load and changes last for a while, and looks at the daemon meanwhile.
func (w *world) run(lasting time.Duration, samples *[]sample) *changes {
	ctx, cancel := context.WithTimeout(w.ctx, lasting)
	defer cancel()
	var done changes
	var changing sync.WaitGroup
	changing.Go(func() { w.change(ctx, &done) })
	changing.Go(func() { w.kill(ctx, &done) })
	loaded := w.load(ctx, kinds)
	if samples != nil {
		w.watch(ctx, lasting, samples)
	}
	changing.Wait()
	loaded()
	return &done
}

// watch samples the daemon every ten seconds, and oftener if it is to be short, and
// tells once a minute how things are.
func (w *world) watch(ctx context.Context, lasting time.Duration, samples *[]sample) {
	each := min(10*time.Second, lasting/40)
	told, last := time.Now(), int64(0)
	for wait(ctx, each) {
		s, err := w.sample()
		if err != nil {
			w.t.Errorf("look at the daemon: %v", err)
			return
		}
		*samples = append(*samples, s)
		if since := time.Since(told); since >= time.Minute {
			w.tell(s, since, &last)
			told = time.Now()
		}
	}
}

// tell is the line of a minute.
func (w *world) tell(s sample, since time.Duration, last *int64) {
	right, excused, wrong := w.tally.sums()
	gets := w.tally.kinds[0]
	w.t.Logf("%s %5s: %d right (%.0f a second), %d excused, %d wrong; p50 %s ms, p99 %s ms of %s; %s",
		time.Now().Format(time.TimeOnly), s.at.Round(time.Second), right, float64(right-*last)/since.Seconds(), excused, wrong,
		ms(gets.minute.quantile(0.5)), ms(gets.minute.quantile(0.99)), gets.name, s)
	*last = right
	gets.minute.clear()
}

// again ends all backends, and with them the idle connections to them, and starts
// them again if wanted.
func (w *world) again(start bool) {
	all := slices.Clone(w.all)
	for _, b := range w.roll {
		all = append(all, b)
	}
	for _, b := range all {
		b.kill()
	}
	w.tunnels.Wait()
	for _, b := range all {
		if start {
			if err := b.start(); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// settled looks at the daemon until it has no more descriptors and goroutines than
// before, or, before anything is known, until they have not changed for a while.
func (w *world) settled(before sample) (s sample) {
	most, still := time.Now().Add(2*patience), 0
	for still < 20 && time.Now().Before(most) {
		w.admin.CloseIdleConnections() // our own are not to be counted
		now, err := w.sample()
		if err != nil {
			w.t.Fatalf("look at the daemon: %v", err)
		}
		if now.descriptors != s.descriptors || now.goroutines != s.goroutines {
			still = 0
		}
		s = now
		still++
		if before.descriptors > 0 && s.descriptors <= before.descriptors && s.goroutines <= before.goroutines {
			return s
		}
		wait(w.ctx, 100*time.Millisecond)
	}
	return s
}

// judge says what is not as it has to be.
func (w *world) judge(before, after sample, samples []sample) {
	t := w.t
	for _, c := range w.tally.kinds {
		if c.right.Load() == 0 {
			t.Errorf("%s: not one went well", c.name)
		}
		if n := c.excused.Load(); n*10 > c.right.Load() {
			t.Errorf("%s: %d failures are explained, more than a tenth", c.name, n)
		}
	}
	right, excused, wrong := w.tally.sums()
	t.Logf("%d requests and other doings right, %d failures that a rule explains, %d unexpected, %d faults in all", right, excused, wrong, w.tally.faults)
	if after.descriptors > before.descriptors {
		t.Errorf("%d descriptors after it, %d before", after.descriptors, before.descriptors)
	}
	if after.goroutines > before.goroutines {
		t.Errorf("%d goroutines after it, %d before", after.goroutines, before.goroutines)
	}
	for _, size := range []struct {
		name string
		of   func(sample) int64
	}{
		{"PSS", func(s sample) int64 { return s.pss }},
		{"RSS", func(s sample) int64 { return s.rss }},
	} {
		first, last := quarters(samples, size.of)
		t.Logf("%s: median of the first quarter %.1f MiB, of the last %.1f MiB", size.name, mib(first), mib(last))
		// Flat: a twentieth more at most, or 4 MiB, by which the turns of the collector
		// differ. A run of minutes only shows that there is no leak of a kilobyte a request.
		slack := max(first/20, 4<<20)
		if *lasts < 10*time.Minute {
			slack = 16 << 20
		}
		if most := first + slack; last > most {
			t.Errorf("%s is not flat: %.1f MiB allowed", size.name, mib(most))
		}
	}
	if n := strings.Count(w.proxy.Log.String(), `"level":"ERROR"`); n > 0 {
		t.Errorf("the daemon logged %d errors: %s", n, firstError(w.proxy.Log.String()))
	}
	if n := w.numbers("ramjet_"); n != "" {
		t.Logf("the daemon's own numbers: %s", n)
	}
}

func firstError(log string) string {
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"level":"ERROR"`) {
			return line
		}
	}
	return ""
}

// numbers are the counters of the daemon with a prefix that are not 0.
func (w *world) numbers(prefix string) string {
	text, err := w.page("/metrics")
	if err != nil {
		return fmt.Sprint(err)
	}
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, prefix) && !strings.HasSuffix(line, " 0") && !strings.Contains(line, "_bucket") {
			all = append(all, strings.TrimPrefix(line, prefix))
		}
	}
	return strings.Join(all, ", ")
}
