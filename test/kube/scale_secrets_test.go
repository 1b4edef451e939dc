//go:build cluster && bench

package kube

import (
	"crypto/rand"
	"flag"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// strangerSize is how large a Secret of somebody else is, in KiB. K08 has 100, which takes
// a gigabyte in etcd and several in the API server.
var strangerSize = flag.Int("secret", 1, "KiB in each Secret of TestScaleSecrets")

// TestScaleSecrets (K08): 10,000 Opaque Secrets cost a replica nothing. They are not sent to
// it when they are made or when it starts, and change nothing in how long that takes and
// how large it is. It prints figures, and judges what came over the wire.
func TestScaleSecrets(t *testing.T) {
	const count = 10_000
	w := own(t)
	p, a := w.proxied()
	w.secured("shop.test")
	// starts returns what the API server sent to a replica that became ready, the medians of
	// five.
	starts := func(what string) int64 {
		var sent, memory []int64
		var took []time.Duration
		for range 5 {
			before := p.Sent()
			c := w.launch(a, "--no-status-update")
			c.ready()
			took = append(took, time.Since(c.Started))
			c.is("shop.test", "/", "shop")
			c.quiet()
			sent, memory = append(sent, p.Sent()-before), append(memory, c.PeakMemory())
			c.Signal(syscall.SIGTERM)
			c.Exit()
		}
		slices.Sort(sent)
		slices.Sort(memory)
		slices.Sort(took)
		t.Logf("%s: ready after %s (%s to %s), %s at most; the API server sent %d KiB (%d to %d)", what,
			ms(took[2]), ms(took[0]), ms(took[4]), mib(memory[2]), sent[2]>>10, sent[0]>>10, sent[4]>>10)
		return sent[2]
	}
	alone := starts("no other Secrets")

	c := w.launch(a, "--no-status-update")
	c.ready()
	c.quiet()
	before, resident, cpu := p.Sent(), c.memory("VmRSS"), c.cpu()
	var objects []runtime.Object
	for n := range count {
		blob := make([]byte, *strangerSize<<10)
		_, _ = rand.Read(blob) // what comes over the wire is compressed
		objects = append(objects, opaque(fmt.Sprint("blob-", n), "blob", blob))
	}
	begun := time.Now()
	w.putAll(objects)
	t.Logf("%d Secrets of %d KiB written in %s", count, *strangerSize, time.Since(begun).Round(100*time.Millisecond))
	sent := p.Sent() - before
	t.Logf("a replica meanwhile: sent to it %d KiB, it used %s of CPU, and has %s; before %s", sent>>10, ms(c.cpu()-cpu), mib(c.memory("VmRSS")), mib(resident))
	if g := c.generations(); g.Serving != 1 {
		t.Errorf("generation %d serves, want 1", g.Serving)
	}
	crowded := starts("10,000 other Secrets")
	const most = 256 << 10 // what else comes in that time, such as renewals of the Lease; a hundred bytes of each would be four times that
	if sent > most || crowded-alone > most {
		t.Errorf("they were sent: %d KiB as they came, %d KiB more at a start", sent>>10, (crowded-alone)>>10)
	}
	for line := range strings.Lines(w.kubectl("", "get", "--raw", "/metrics")) {
		if has(line, "apiserver_request_total", `resource="secrets"`) && !has(line, `verb="POST"`) {
			t.Log(strings.TrimSpace(line))
		}
	}
}
