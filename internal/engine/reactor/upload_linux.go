package reactor

import (
	"errors"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
)

// upload is the request on its way to the endpoint: its head and its body.
type upload struct {
	x     *exchange
	head  []byte // what is sent, from sent on
	sent  int
	coded []byte // pieces of a chunked body as they are sent, from done on
	gone  int
	left  int64 // of a body with a length: what the client has yet to send, or we to take

	begun     bool // the body may have been asked for or sent
	taken     bool // the client's body was taken to its end
	bodyTaken bool // a byte of it was taken: it cannot be sent again
	done      bool // everything is with the kernel
	broken    bool // the endpoint takes no more
	full      bool // the last read filled its buffer
	headAt    int64
	sentAt    int64         // when done or broken came
	fault     *engine.Reply // what is wrong with the body; told once the rest is sent
}

// begin readies it for a request.
func (u *upload) begin(x *exchange) {
	u.x = x
	u.taken = !x.body
	switch x.req.Framing {
	case http1.FramingLength:
		u.left = x.req.ContentLength
	case http1.FramingChunked:
		x.chunked.Reset(x.loop.engine.limits)
	}
}

// restart readies it for another endpoint.
func (u *upload) restart() {
	u.sent, u.headAt, u.sentAt = 0, 0, 0
	u.begun, u.done, u.broken = true, false, false
}

func (u *upload) free(s *buffers) {
	if u.head != nil {
		s.put(u.head)
	}
	if u.coded != nil {
		s.put(u.coded)
	}
	u.head, u.coded = nil, nil
}

// from is where the client's next bytes are, or go.
func (u *upload) from() *window {
	if !u.x.in.empty() {
		return &u.x.in
	}
	return &u.x.more
}

// whole reports whether the client has sent its whole body.
func (u *upload) whole() bool {
	return u.taken || u.x.req.Framing == http1.FramingLength && int64(len(u.from().bytes())) >= u.left
}

// discard takes what is there of the body.
func (u *upload) discard() {
	if !u.taken && u.whole() {
		u.from().start += int(u.left)
		u.left, u.taken = 0, true
	}
}

// pumpUpload moves the request on; more says that it could go on at once.
func (x *exchange) pumpUpload() (more bool) {
	u := &x.upload
	if u.done || u.broken {
		return false
	}
	if u.sent == 0 {
		u.gather()
	}
	for range moves {
		piece := u.piece()
		head := u.head[u.sent:]
		if len(head)+len(piece) == 0 {
			if u.fault != nil {
				x.badBody(u.fault)
				return false
			}
			if u.taken {
				u.done, u.sentAt = true, x.loop.now
				return false
			}
			if !u.read() {
				return false
			}
			continue
		}
		n, how := x.up.send(head, piece)
		if n > 0 {
			x.moved = x.loop.now
			u.account(n, len(head))
		}
		switch how {
		case blocked:
			return false
		case failed:
			x.uploadBroke()
			return false
		}
	}
	return true
}

// gather reads more of a body whose beginning filled the buffer of the head, so that it
// is sent together with that.
func (u *upload) gather() {
	x := u.x
	in := &x.in
	if in.empty() || in.end < len(in.b) || u.left <= int64(in.end-in.start) || !x.c.canRead() || x.more.b != nil {
		return
	}
	x.more.enlarge(&x.loop.buffers)
	x.more.end = copy(x.more.b, in.bytes())
	in.start = in.end
	room := x.more.b[x.more.end:]
	n, how := x.c.read(room)
	switch how {
	case moved:
		u.full = n == len(room)
		x.more.end += n
	case ended, failed:
		x.c.hup = true // which is seen before the next move
	}
}

// piece is what can be sent of the body now.
func (u *upload) piece() []byte {
	if u.taken && u.coded == nil {
		return nil
	}
	if u.x.req.Framing == http1.FramingChunked {
		return u.codedPiece()
	}
	b := u.from().bytes()
	return b[:min(int64(len(b)), u.left)]
}

// codedPiece decodes what the client has sent and codes it anew: extensions of chunks
// are for one hop.
func (u *upload) codedPiece() []byte {
	if u.gone < len(u.coded) {
		return u.coded[u.gone:]
	}
	x, from := u.x, u.from()
	if from.empty() || u.taken || u.fault != nil {
		if u.coded != nil {
			x.loop.put(u.coded)
			u.coded = nil
		}
		u.gone = 0
		return nil
	}
	if u.coded == nil {
		u.coded = x.loop.sized(len(from.b))[:0]
	}
	b := u.coded[:0]
	for !from.empty() && !x.chunked.Done() && cap(b)-len(b) > 2*chunkFraming {
		src := from.bytes()
		src = src[:min(len(src), cap(b)-len(b)-chunkFraming)]
		data, n, err := x.chunked.Next(src)
		if err != nil {
			u.fault = refusal(err)
			break
		}
		from.start += n
		b = appendChunk(b, data)
		x.rec.BytesIn += int64(len(data))
		x.shadow.Add(data, false)
	}
	if x.chunked.Done() {
		u.taken = true
		b = u.appendEnd(b)
		x.shadow.Add(nil, true)
	}
	u.bodyTaken = true
	u.coded, u.gone = b, 0
	return b
}

// appendEnd appends the last chunk and the trailers that may cross.
func (u *upload) appendEnd(b []byte) []byte {
	b = append(b, "0\r\n"...)
	trailer := u.x.chunked.Trailer()
	for i := range trailer {
		if u.x.head.trailerPasses(trailer[i].Name) {
			b = appendField(b, text(trailer[i].Name), text(trailer[i].Value))
		}
	}
	return append(b, "\r\n"...)
}

// account books n bytes that were sent, of which the first belong to the head.
func (u *upload) account(n, head int) {
	x := u.x
	if head > 0 && n >= head {
		u.headAt = x.loop.now
	}
	u.sent += min(n, head)
	n -= min(n, head)
	switch {
	case n == 0:
	case x.req.Framing == http1.FramingChunked:
		u.gone += n
	default:
		from := u.from()
		u.bodyTaken = true
		x.rec.BytesIn += int64(n)
		u.left -= int64(n)
		u.taken = u.left == 0
		x.shadow.Add(from.b[from.start:from.start+n], u.taken)
		from.start += n
	}
}

// rest gives a buffer back while nothing has come.
func (u *upload) rest(from *window) {
	if from.empty() {
		from.free(&u.x.loop.buffers)
	}
}

// read reads more of the body and reports whether something came.
func (u *upload) read() bool {
	x, from := u.x, u.from()
	if !x.c.canRead() {
		u.rest(from)
		return false
	}
	if u.full || u.left > small {
		from.enlarge(&x.loop.buffers)
	}
	room := from.room(&x.loop.buffers)
	n, how := x.c.read(room)
	switch how {
	case blocked:
		u.rest(from)
		return false
	case ended, failed:
		x.clientGone()
		return false
	}
	u.full = n == len(room)
	x.moved = x.loop.now
	from.end += n
	return true
}

// badBody ends an exchange whose client broke the rules in the middle of its body.
func (x *exchange) badBody(fault *engine.Reply) {
	if x.state == xRelaying {
		x.rec.Cut = true
		x.abandon()
		return
	}
	x.reply(fault)
}

// uploadBroke: the endpoint takes no more. It may have answered before.
func (x *exchange) uploadBroke() {
	u := &x.upload
	if u.sent == 0 && !u.bodyTaken && x.state == xAsking {
		x.failed(engine.Failure{Closed: true}, engine.ReplyUpstreamClosed)
		return
	}
	u.broken, u.sentAt = true, x.loop.now
	x.up.readable = true
}

// refusal is the answer to a message that http1 refused.
func refusal(err error) *engine.Reply {
	var e *http1.Error
	if errors.As(err, &e) {
		return &engine.Reply{Status: e.Status, Text: e.Text}
	}
	return &engine.Reply{Status: 400, Text: "the request is malformed"}
}
