//go:build cluster && bench

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"ramjet.dev/ingress/internal/certs/certtest"
)

// The size of the cluster that is measured.
const (
	manyIngresses = 2000
	pathsOfEach   = 5
	manyServices  = 500 // each with two endpoints
	manyCerts     = 500 // each for four hosts
)

// TestScale measures Kubernetes mode with 2,000 Ingresses of 5 paths and 500
// certificates: how long after the last write all is served, what a compile
// takes, how much memory there is, and what one change costs then. It prints
// figures and judges none.
func TestScale(t *testing.T) {
	w := shared(t)
	pods := []*backend{w.backend("a"), w.backend("b"), w.backend("c")}
	authority := certtest.NewAuthority(t)
	c := w.controller("--log-level", "debug", "--publish-address", "192.0.2.10")
	c.Log.Wait(t, "leading")
	empty := c.memory("VmRSS")

	begun := time.Now()
	var objects []runtime.Object
	for n := range manyServices {
		name := fmt.Sprint("shop-", n)
		objects = append(objects, service(name), slice(name, pods[0].at, pods[1].at))
	}
	for n := range manyCerts {
		cert, key := authority.Pair(t, host(4*n), host(4*n+1), host(4*n+2), host(4*n+3))
		objects = append(objects, tlsSecret(fmt.Sprint("cert-", n), cert, key))
	}
	for n := range manyIngresses {
		objects = append(objects, large(n))
	}
	w.putAll(objects)
	written := time.Now()
	last := manyIngresses - 1
	if err := within(t.Context(), 5*time.Minute, func() error {
		a, err := c.get(host(last), "/path-4")
		if err == nil && a.status != 200 {
			err = errors.New(a.String())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects written in %s; the last Ingress served %s after its acknowledgement", len(objects), written.Sub(begun).Round(time.Millisecond), ms(time.Since(written)))
	if routes := c.generations().Generations[0].Routes; routes != manyIngresses*pathsOfEach {
		t.Fatalf("%d routes, want %d", routes, manyIngresses*pathsOfEach)
	}
	if err := within(t.Context(), 10*time.Minute, w.allPublished); err != nil {
		t.Fatal(err)
	}
	t.Logf("every status was written %s after it", time.Since(written).Round(100*time.Millisecond))
	// What follows is a change, and no wake of the flood before it.
	c.quiet()
	t.Logf("resident: %s empty, %s with everything, %s at most", mib(empty), mib(c.memory("VmRSS")), mib(c.PeakMemory()))

	for _, change := range []struct {
		what string
		do   func(n int) (served func() error)
	}{
		{"one endpoint", func(n int) func() error {
			w.put(slice("shop-7", pods[1+n%2].at))
			return func() error { return c.gives(host(7), "/path-0", pods[1+n%2].name) }
		}},
		{"one Ingress", func(n int) func() error {
			i := large(1)
			i.Spec.Rules[0].HTTP.Paths[0].Path = fmt.Sprint("/changed-", n)
			w.put(i)
			return func() error {
				if a, err := c.get(host(1), fmt.Sprint("/changed-", n)); err != nil || a.status != 200 {
					return fmt.Errorf("%s, %w", a, err)
				}
				return nil
			}
		}},
		{"one certificate", func(int) func() error {
			cert, key := authority.Pair(t, host(8), host(9), host(10), host(11))
			w.put(tlsSecret("cert-2", cert, key))
			return func() error { return c.isShown(host(8), parse(t, cert)) }
		}},
	} {
		c.measure(change.what, 50, change.do)
	}

	t.Log("starts with everything in place")
	var ready, first []time.Duration
	for range 5 {
		again := w.launch(w.Admin, "--log-level", "debug", "--no-status-update")
		again.ready()
		ready = append(ready, time.Since(again.Started))
		again.is(host(last), "/path-4", pods[0].name)
		again.quiet()
		first = append(first, again.compiles()[0])
		t.Logf("ready %s after the start of the process, the first compile took %s; resident %s, %s at most",
			ms(ready[len(ready)-1]), ms(first[len(first)-1]), mib(again.memory("VmRSS")), mib(again.PeakMemory()))
		again.Signal(syscall.SIGTERM)
		again.Exit()
	}
	slices.Sort(ready)
	slices.Sort(first)
	t.Logf("medians: ready after %s, the first compile took %s", ms(ready[2]), ms(first[2]))
}

func host(n int) string { return fmt.Sprintf("shop-%d.test", n) }

// large is the nth Ingress.
func large(n int) *networking.Ingress {
	i := withTLS(ingress(fmt.Sprint("shop-", n)), fmt.Sprint("cert-", n/4), host(n))
	kind := networking.PathTypePrefix
	rule := networking.IngressRule{Host: host(n), IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{}}}
	for p := range pathsOfEach {
		rule.HTTP.Paths = append(rule.HTTP.Paths, networking.HTTPIngressPath{
			Path: fmt.Sprint("/path-", p), PathType: &kind, Backend: to(fmt.Sprint("shop-", n%manyServices)),
		})
	}
	i.Spec.Rules = []networking.IngressRule{rule}
	return i
}

// allPublished reports whether every Ingress has a status.
func (w *world) allPublished() error {
	pause(200 * time.Millisecond) // the answer is large
	all, err := w.Admin.Client.NetworkingV1().Ingresses("default").List(w.ctx, meta.ListOptions{})
	if err != nil {
		return err
	}
	missing := 0
	for _, i := range all.Items {
		if len(i.Status.LoadBalancer.Ingress) == 0 {
			missing++
		}
	}
	if missing > 0 {
		return fmt.Errorf("%d of %d Ingresses have no status", missing, len(all.Items))
	}
	return nil
}

// measure makes changes one at a time and prints what each costs: the time until it
// is served, the time of its compile, the CPU time of the daemon.
func (c *controller) measure(what string, times int, do func(n int) (served func() error)) {
	c.t.Helper()
	var took []time.Duration
	before, cpu := len(c.compiles()), c.cpu()
	for n := range times {
		pause(300 * time.Millisecond)
		served := do(n)
		acknowledged := time.Now()
		for err := served(); err != nil; err = served() {
			if time.Since(acknowledged) > 30*time.Second {
				c.t.Fatalf("%s, change %d: %v", what, n, err)
			}
		}
		took = append(took, time.Since(acknowledged))
	}
	c.quiet()
	used := c.cpu() - cpu
	compiles := c.compiles()[before:]
	slices.Sort(took)
	slices.Sort(compiles)
	c.t.Logf("%s: served after median %s, worst %s; %d compiles, median %s, worst %s; CPU %s a change",
		what, ms(took[len(took)/2]), ms(took[len(took)-1]),
		len(compiles), ms(compiles[len(compiles)/2]), ms(compiles[len(compiles)-1]), ms(used/time.Duration(times)))
}

// compiles are the times that compiling took so far, as the log says.
func (c *controller) compiles() (all []time.Duration) {
	for line := range strings.Lines(c.Log.String()) {
		var one struct {
			Msg  string
			Took time.Duration
		}
		if json.Unmarshal([]byte(line), &one) == nil && one.Msg == "compiled" {
			all = append(all, one.Took)
		}
	}
	return all
}

// quiet waits until the daemon has nothing to do: it uses no CPU time for a
// while.
func (c *controller) quiet() {
	c.t.Helper()
	last := c.cpu()
	if err := within(context.Background(), 5*time.Minute, func() error {
		pause(time.Second)
		now := c.cpu()
		defer func() { last = now }()
		if used := now - last; used > 50*time.Millisecond {
			return fmt.Errorf("it used %s within a second", used)
		}
		return nil
	}); err != nil {
		c.t.Fatal("the daemon does not come to rest:", err)
	}
}

// cpu is the CPU time that the daemon used so far.
func (c *controller) cpu() time.Duration {
	c.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID))
	if err != nil {
		c.t.Fatal(err)
	}
	// After the name in parentheses: the 12th and 13th are user and system time, in
	// hundredths of a second.
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var ticks int
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			c.t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// memory is one figure of /proc/PID/status in bytes.
func (c *controller) memory(name string) int64 {
	c.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.PID))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, name+": %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	c.t.Fatalf("no %s", name)
	return 0
}

func mib(bytes int64) string { return fmt.Sprintf("%.0f MiB", float64(bytes)/(1<<20)) }
