package rebuild

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// spread does a piece of work for each of 0 to n-1 on all processors, and returns when all
// are done.
func spread(n int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var running sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		running.Go(work)
	}
	work()
	running.Wait()
}
