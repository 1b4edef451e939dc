package nethttp

import (
	"io"
	"os"
	"time"
)

// hangupEvery is how often a client whose next request is waiting already is looked
// after. Nothing of it is read then, so nothing says by itself that it has gone.
const hangupEvery = 50 * time.Millisecond

// watchClient is net/http's background read: a byte that it asks for while a request
// is served, to notice that the client ends the connection. It never gets one. What
// comes meanwhile is the next request: that waits here for its turn, and the end of
// the connection, which a single byte would hide, is seen behind it.
func (g *gate) watchClient(p []byte) error {
	for while := patience; g.park(while); while = hangupEvery {
		if g.cleared > 0 || g.refusal != nil {
			if g.raw.hungUp() {
				g.clientGone()
				return io.EOF
			}
			continue
		}
		if len(g.pending) == 0 {
			n, err := g.fill(p) // no buffer for a client that only waits
			if n == 0 {
				return err
			}
			g.hold(p[:n])
		} else if err := g.more(); err != nil {
			return err
		}
		g.pending, g.cleared = g.admit(g.pending)
	}
	return os.ErrDeadlineExceeded
}
