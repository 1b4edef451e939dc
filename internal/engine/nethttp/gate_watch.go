package nethttp

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/upstream"
)

// hangupEvery is how often a client is looked after whose next request is waiting
// already, or whose body is not read yet. Nothing of it is read then, so nothing says by
// itself that it has gone.
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

// dial connects to an endpoint for as long as the client is there. net/http notices that
// it goes away when it has nothing to read from it but the next request, so while a body
// is unread, which is for as long as there is no connection, the gate looks after it.
func (x *exchange) dial(ep *route.Endpoint) (*upstream.Conn, error) {
	if x.r.ProtoMajor != 1 || !x.bodyUnread() {
		return x.e.pools.Dial(x.r.Context(), ep.Address)
	}
	ctx, cancel := context.WithCancel(x.contextUntilGone())
	defer x.watchH2(cancel)()
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	looking.Go(func() { x.client.gate.lookForHangup(ctx) })
	return x.e.pools.Dial(ctx, ep.Address)
}

// lookForHangup looks after a client of which nothing is read, until ctx ends.
func (g *gate) lookForHangup(ctx context.Context) {
	look := time.NewTicker(hangupEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if g.raw.hungUp() {
				g.clientGone()
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
