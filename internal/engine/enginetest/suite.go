package enginetest

import (
	"os"
	"sync"
	"testing"
)

// T is one test of the suite: a testing.T that knows how to make the engine.
type T struct {
	*testing.T
	New New
}

// Start runs an engine until the end of the test.
func (t *T) Start(s Setup) *Proxy {
	t.Helper()
	return Start(t.T, t.New, s)
}

// Run runs fn as a part of the test.
func (t *T) Run(name string, fn func(*T)) {
	t.Helper()
	t.T.Run(name, func(sub *testing.T) { fn(&T{sub, t.New}) })
}

// Together runs the parts of a test that wait for real time, all at once.
func (t *T) Together(parts map[string]func(*T)) {
	t.Helper()
	var all sync.WaitGroup
	for name, part := range parts {
		all.Go(func() { t.Run(name, part) })
	}
	all.Wait()
}

// features are the tests of one subject, by what they show.
type features map[string]func(*T)

// subjects is the suite; each file of this package brings one or two.
var subjects = map[string]features{
	"broken":   broken,
	"canary":   canary,
	"connect":  connect,
	"drain":    drain,
	"early":    early,
	"exchange": exchanges,
	"gone":     gone,
	"grpc":     grpcFeatures,
	"h2c":      h2Backend,
	"http2":    http2Features,
	"h2stream": h2BackendStreams,
	"limits":   limits,
	"mirror":   mirrors,
	"numbers":  numbers,
	"proxied":  proxied,
	"publish":  publishing,
	"replies":  replies,
	"reuse":    reuse,
	"routing":  routing,
	"secure":   secure,
	"stall":    stall,
	"stream":   stream,
	"trailers": trailers,
	"tunnel":   tunnels,
	"upgrade":  upgrade,
}

// Run runs the suite against the engine that make makes. It speaks to it only
// through sockets, records and counters.
func Run(t *testing.T, make New) {
	// Real time passes in there, and on a machine that is busy with the rest
	// everybody would look like a peer that stalls. So these go first, and all at
	// once, since they only wait.
	t.Run("timeouts", func(t *testing.T) { (&T{t, make}).Together(timeouts) })
	t.Run("resets", func(t *testing.T) {
		for name, feature := range resets {
			t.Run(name, func(t *testing.T) { feature(&T{t, make}) })
		}
	})
	for subject, list := range subjects {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			for name, feature := range list {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					feature(&T{t, make})
				})
			}
		})
	}
}

// often is how many times a test repeats what must hold every time. The default
// keeps the suite quick; RAMJET_SLOW=1 is for the long run.
var often = func() int {
	if os.Getenv("RAMJET_SLOW") == "1" {
		return 1000
	}
	return 100
}()
