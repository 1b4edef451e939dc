package reactor

import (
	"errors"
	"strconv"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
)

// response is the answer on its way from the endpoint.
type response struct {
	parser    http1.Parser
	head      http1.ResponseHead
	chunked   http1.Chunked
	buf       window
	interim   int    // 1xx responses so far
	interimAt int64  // when the last one came
	left      int64  // of a body with a length
	coded     bool   // it goes to the client in chunks
	done      bool   // everything has come
	full      bool   // the last read filled its buffer
	nominated []byte // what Connection lists, for the trailers
}

// memory is what an ended response leaves for the next one.
func (r *response) memory(limits http1.Limits) response {
	r.parser.Reset()
	if cap(r.head.Fields) > manyFields {
		return response{parser: http1.Parser{Limits: limits}}
	}
	next := response{parser: r.parser, chunked: spare(r.chunked), nominated: r.nominated[:0]}
	next.parser.Limits = limits
	next.head.Fields = r.head.Fields[:0]
	return next
}

func (r *response) free(s *buffers) { r.buf.free(s) }

// rest gives the buffer back while nothing has come.
func (r *response) rest(s *buffers) {
	if r.buf.empty() {
		r.buf.free(s)
	}
}

// restart readies it for the answer of another connection.
func (r *response) restart(s *buffers) {
	r.free(s)
	r.parser.Reset()
}

// used says that n bytes of the buffer were sent.
func (r *response) used(n int) { r.buf.start += n }

// reusable reports whether the connection can serve another request, as far as the
// answer goes.
func (r *response) reusable() bool { return r.done && r.head.KeepAlive && r.buf.empty() }

// pumpResponse moves the answer on; more says that it could go on at once.
func (x *exchange) pumpResponse() (more bool) {
	for range moves {
		switch x.flush() {
		case blocked:
			return false
		case failed:
			x.clientGone()
			return false
		}
		if x.response.done {
			x.upload.discard()
			x.finish()
			return false
		}
		if x.state == xRelaying {
			x.shadow.Release()
			more = x.relay()
		} else {
			more = x.readAnswer()
		}
		if !more {
			return false
		}
	}
	return true
}

// readAnswer reads up to the next head and reports whether there is something to send.
func (x *exchange) readAnswer() bool {
	r := &x.response
	for {
		if !r.buf.empty() {
			n, err := r.parser.ParseResponse(r.buf.bytes(), string(x.req.Method) == "HEAD", &r.head)
			if err != nil {
				x.badAnswer(err)
				return false
			}
			if n > 0 {
				r.buf.start += n
				return x.headArrived()
			}
		}
		if !x.up.readable {
			r.rest(&x.loop.buffers)
			return false
		}
		room := r.buf.room(&x.loop.buffers)
		n, how := x.up.read(room)
		switch how {
		case blocked:
			r.rest(&x.loop.buffers)
			return false
		case ended, failed:
			x.failed(engine.Failure{Wrote: true, Closed: r.buf.empty() && r.interim == 0}, engine.ReplyUpstreamClosed)
			return false
		}
		r.full = n == len(room)
		x.moved = x.loop.now
		r.buf.end += n
		x.answered()
	}
}

// answered notes when the first byte of the answer has come.
func (x *exchange) answered() {
	if x.rec.Answered {
		return
	}
	sent := x.upload.headAt
	if x.upload.done {
		sent = x.upload.sentAt
	}
	x.rec.Answered = true
	x.rec.Latency = duration(x.loop.now - sent)
}

func (x *exchange) badAnswer(err error) {
	var e *http1.Error
	reply := engine.ReplyBadResponse
	if errors.As(err, &e) && e.Reason == "HeadTooLarge" {
		reply = engine.ReplyHeadTooLarge
	}
	x.failed(engine.Failure{Wrote: true}, reply)
}

// headArrived deals with a head of the answer.
func (x *exchange) headArrived() bool {
	r := &x.response
	x.up.home.http10 = r.head.Minor == 0
	switch {
	case r.head.Status == 101:
		return x.switchProtocols()
	case r.head.Status >= 200:
		return x.beginRelay()
	case r.interim == engine.MaxInterim:
		x.failed(engine.Failure{Wrote: true}, engine.ReplyTooMany1xx)
		return false
	}
	r.interim++
	r.interimAt = x.loop.now
	if x.req.Minor > 0 { // RFC 9110 section 15.2
		if x.out == nil {
			x.out = x.loop.small()[:0]
		}
		b := appendStatus(x.out, 1, r.head.Status)
		b = appendPassing(b, &r.head)
		x.out = append(b, '\r', '\n')
	}
	return true
}

// beginRelay writes the final head for the client, and the beginning of the body; false
// means that the body is broken and the exchange over.
func (x *exchange) beginRelay() bool {
	r := &x.response
	x.state = xRelaying
	x.rec.Status = r.head.Status
	x.closing = x.closing || !x.upload.whole()
	x.endsConnection()
	if x.upload.done { // it is not sent again: a long answer holds no more than it needs
		x.upload.free(&x.loop.buffers)
	}
	if x.out == nil {
		x.out = x.loop.small()[:0]
	}
	b := appendStatus(x.out, x.req.Minor, r.head.Status)
	b = appendPassing(b, &r.head)
	delimited := true
	switch r.head.Framing {
	case http1.FramingNone:
		r.done = true
		if r.head.ContentLength >= 0 && r.head.Status != 204 {
			b = appendLength(b, r.head.ContentLength)
		}
	case http1.FramingLength:
		r.left = r.head.ContentLength
		r.done = r.left == 0
		b = appendLength(b, r.left)
	default:
		if r.coded = x.req.Minor > 0; r.coded {
			b = append(b, "Transfer-Encoding: chunked\r\n"...)
		}
		delimited = r.coded
		if r.head.Framing == http1.FramingChunked {
			r.chunked.Reset(x.loop.engine.limits)
			r.nominated = appendNominations(r.nominated[:0], &r.head)
		}
	}
	b = x.appendConnection(b, delimited)
	x.out = append(b, '\r', '\n')
	if !r.done && !r.buf.empty() {
		x.readOn()
		return x.relayPiece()
	}
	return true
}

// readOn reads more of a body whose beginning filled a small buffer, so that it is sent
// together with that. Whatever else the read finds, the next one will too.
func (x *exchange) readOn() {
	r := &x.response
	if !r.full || !x.up.readable || len(r.buf.b) != small {
		return
	}
	r.buf.grow(&x.loop.buffers)
	room := r.buf.b[r.buf.end:]
	n, how := x.up.read(room)
	if how == moved {
		r.full = n == len(room)
		r.buf.end += n
	}
}

func appendLength(b []byte, n int64) []byte {
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, n, 10)
	return append(b, '\r', '\n')
}

// relay takes the next piece of the body, and reads it if need be; false means that
// there is nothing to send now.
func (x *exchange) relay() bool {
	r := &x.response
	if r.buf.empty() {
		if !x.up.readable {
			r.rest(&x.loop.buffers)
			return false
		}
		if r.full || r.left > small {
			r.buf.enlarge(&x.loop.buffers)
		}
		room := r.buf.room(&x.loop.buffers)
		n, how := x.up.read(room)
		switch how {
		case blocked:
			r.buf.free(&x.loop.buffers)
			return false
		case ended, failed:
			return x.bodyEnded(how)
		}
		r.full = n == len(room)
		x.moved = x.loop.now
		r.buf.end += n
	}
	return x.relayPiece()
}

// bodyEnded: the endpoint has ended the connection.
func (x *exchange) bodyEnded(how transfer) bool {
	r := &x.response
	if r.head.Framing != http1.FramingUntilClose || how != ended || x.up.broken {
		x.broken(false)
		return false
	}
	r.done = true
	if r.coded {
		x.write("0\r\n\r\n")
	}
	return true
}

// relayPiece readies what lies in the buffer to be sent.
func (x *exchange) relayPiece() bool {
	r := &x.response
	switch {
	case r.head.Framing == http1.FramingChunked:
		return x.relayChunks()
	case r.head.Framing == http1.FramingLength:
		b := r.buf.bytes()
		x.direct = b[:min(int64(len(b)), r.left)]
		r.left -= int64(len(x.direct))
		r.done = r.left == 0
		x.rec.BytesOut += int64(len(x.direct))
	case r.coded:
		x.roomForChunks()
		b := r.buf.bytes()
		b = b[:min(len(b), cap(x.out)-len(x.out)-chunkFraming)]
		x.out = appendChunk(x.out, b)
		r.buf.start += len(b)
		x.rec.BytesOut += int64(len(b))
	default:
		x.direct = r.buf.bytes()
		x.rec.BytesOut += int64(len(x.direct))
	}
	return true
}

// roomForChunks makes sure that out can take a good part of the buffer.
func (x *exchange) roomForChunks() {
	if x.out == nil {
		x.out = x.loop.sized(len(x.response.buf.b))[:0]
		return
	}
	if cap(x.out)-len(x.out) < small/2 {
		grown := append(x.loop.large()[:0], x.out...)
		x.loop.put(x.out)
		x.out = grown
	}
}

// relayChunks decodes a chunked body and codes it anew.
func (x *exchange) relayChunks() bool {
	r := &x.response
	if r.coded {
		x.roomForChunks()
	}
	for !r.buf.empty() && !r.chunked.Done() {
		src := r.buf.bytes()
		if r.coded {
			room := cap(x.out) - len(x.out) - chunkFraming
			if room < chunkFraming {
				return true
			}
			src = src[:min(len(src), room)]
		}
		data, n, err := r.chunked.Next(src)
		if err != nil {
			x.broken(false)
			return false
		}
		x.rec.BytesOut += int64(len(data))
		if r.coded {
			x.out = appendChunk(x.out, data)
			r.buf.start += n
			continue
		}
		r.buf.start += n - len(data) // data are the last of the n
		if x.direct = data; len(data) > 0 {
			return true
		}
	}
	if r.chunked.Done() {
		r.done = true
		if r.coded {
			x.write("0\r\n")
			x.out = appendTrailers(x.out, r.chunked.Trailer(), r.nominated)
			x.write("\r\n")
		}
	}
	return true
}

// broken ends a response whose body broke off. The client must see that it is not
// whole: its connection is cut.
func (x *exchange) broken(late bool) {
	x.rec.Cut, x.rec.Truncated = true, true
	m := x.loop.engine.metrics
	m.UpstreamTruncated.Inc()
	if late {
		m.UpstreamTimeouts.Inc()
	}
	x.loop.engine.log.Debug("an endpoint broke off its response", "backend", x.rec.Plan.Backend.Name, "endpoint", x.rec.Endpoint.Address)
	if x.pending() {
		x.flush()
	}
	if x.req.Minor == 0 {
		// To HTTP/1.0 the end of the connection is the end of the body: only a reset
		// says that it is not.
		sysAbort(x.c.fd)
		x.c.broken = true // not even TLS says goodbye
	}
	x.abandon()
}
