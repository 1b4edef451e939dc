package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/charmbracelet/x/term"

	"ramjet.dev/ingress/internal/soak/control"
)

// redraw is how often the line of a terminal is written anew.
const redraw = 200 * time.Millisecond

// progress shows how a deploy goes: on a terminal in one line that is redrawn, with
// what happens above it; elsewhere a line for each thing that happens.
type progress struct {
	s        streams
	version  string
	terminal bool

	mu    sync.Mutex
	last  control.Status
	at    time.Time // of last
	known bool
	drawn bool
	said  string // the last line, so that nothing is said twice

	stop chan struct{}
	done sync.WaitGroup
	once sync.Once
}

func newProgress(s streams, version string) *progress {
	p := &progress{s: s, version: version, terminal: isTerminal(s.out), stop: make(chan struct{})}
	if p.terminal {
		p.done.Go(p.draws)
	}
	return p
}

// isTerminal reports whether what is written to w is seen on a terminal.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}

// end stops drawing and leaves the line empty.
func (p *progress) end() {
	p.once.Do(func() {
		close(p.stop)
		p.done.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.erase()
	})
}

func (p *progress) draws() {
	t := time.NewTicker(redraw)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// say writes a line that stays.
func (p *progress) say(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line == p.said {
		return
	}
	p.said = line
	p.erase() // and drawn again in a moment, when the status is known that goes with it
	fmt.Fprintln(p.s.out, line)
}

// status takes note of how things stand.
func (p *progress) status(st control.Status) {
	first := !p.known
	p.mu.Lock()
	broken := st.LedgerError != "" && st.LedgerError != p.last.LedgerError && st.Starting != p.version
	p.last, p.at, p.known = st, time.Now(), true
	p.mu.Unlock()
	if broken {
		p.say("what happens from here is judged when the ledger can be written again: " + st.LedgerError)
	}
	switch {
	case !first:
	case st.Starting == p.version:
		p.say(p.version + " is being started")
	case st.State == "soaking" && st.Current == p.version:
		left := time.Duration(st.WindowLeftMS) * time.Millisecond
		p.say(fmt.Sprintf("%s serves already, on probation for another %s", p.version, left.Round(time.Second)))
	}
}

func (p *progress) erase() {
	if p.drawn {
		fmt.Fprint(p.s.out, "\r\x1b[K")
		p.drawn = false
	}
}

// draw writes the line of a terminal.
func (p *progress) draw() {
	if !p.terminal || !p.known {
		return
	}
	fmt.Fprint(p.s.out, "\r\x1b[K"+p.line(time.Since(p.at)))
	p.drawn = true
}

// line is how things stand, a while after that was told.
func (p *progress) line(since time.Duration) string {
	st := p.last
	switch {
	case st.Starting == p.version:
		return fmt.Sprintf("%s  starting, waiting until it is ready; %s serves", p.version, st.Current)
	case st.State == "soaking" && st.Current == p.version:
		left := max(time.Duration(st.WindowLeftMS)*time.Millisecond-since, 0)
		whole := time.Duration(st.WindowMS) * time.Millisecond
		return fmt.Sprintf("%s  soaking  %s %s of %s left  restarts %d of %d", p.version,
			bar(whole-left, whole), left.Round(time.Second), whole, st.Restarts, st.MaxRestarts)
	}
	return fmt.Sprintf("%s  %s; %s serves", p.version, st.State, st.Current)
}

// bar draws how much of a whole is over.
func bar(over, whole time.Duration) string {
	const width = 20
	n := 0
	if whole > 0 {
		n = int(over * width / whole)
	}
	b := []byte("[....................]")
	for i := range min(n, width) {
		b[1+i] = '#'
	}
	return string(b)
}
