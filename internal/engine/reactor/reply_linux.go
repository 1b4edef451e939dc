package reactor

import (
	"net/http"
	"strconv"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
)

// reply begins an answer of the proxy's own.
func (x *exchange) reply(p *engine.Reply) {
	x.dropUpstream()
	x.rec.Status = p.Status
	x.state = xReplying
	line := p.Line()
	if x.out == nil {
		x.out = x.loop.small()[:0]
	}
	if !x.upload.taken && !x.isShort() {
		x.closing = true
	}
	x.endsConnection()
	b := appendStatus(x.out, x.req.Minor, p.Status)
	b = append(b, "Content-Type: text/plain\r\nContent-Length: "...)
	b = strconv.AppendInt(b, int64(len(line)), 10)
	b = append(b, "\r\n"...)
	if p.Allow != "" {
		b = appendField(b, "Allow", p.Allow)
	}
	if p.Unsupported != "" {
		b = appendField(b, "X-Ramjet-Unsupported", p.Unsupported)
	}
	b = append(b, "Date: "...)
	b = x.loop.clock.UTC().AppendFormat(b, http.TimeFormat)
	b = append(b, "\r\n"...)
	b = x.appendConnection(b, true)
	b = append(b, "\r\n"...)
	if string(x.req.Method) != http.MethodHead {
		b = append(b, line...)
		x.rec.BytesOut += int64(len(line))
	}
	x.out = b
	x.moved = x.loop.now
	x.endReply()
}

// endsConnection decides whether the client's connection ends with this exchange.
func (x *exchange) endsConnection() {
	x.closing = x.closing || !x.req.KeepAlive || x.loop.engine.draining.Load()
}

// appendConnection tells the client what becomes of the connection. HTTP/1.0 has to be
// told of the unusual case, which needs a length.
func (x *exchange) appendConnection(b []byte, delimited bool) []byte {
	switch {
	case x.req.Minor == 0 && !delimited:
		x.closing = true
	case x.req.Minor == 0 && !x.closing:
		return append(b, "Connection: keep-alive\r\n"...)
	case x.req.Minor > 0 && x.closing:
		return append(b, "Connection: close\r\n"...)
	}
	return b
}

// isShort reports whether a body that nobody has begun to read is on its way anyway and
// so small that reading it costs less than a new connection.
func (x *exchange) isShort() bool {
	_, expects := x.req.Field("Expect")
	return !x.upload.begun && x.req.Framing == http1.FramingLength && x.req.ContentLength <= shortBody && !expects
}

// shortBody is the longest body that is short.
const shortBody = 64 << 10

// endReply sends the rest of the answer, reads the rest of a short body, and ends the
// exchange.
func (x *exchange) endReply() {
	switch x.flush() {
	case blocked:
		return
	case failed:
		x.clientGone()
		return
	}
	if x.closing {
		x.finish()
		return
	}
	x.state = xSkipping
	if x.skipBody() {
		x.finish()
	}
}

// skipBody throws the rest of the body away and reports whether that was all.
func (x *exchange) skipBody() (all bool) {
	u := &x.upload
	for !u.taken {
		from := u.from()
		if from.empty() {
			if !x.c.canRead() {
				return false
			}
			n, how := x.c.read(from.room(&x.loop.buffers))
			switch how {
			case blocked:
				return false
			case ended, failed:
				x.clientGone()
				return false
			}
			x.moved = x.loop.now
			from.end += n
		}
		n := min(int64(from.end-from.start), u.left)
		from.start += int(n)
		u.left -= n
		u.taken = u.left == 0
	}
	return true
}
