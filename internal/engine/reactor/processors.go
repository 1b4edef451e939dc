package reactor

import (
	"runtime"
	"sync"
)

// processors sees to it that the scheduler has enough of them. A loop that is busy
// keeps one, also while it waits; all the rest of the process (the control plane,
// handshakes, HTTP/2, the garbage collector) needs others, or it would wait for the
// loops to become idle. There are as many for the rest as for the loops.
var processors struct {
	mu    sync.Mutex
	usual int // before the first loop
	loops int
}

// claimProcessors says that so many loops begin, or, below 0, that they have ended.
func claimProcessors(loops int) {
	p := &processors
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loops == 0 {
		p.usual = runtime.GOMAXPROCS(0)
	}
	p.loops += loops
	if want := max(p.usual, 2*p.loops); want != runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(want)
	}
}

// safepoint is a call that the runtime can stop the world at: the check is in the
// prologue, and a loop whose work is small and whose calls are raw may run for long
// without one. See docs/architecture.md.
//
//go:noinline
func safepoint() {
	var room [256]byte
	occupy(&room)
}

//go:noinline
func occupy(room *[256]byte) { room[0]++ }
