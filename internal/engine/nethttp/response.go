package nethttp

import (
	"errors"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/engine"
	"ramjet.dev/ingress/internal/http1"
	"ramjet.dev/ingress/internal/upstream"
)

// response reads an endpoint's answer and relays it.
type response struct {
	x    *exchange
	c    *upstream.Conn
	sent time.Time // when the request head was

	parser  http1.Parser
	head    http1.ResponseHead
	chunked http1.Chunked

	// nominated are the values of Connection, when they name more than hop-by-hop
	// fields: trailers have to be held against them after the head is gone.
	nominated []string

	buf    *[]byte
	start  int // the first byte of buf that was not used yet
	filled int // where the bytes read into buf end
}

// badResponse is an answer that cannot be relayed.
type badResponse struct{ reply *engine.Reply }

func (b *badResponse) Error() string { return b.reply.Text }

// begin readies the memory for one attempt.
func (s *response) begin(x *exchange, c *upstream.Conn, sent time.Time) *response {
	*s = s.memory()
	s.x, s.c, s.sent = x, c, sent
	return s
}

// memory is what an ended response leaves for the next one.
func (s *response) memory() response {
	fields := s.head.Fields
	clear(fields)
	if cap(fields) > manyFields {
		return response{}
	}
	s.parser.Reset()
	return response{parser: s.parser, head: http1.ResponseHead{Fields: fields[:0]}, chunked: s.chunked}
}

func (s *response) free() {
	if s.buf != nil {
		upstream.PutBuffer(s.buf)
		s.buf = nil
	}
}

// readHead reads up to the final head and relays interim ones.
func (s *response) readHead() error {
	s.parser.Limits = s.x.e.limits
	s.buf = upstream.GetSmall()
	for interim := 0; ; interim++ {
		if err := s.nextHead(); err != nil {
			return err
		}
		s.c.Spoke(s.head.Minor == 0)
		if s.head.Status >= 200 || s.head.Status == http.StatusSwitchingProtocols {
			return nil
		}
		if interim == engine.MaxInterim {
			return &badResponse{engine.ReplyTooMany1xx}
		}
		s.interim()
		if u := s.x.upload; u == nil || u.sentAt.Load() > 0 {
			s.c.ReadWithin(s.x.e.options.ResponseTimeout) // for the next head
		}
	}
}

// nextHead parses one head, reading as needed.
func (s *response) nextHead() error {
	for {
		n, err := s.parser.ParseResponse((*s.buf)[s.start:s.filled], s.x.r.Method == http.MethodHead, &s.head)
		if err != nil {
			var e *http1.Error
			if errors.As(err, &e) && e.Reason == "HeadTooLarge" {
				return &badResponse{engine.ReplyHeadTooLarge}
			}
			return &badResponse{engine.ReplyBadResponse}
		}
		if n > 0 {
			s.start += n
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// fill reads more of a head behind what there is, making room if needed. The
// parser's limit bounds it.
func (s *response) fill() error {
	if s.filled == len(*s.buf) {
		grown := s.buf
		if s.start == 0 {
			next := make([]byte, 2*len(*s.buf))
			grown = &next
		}
		s.filled = copy(*grown, (*s.buf)[s.start:s.filled])
		s.start = 0
		if grown != s.buf {
			upstream.PutBuffer(s.buf)
			s.buf = grown
		}
	}
	if s.filled > s.start { // the head has begun: from here it must only move
		s.c.ReadWithin(s.x.e.options.StreamIdle)
	}
	n, err := s.c.Read((*s.buf)[s.filled:])
	if n > 0 && !s.x.rec.Answered {
		s.x.rec.Answered = true
		s.x.rec.Latency = s.latency()
	}
	s.filled += n
	if n > 0 {
		return nil
	}
	return err
}

// latency counts from the end of the request, if it has been sent to its end.
func (s *response) latency() time.Duration {
	sent := s.sent
	if u := s.x.upload; u != nil {
		if at := u.sentAt.Load(); at > 0 {
			sent = s.x.rec.Start.Add(time.Duration(at))
		}
	}
	return max(time.Since(sent), 0)
}

// interim relays a 1xx head, cleaned.
func (s *response) interim() {
	x := s.x
	if s.head.Status == http.StatusContinue && x.r.ProtoMajor != 1 && x.upload != nil {
		return // net/http asked when the upload began to read
	}
	if !x.r.ProtoAtLeast(1, 1) {
		return // RFC 9110 §15.2
	}
	h := x.w.Header()
	s.copyFields(h)
	x.w.WriteHeader(s.head.Status)
	clear(h)
}

// relay sends the final response to the client and reports whether the
// connection to the endpoint can serve another request.
func (s *response) relay() (reuse bool) {
	x := s.x
	if x.upload != nil {
		x.upload.respond()
	}
	h := x.w.Header()
	s.copyFields(h)
	s.nominated = s.nominations()
	s.fieldsOfServer(h)
	x.rec.Status = s.head.Status
	x.announceClose(h)
	x.w.WriteHeader(s.head.Status)
	if err := s.relayBody(); err != nil {
		s.broken(err)
	}
	x.endUpload(s.c)
	return s.head.KeepAlive && s.start == s.filled && (x.upload == nil || x.upload.sentAt.Load() > 0)
}

// fieldsOfServer keeps net/http from adding fields of its own and from taking
// away some of the backend's.
func (s *response) fieldsOfServer(h http.Header) {
	for _, name := range []string{"Content-Type", "Date"} {
		if _, ok := h[name]; !ok {
			h[name] = nil
		}
	}
	if s.x.r.ProtoMajor == 1 && (s.head.Framing == http1.FramingChunked || s.head.Framing == http1.FramingUntilClose) {
		// Else a body that happens to arrive at once would get a length.
		h["Transfer-Encoding"] = chunkedCoding
	}
	if s.head.Status == http.StatusNotModified {
		keepDescription(h)
	}
}

// keepDescription keeps net/http's server from removing these two from a 304, which it
// does by their canonical names: a 304 describes what a 200 would have been (RFC 9110
// §15.4.5).
func keepDescription(h http.Header) {
	for _, name := range []string{"Content-Length", "Content-Type"} {
		if values := h[name]; values != nil {
			h[strings.ToLower(name)] = values
			delete(h, name)
		}
	}
}

var chunkedCoding = []string{"chunked"}

// copyFields puts the fields that may pass into h. All values share one string
// and one slice.
func (s *response) copyFields(h http.Header) {
	size := 0
	for i := range s.head.Fields {
		size += len(s.head.Fields[i].Value)
	}
	var all strings.Builder
	all.Grow(size)
	for i := range s.head.Fields {
		all.Write(s.head.Fields[i].Value)
	}
	text := all.String()
	values := make([]string, 0, len(s.head.Fields))
	for i := range s.head.Fields {
		f := &s.head.Fields[i]
		value := text[:len(f.Value)]
		text = text[len(f.Value):]
		name := canonical(f.Name)
		switch {
		case s.head.Nominated(f.Name), engine.ResponseField(name) == engine.FieldDrop:
			continue
		case engine.ResponseField(name) == engine.FieldOwn && s.head.Status < 200:
			continue // a length means nothing without a body
		case engine.ResponseField(name) == engine.FieldOwn && len(value) > 1 && value[0] == '0':
			value = strconv.FormatInt(s.head.ContentLength, 10) // not everybody takes leading zeros for a decimal
		}
		if old, ok := h[name]; ok {
			h[name] = append(old, value)
			continue
		}
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
}

// nominations are the values of the Connection fields, if they matter.
func (s *response) nominations() []string {
	if !s.head.Nominates {
		return nil
	}
	var values []string
	for _, f := range s.head.Fields {
		if canonical(f.Name) == "Connection" {
			values = append(values, string(f.Value))
		}
	}
	return values
}

// common holds the names of most response fields as servers send them, so that
// finding their canonical form costs no allocation.
var common = func() map[string]string {
	names := make(map[string]string)
	for _, n := range []string{"Accept-Ranges", "Access-Control-Allow-Origin", "Age", "Cache-Control", "Connection",
		"Content-Disposition", "Content-Encoding", "Content-Language", "Content-Length", "Content-Range",
		"Content-Security-Policy", "Content-Type", "Date", "Etag", "Expires", "Keep-Alive", "Last-Modified", "Link",
		"Location", "Pragma", "Referrer-Policy", "Server", "Set-Cookie", "Strict-Transport-Security",
		"Transfer-Encoding", "Vary", "Via", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By",
		"X-Request-Id", "X-Xss-Protection"} {
		names[n] = n
		names[strings.ToLower(n)] = n
	}
	names["ETag"] = "Etag"
	return names
}()

func canonical(name []byte) string {
	if n, ok := common[string(name)]; ok {
		return n
	}
	return textproto.CanonicalMIMEHeaderKey(string(name))
}

// broken ends a response whose body broke off, on either side. The client must
// see that it is not whole: the connection (or the stream) is cut.
func (s *response) broken(err error) {
	s.x.rec.Cut = true
	var from *clientError
	if errors.As(err, &from) || s.x.clientGone() || s.x.upload != nil && s.x.upload.failed.Load() {
		panic(errAbandon)
	}
	s.x.rec.Truncated = true
	s.x.e.metrics.UpstreamTruncated.Inc()
	if isTimeout(err) {
		s.x.e.metrics.UpstreamTimeouts.Inc()
	}
	s.x.e.log.Debug("an endpoint broke off its response", "backend", s.x.rec.Plan.Backend.Name,
		"endpoint", s.x.rec.Endpoint.Address, "error", err)
	s.x.cut()
}

// cut ends the client's connection, or its stream, in the middle of a response, so
// that it is seen not to be whole.
func (x *exchange) cut() {
	// What came is the client's, whatever lies in net/http's buffers still.
	_ = http.NewResponseController(x.w).Flush()
	if !x.r.ProtoAtLeast(1, 1) {
		// To HTTP/1.0 the end of the connection is the end of the body: only a
		// reset says that it is not.
		_ = x.client.gate.raw.SetLinger(0)
		x.client.gate.raw.Close()
	}
	panic(errAbandon)
}

// clientError is an error of writing to the client.
type clientError struct{ err error }

func (e *clientError) Error() string { return e.err.Error() }
