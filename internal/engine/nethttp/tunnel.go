package nethttp

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/upstream"
)

// tunnel answers 101 and copies bytes both ways until both sides have ended.
// It outlives any number of publishes: nothing of it looks at a table again.
func (s *response) tunnel() {
	x := s.x
	x.endUpload(s.c)
	if x.asked.upgrade == "" || !s.head.Upgrade || x.body && (x.upload == nil || x.upload.sentAt.Load() == 0) {
		x.reply(engine.ReplyUnaskedSwitch)
		return
	}
	conn, rw, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		x.reply(engine.ReplyUnaskedSwitch)
		return
	}
	g := x.client.gate
	g.open()
	x.rec.Status = http.StatusSwitchingProtocols

	client := tunnelEnd{g, g.abort, g.readWithin}
	endpoint := tunnelEnd{endpointWriter{s.c, x.e.options.StreamIdle}, s.c.Abort, s.c.ReadWithin}
	t := &tunnel{idle: x.e.options.TunnelIdle, client: client, endpoint: endpoint}
	g.serving.Store(nil) // from here the tunnel ends both
	x.e.tunnels.enter()
	defer x.e.tunnels.leave()
	x.e.upgraded.add(t)
	defer x.e.upgraded.remove(t)
	defer conn.Close()

	if _, err := conn.Write(s.switching()); err != nil {
		return
	}
	early, _ := rw.Reader.Peek(rw.Reader.Buffered())
	t.touch()
	conn.SetDeadline(time.Time{})
	x.e.inflight.leave() // a drain does not wait for tunnels
	defer x.e.inflight.enter()

	var both sync.WaitGroup
	both.Go(func() { t.copy(endpoint, client, early, &t.in) })
	t.copy(client, endpoint, s.take(int64(s.filled-s.start)), &t.out)
	both.Wait()
	x.bytesIn.Add(t.in.Load())
	x.rec.BytesOut += t.out.Load()
}

// endpointWriter bounds how long an endpoint may leave a write blocked, as the
// gate does for clients.
type endpointWriter struct {
	*upstream.Conn
	within time.Duration
}

func (w endpointWriter) Write(b []byte) (int, error) {
	return w.Conn.Write(b, w.within, nil)
}

// switching is the 101 head as the client gets it.
func (s *response) switching() []byte {
	h := make(http.Header, len(s.head.Fields))
	s.copyFields(h)
	b := []byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n")
	if up, ok := s.head.Field("Upgrade"); ok {
		b = appendField(b, "Upgrade", string(up))
	}
	for name, values := range h {
		for _, v := range values {
			b = appendField(b, name, v)
		}
	}
	return append(b, '\r', '\n')
}

// tunnel is what the two directions share.
type tunnel struct {
	idle time.Duration
	last atomic.Int64 // when a byte last crossed, Unix nanoseconds
	over atomic.Bool  // both ends were aborted
	in   atomic.Int64 // bytes from the client
	out  atomic.Int64 // bytes to the client

	client, endpoint tunnelEnd
}

func (t *tunnel) touch() { t.last.Store(time.Now().UnixNano()) }

// quiet reports whether nothing crossed for the idle time.
func (t *tunnel) quiet() bool {
	return t.idle > 0 && time.Since(time.Unix(0, t.last.Load())) >= t.idle
}

// tunnelEnd is one side of a tunnel.
type tunnelEnd struct {
	rw interface {
		io.Reader
		io.Writer
		closeWriter
	}
	abort  func()
	within func(time.Duration)
}

// copy moves bytes from one end to the other, early first, and passes the end
// of the stream on as a half-close. Any other error ends both directions.
func (t *tunnel) copy(to, from tunnelEnd, early []byte, count *atomic.Int64) {
	if len(early) > 0 {
		if _, err := to.rw.Write(early); err != nil {
			t.Close()
			return
		}
		count.Add(int64(len(early)))
	}
	buf := upstream.GetSmall()
	defer func() { upstream.PutBuffer(buf) }()
	for {
		from.within(t.idle)
		n, err := from.rw.Read(*buf)
		if n > 0 {
			t.touch()
			count.Add(int64(n))
			if _, err := to.rw.Write((*buf)[:n]); err != nil {
				break
			}
			if n == len(*buf) && n == upstream.Small {
				upstream.PutBuffer(buf)
				buf = upstream.GetLarge()
			}
			continue
		}
		if isDeadline(err) && !t.quiet() && !t.over.Load() {
			continue // the other direction is alive
		}
		if err == io.EOF && to.rw.CloseWrite() == nil {
			return
		}
		break
	}
	t.Close()
}

// Close ends both directions. It may be called from any goroutine, and again.
func (t *tunnel) Close() error {
	t.over.Store(true) // first: an aborted read looks like one that timed out
	t.client.abort()
	t.endpoint.abort()
	return nil
}
