package http1

// RequestHead is the head of a request. Slices point into the buffer that was
// parsed. Reuse it: ParseRequest overwrites all of it and keeps the memory of
// Fields.
type RequestHead struct {
	// Start is the offset of the request line in the buffer: 2 when an empty line
	// preceded it (RFC 9112 section 2.2), else 0. Bytes before it are not to be
	// passed on.
	Start int
	// Preface is true when the bytes were no HTTP/1 request but the client
	// connection preface of HTTP/2 (RFC 9113 section 3.4). Nothing else is set then.
	// It is meaningful only as the first thing on a connection.
	Preface bool

	// Method and Target are the request line as sent.
	Method, Target []byte
	// Minor is 0 for HTTP/1.0 and 1 for everything later.
	Minor int
	// Form is the kind of target.
	Form TargetForm
	// Path is what the target asks of the host: "*" in asterisk form, empty in
	// authority form, "/" for a URL without a path.
	Path []byte
	// Query is what follows the first '?', when HasQuery.
	Query    []byte
	HasQuery bool
	// Host is the authority that the request is for: that of the target when it has
	// one (RFC 9112 section 3.2.2), else the value of the Host field. It is a host
	// with an optional port, in the case the client used, or empty.
	Host []byte
	// HasHost tells whether there was a Host field.
	HasHost bool

	// Fields are all field lines in order.
	Fields []Field

	// Framing says how the body is delimited: FramingNone, FramingLength or
	// FramingChunked.
	Framing Framing
	// ContentLength is the value of Content-Length, or -1 without the field.
	ContentLength int64

	// KeepAlive tells whether the client lets the connection go on after this
	// exchange (RFC 9112 section 9.3).
	KeepAlive bool
	// ExpectContinue tells whether an HTTP/1.1 client may be waiting for 100
	// (RFC 9110 section 10.1.1).
	ExpectContinue bool
	// Upgrade tells whether an HTTP/1.1 client offers to change protocols: an Upgrade
	// field, and Connection names it (RFC 9110 section 7.8). UpgradeH2C tells whether
	// h2c is among the protocols offered.
	Upgrade, UpgradeH2C bool
	// Nominates tells whether Connection names fields other than the hop-by-hop ones
	// that are removed anyway. Only then is Nominated worth asking.
	Nominates bool
	// TETrailers tells whether the client asked for trailers (RFC 9110 section
	// 10.1.4).
	TETrailers bool
}

// Field returns the value of the first field called name, in any case.
func (h *RequestHead) Field(name string) (value []byte, ok bool) { return Lookup(h.Fields, name) }

// Nominated reports whether a Connection field names the field, which makes it
// hop-by-hop (RFC 9110 section 7.6.1).
func (h *RequestHead) Nominated(name []byte) bool {
	return h.Nominates && nominated(h.Fields, name)
}

// reset makes h empty, keeping memory.
func (h *RequestHead) reset() {
	*h = RequestHead{Fields: h.Fields[:0], ContentLength: -1}
}

// ParseRequest looks for the head of a request at the start of b. n is the size of
// the head, with an empty line before it; 0 and nil ask for more bytes; err is an
// *Error. h is valid only when n is not 0.
func (p *Parser) ParseRequest(b []byte, h *RequestHead) (n int, err error) {
	if p.pos == 0 {
		switch isPreface(b) {
		case prefaceWhole:
			p.Reset()
			h.reset()
			h.Preface = true
			return len(preface), nil
		case prefacePart:
			p.state = stMethod // begun, whatever it becomes
			return 0, nil
		}
	}
	f := p.scanRequest(b)
	if f == fine && p.state != stDone {
		return 0, nil
	}
	if f == fine {
		n = p.pos
		f = p.finishRequest(b, h)
	}
	p.Reset()
	if f != fine {
		return 0, f.request()
	}
	return n, nil
}

// preface is what a client speaking HTTP/2 sends first. It was made to look like a
// request of an unknown version.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const (
	prefaceNot = iota
	prefacePart
	prefaceWhole
)

// isPreface compares at most 24 bytes, the only ones that may be seen twice.
func isPreface(b []byte) int {
	n := min(len(b), len(preface))
	switch {
	case n == 0 || b[0] != 'P' || string(b[:n]) != preface[:n]:
		return prefaceNot
	case n < len(preface):
		return prefacePart
	}
	return prefaceWhole
}

// scanRequest goes on with the request line, then with the fields.
func (p *Parser) scanRequest(b []byte) fault {
	if p.state <= stVersion {
		if f := p.requestLine(b); f != fine {
			return f
		}
		if p.state <= stVersion {
			return fine
		}
	}
	if p.state == stLineLF { // the LF belongs to the line and to its limit
		if f := p.requestLineEnd(b); f != fine || p.state == stLineLF {
			return f
		}
	}
	return p.fieldSection(b)
}

// requestLine scans up to the CR of the request line.
func (p *Parser) requestLine(b []byte) fault {
	limit := p.Limits.line()
	w := p.window(b, limit)
	for p.pos < len(w) && p.state <= stVersion {
		var f fault
		switch p.state {
		case stBegin, stBeginLF, stFirst:
			f = p.begin(w[p.pos])
			w = p.window(b, limit)
		case stMethod:
			f = p.method(w)
		case stTarget:
			f = p.target(w)
		default:
			f = p.versionEnd(w)
		}
		if f != fine {
			return f
		}
	}
	if p.state <= stVersion && len(w) == p.start+limit {
		return faultLineTooLong
	}
	return fine
}

// begin skips one empty line (RFC 9112 section 2.2: some clients send CRLF after
// a body).
func (p *Parser) begin(c byte) fault {
	switch {
	case p.state == stBegin && c == '\r':
		p.state = stBeginLF
	case p.state == stBeginLF && c != '\n':
		return faultBareCR
	case p.state == stBeginLF:
		p.state = stFirst
		p.start = p.pos + 1
	default:
		p.mark = p.pos
		p.state = stMethod
		return fine
	}
	p.pos++
	return fine
}

// method reads up to the first space.
func (p *Parser) method(b []byte) fault {
	i := p.pos
	for i < len(b) && class[b[i]]&classToken != 0 {
		i++
	}
	p.pos = i
	switch {
	case i == len(b):
		return fine
	case b[i] != ' ':
		return startLineFault(b[i], faultMethod)
	case i == p.mark:
		return faultMethod
	}
	p.line.methodEnd = i
	p.pos++
	p.mark = p.pos
	p.state = stTarget
	return fine
}

// target reads up to the second space.
func (p *Parser) target(b []byte) fault {
	i := p.pos
	for i < len(b) && class[b[i]]&classTarget != 0 {
		i++
	}
	p.pos = i
	switch {
	case i == len(b):
		return fine
	case b[i] != ' ':
		return startLineFault(b[i], faultTarget)
	case i == p.mark:
		return faultRequestLine
	}
	p.line.targetEnd = i
	p.pos++
	p.mark = p.pos
	p.state = stVersion
	return fine
}

// versionEnd reads the version up to the CR.
func (p *Parser) versionEnd(b []byte) fault {
	const size = len("HTTP/1.1")
	for p.pos < len(b) {
		c := b[p.pos]
		if c == '\r' {
			minor, f := version(b[p.mark:p.pos])
			p.line.minor = minor
			p.pos++
			p.state = stLineLF
			return f
		}
		if c <= ' ' || c == 0x7f || p.pos-p.mark == size {
			return startLineFault(c, faultRequestLine)
		}
		p.pos++
	}
	return fine
}

// requestLineEnd reads the LF of the request line.
func (p *Parser) requestLineEnd(b []byte) fault {
	limit := p.Limits.line()
	w := p.window(b, limit)
	if p.pos < len(w) {
		return p.lineFeed(w[p.pos])
	}
	if len(w) == p.start+limit {
		return faultLineTooLong
	}
	return fine
}

// startLineFault says what a byte that does not belong into a request line means.
func startLineFault(c byte, otherwise fault) fault {
	switch {
	case c == '\n':
		return faultBareLF
	case c == '\r':
		return faultRequestLine
	case c < ' ' && c != '\t' || c == 0x7f:
		return faultControl
	}
	return otherwise
}

// finishRequest fills h from a scanned head and applies the rules that need all
// of it.
func (p *Parser) finishRequest(b []byte, h *RequestHead) fault {
	h.reset()
	h.Start = p.start
	h.Method = b[p.start:p.line.methodEnd:p.line.methodEnd]
	h.Target = b[p.line.methodEnd+1 : p.line.targetEnd : p.line.targetEnd]
	h.Minor = p.line.minor
	h.Fields = p.fields(b, h.Fields)
	if f := h.parseTarget(); f != fine {
		return f
	}
	return h.interpret(b, p.lines)
}
