package nethttp

import (
	"context"
	"time"
)

// A connection that is closed while its client is still sending is reset, and
// the reset destroys the answer that the client has not read yet. So the answer
// is followed by FIN, and what the client still sends is read and thrown away
// for a while (RFC 9112 §9.6). The numbers are nginx's.
const (
	lingerIdle  = 5 * time.Second
	lingerTotal = 30 * time.Second
)

// acceptPause follows a failed accept (out of descriptors): trying again at
// once would only burn a core.
const acceptPause = 50 * time.Millisecond

type closeWriter interface{ CloseWrite() error }

// linger half-closes c, drains raw until the peer closes or the time is over,
// and closes it. raw is the TCP connection below c.
func linger(c closeWriter, raw *counted) {
	defer raw.Close()
	c.CloseWrite()
	if tcp, ok := c.(*counted); !ok || tcp != raw {
		raw.CloseWrite() // TLS's CloseWrite sends close_notify but no FIN
	}
	end := time.Now().Add(lingerTotal)
	b := make([]byte, 4<<10)
	for {
		idle := time.Now().Add(lingerIdle)
		if end.Before(idle) {
			idle = end
		}
		if raw.TCPConn.SetReadDeadline(idle) != nil {
			return
		}
		if _, err := raw.TCPConn.Read(b); err != nil {
			return
		}
	}
}

// pause waits for d or the end of ctx; it reports whether d passed.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
