package http1

// ResponseHead is the head of a response. Slices point into the buffer that was
// parsed. Reuse it: ParseResponse overwrites all of it and keeps the memory of
// Fields.
type ResponseHead struct {
	// Minor is 0 for HTTP/1.0 and 1 for everything later.
	Minor int
	// Status is 100 to 999. 1xx other than 101 announce another head.
	Status int
	// Reason is the reason phrase, often empty.
	Reason []byte
	// Fields are all field lines in order.
	Fields []Field

	// Framing says how the body is delimited.
	Framing Framing
	// ContentLength is the value of Content-Length, or -1 without the field. To a
	// HEAD request and with 304 it describes a body that is not there: Framing is
	// FramingNone and the field is forwarded.
	ContentLength int64

	// KeepAlive tells whether another request may be sent on the connection once
	// the body has been read. It is false also when the head announces a body that
	// its status cannot have (RFC 9112 section 6.3): bytes may follow that are no
	// response.
	KeepAlive bool
	// Upgrade tells whether Connection names Upgrade and there is such a field.
	Upgrade bool
	// Nominates tells whether Connection names fields other than the hop-by-hop ones
	// that are removed anyway. Only then is Nominated worth asking.
	Nominates bool
}

// Field returns the value of the first field called name, in any case.
func (h *ResponseHead) Field(name string) (value []byte, ok bool) { return Lookup(h.Fields, name) }

// Nominated reports whether a Connection field names the field, which makes it
// hop-by-hop (RFC 9110 section 7.6.1).
func (h *ResponseHead) Nominated(name []byte) bool {
	return h.Nominates && nominated(h.Fields, name)
}

// ParseResponse looks for the head of a response at the start of b; head tells
// whether it answers a HEAD request. n is the size of the head; 0 and nil ask for
// more bytes; err is an *Error. h is valid only when n is not 0.
//
// Backends are configuration and not strangers, so a bare LF ends a line here
// (RFC 9112 section 2.2); everything that leaves the length of the body in doubt is
// an error as in requests.
func (p *Parser) ParseResponse(b []byte, head bool, h *ResponseHead) (n int, err error) {
	if p.state == stBegin {
		p.state = stStatusLine
		p.lenient = true
	}
	f := p.scanResponse(b)
	if f == fine && p.state != stDone {
		return 0, nil
	}
	if f == fine {
		n = p.pos
		f = p.finishResponse(b, head, h)
	}
	p.Reset()
	if f != fine {
		return 0, f.response()
	}
	return n, nil
}

// scanResponse goes on with the status line, then with the fields.
func (p *Parser) scanResponse(b []byte) fault {
	if p.state == stStatusLine {
		limit := p.Limits.head()
		w := p.window(b, limit)
		if f := p.statusLine(w); f != fine {
			return f
		}
		if p.state == stStatusLine && len(w) == limit {
			return faultHeadTooLarge
		}
	}
	if p.state == stStatusLine {
		return fine
	}
	return p.fieldSection(b)
}

// statusLine scans up to the end of the line. Something that is not HTTP is
// noticed at its first bytes: it may never send a line end.
func (p *Parser) statusLine(b []byte) fault {
	const name = "HTTP/"
	for p.pos < min(len(b), len(name)) {
		if b[p.pos] != name[p.pos] {
			return faultStatusLine
		}
		p.pos++
	}
	for p.pos < len(b) {
		p.pos += indexControl(b[p.pos:])
		if p.pos == len(b) {
			return fine
		}
		switch b[p.pos] {
		case '\t':
			p.pos++
			continue
		case '\r':
			p.state = stLineLF
		case '\n':
			p.state = stLine
		default:
			return faultControl
		}
		p.line.end = p.pos
		p.pos++
		return fine
	}
	return fine
}

// finishResponse fills h from a scanned head.
func (p *Parser) finishResponse(b []byte, head bool, h *ResponseHead) fault {
	*h = ResponseHead{Fields: h.Fields[:0], ContentLength: -1}
	if f := h.parseStatusLine(b[:p.line.end:p.line.end]); f != fine {
		return f
	}
	h.Fields = p.fields(b, h.Fields)
	return h.interpret(b, p.lines, head)
}

// parseStatusLine reads "HTTP/1.1 200 OK". The space before an absent reason
// phrase, which RFC 9112 section 4 asks for, is often forgotten.
func (h *ResponseHead) parseStatusLine(line []byte) fault {
	const code = len("HTTP/1.1 ")
	if len(line) < code+3 || line[code-1] != ' ' {
		return faultStatusLine
	}
	minor, f := version(line[:code-1])
	if f == faultVersion {
		return f
	}
	if f != fine {
		return faultStatusLine
	}
	h.Minor = minor
	for _, c := range line[code : code+3] {
		if !isDigit(c) {
			return faultStatusLine
		}
		h.Status = h.Status*10 + int(c-'0')
	}
	if h.Status < 100 {
		return faultStatusLine
	}
	if rest := line[code+3:]; len(rest) > 0 {
		if rest[0] != ' ' {
			return faultStatusLine
		}
		h.Reason = rest[1:]
	}
	return fine
}

// interpret reads the fields that the kernel acts on into h.
func (h *ResponseHead) interpret(b []byte, lines []span, head bool) fault {
	fr := framing{length: -1}
	var opt options
	for i := range h.Fields {
		value := h.Fields[i].Value
		f := fine
		switch recognise(h.Fields[i].Name) {
		case fieldContentLength:
			f = fr.contentLength(value)
		case fieldTransferEncoding:
			fr.transferEncoding(value)
		case fieldConnection:
			f = opt.connection(value)
		case fieldUpgrade:
			opt.upgrade(value)
		}
		if f != fine {
			return f
		}
	}
	if f := fr.check(h.Minor); f != fine {
		return f
	}
	h.ContentLength = fr.length
	h.frame(fr.declared(), head)
	h.KeepAlive = h.KeepAlive && opt.keepAlive(h.Minor)
	h.Upgrade = opt.named && opt.offered
	h.Nominates = opt.others
	return fine
}

// frame applies RFC 9112 section 6.3 to what the fields declare, and finds out
// whether the connection can be used again as far as that goes.
func (h *ResponseHead) frame(declared Framing, head bool) {
	h.KeepAlive = true
	switch {
	case head || h.Status == 304:
		h.Framing = FramingNone
	case h.Status < 200 || h.Status == 204:
		h.Framing = FramingNone
		h.KeepAlive = declared == FramingNone || h.ContentLength == 0
	case declared == FramingNone:
		h.Framing = FramingUntilClose
		h.KeepAlive = false
	default:
		h.Framing = declared
	}
}
