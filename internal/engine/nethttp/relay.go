package nethttp

import (
	"io"
	"net/http"
	"slices"
	"time"

	"ramjet.dev/ingress/internal/deadline"
	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/upstream"
)

// relayBody streams the body, whatever delimits it.
func (s *response) relayBody() error {
	b := bodyWriter{x: s.x}
	switch s.head.Framing {
	case http1.FramingNone:
		return nil
	case http1.FramingLength:
		return s.relayLength(&b)
	case http1.FramingChunked:
		return s.relayChunked(&b)
	default:
		return s.relayUntilClose(&b)
	}
}

// relayLength relays a body of a known length.
func (s *response) relayLength(b *bodyWriter) error {
	left := s.head.ContentLength
	for {
		piece := s.take(left)
		left -= int64(len(piece))
		if err := b.write(piece, left == 0 || s.more()); err != nil || left == 0 {
			return err
		}
		if err := s.refill(); err != nil {
			return noEOF(err)
		}
	}
}

// relayChunked decodes a chunked body; net/http chunks it anew for HTTP/1.1.
func (s *response) relayChunked(b *bodyWriter) error {
	s.chunked.Reset(s.x.e.limits)
	for {
		more := s.more()
		for s.start < s.filled && !s.chunked.Done() {
			data, n, err := s.chunked.Next((*s.buf)[s.start:s.filled])
			if err != nil {
				return err
			}
			s.start += n
			if err := b.write(data, true); err != nil {
				return err
			}
		}
		if s.chunked.Done() {
			return b.trailers(s.chunked.Trailer(), s.nominated)
		}
		if !more {
			if err := b.flush(); err != nil {
				return err
			}
		}
		if err := s.refill(); err != nil {
			return noEOF(err)
		}
	}
}

// relayUntilClose relays a body that its server ends by closing.
func (s *response) relayUntilClose(b *bodyWriter) error {
	for {
		if err := b.write(s.take(int64(s.filled-s.start)), s.more()); err != nil {
			return err
		}
		if err := s.refill(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// take returns up to most bytes of what is in the buffer and marks them used.
func (s *response) take(most int64) []byte {
	n := int(min(most, int64(s.filled-s.start)))
	piece := (*s.buf)[s.start : s.start+n]
	s.start += n
	return piece
}

// full reports whether the last read filled the buffer.
func (s *response) full() bool { return s.filled == len(*s.buf) }

// more reports whether the endpoint has more at hand, so that there is no hurry
// to flush. A buffer filled to the byte is no proof: what is in it may be all
// that comes for an hour.
func (s *response) more() bool { return s.full() && s.c.Waiting() }

// refill reads more of the body into the buffer, all of which has been used. A
// body that fills the small buffer gets a large one.
func (s *response) refill() error {
	if s.full() && len(*s.buf) < upstream.Large {
		s.free()
		s.buf = upstream.GetLarge()
	}
	s.start, s.filled = 0, 0
	s.c.ReadWithin(s.x.e.options.StreamIdle)
	n, err := s.c.Read(*s.buf)
	s.filled = n
	if n > 0 {
		if s.x.upload != nil {
			s.x.upload.received()
		}
		return nil
	}
	return err
}

// noEOF turns an end that came too early into what it is.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// bodyWriter writes a body to the client.
type bodyWriter struct {
	x        *exchange
	deadline deadline.Lazy // of HTTP/2 streams; HTTP/1 connections have the gate's
}

// frame is what a write to an HTTP/2 stream is at most: its deadline holds for all of a
// write, however much of it the client has taken meanwhile. Frames are not larger,
// unless a client asks for that.
const frame = 16 << 10

// write sends b on, and out of net/http's buffers unless more is coming soon.
func (w *bodyWriter) write(b []byte, more bool) error {
	for len(b) > 0 {
		piece := b
		if w.x.r.ProtoMajor != 1 {
			piece = b[:min(len(b), frame)]
		}
		w.within()
		n, err := w.x.w.Write(piece)
		w.x.rec.BytesOut += int64(n)
		if err != nil {
			return &clientError{err}
		}
		b = b[len(piece):]
	}
	if more {
		return nil
	}
	return w.flush()
}

func (w *bodyWriter) flush() error {
	w.within()
	rc := http.NewResponseController(w.x.w)
	if err := rc.Flush(); err != nil {
		return &clientError{err}
	}
	w.x.shadow.Release()
	if w.x.r.ProtoMajor != 1 && w.x.bodyUnread() {
		// This response may be silent for as long as the upload moves.
		w.deadline = deadline.Lazy{}
		rc.SetWriteDeadline(time.Time{})
		return nil
	}
	w.within()
	return nil
}

// trailers hands on the trailer fields that may cross; the kernel has dropped the
// others. net/http gives a short HTTP/1.1 body a length unless it was flushed
// before, and only a chunked one has trailers.
func (w *bodyWriter) trailers(fields []http1.Field, nominated []string) error {
	fields = slices.DeleteFunc(fields, func(f http1.Field) bool {
		name := canonical(f.Name)
		return engine.ResponseField(name) == engine.FieldDrop || engine.NamesToken(nominated, name)
	})
	if len(fields) == 0 {
		return nil
	}
	if err := w.flush(); err != nil {
		return err
	}
	h := w.x.w.Header()
	for _, f := range fields {
		name := http.TrailerPrefix + canonical(f.Name)
		h[name] = append(h[name], string(f.Value))
	}
	return nil
}

// within bounds how long a client may leave the next write blocked. The deadline
// of an HTTP/2 stream ends it whether or not a write is blocked, so it comes after
// the one of the endpoint, which is to blame for a silence.
func (w *bodyWriter) within() {
	if w.x.r.ProtoMajor == 1 {
		return
	}
	idle := w.x.e.options.StreamIdle
	if at, change := w.deadline.Next(time.Now(), idle+idle/4); change {
		http.NewResponseController(w.x.w).SetWriteDeadline(at)
	}
}
