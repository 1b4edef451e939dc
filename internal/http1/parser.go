package http1

// Parser finds and judges the head at the start of a growing buffer.
//
// Call ParseRequest or ParseResponse with all bytes received since the end of the
// last message. When the answer is 0, nil, call again with the same bytes and more
// behind them; the buffer may have moved. What was judged is not looked at again.
// After a head or an Error the parser is ready for the next message: the zero
// value and a finished one are the same but for the memory kept.
//
// A Parser is not safe for concurrent use and does not hold on to the buffer.
type Parser struct {
	// Limits apply from the next call on; set them before the first.
	Limits Limits

	scanner
	start int // offset of the start line: 2 after an empty line, else 0
	line  startLine
}

// startLine holds the marks of the elements of a request line or status line.
type startLine struct {
	methodEnd, targetEnd int
	minor                int
	end                  int // of a status line, without its line end
}

// Reset forgets a head that was begun.
func (p *Parser) Reset() {
	p.restart(stBegin)
	p.lenient = false
	p.start = 0
	p.line = startLine{}
}

// Begun reports whether the first byte of a start line has been seen, that is,
// whether a peer is in the middle of sending a head and no longer idle. An empty
// line before a request is not a beginning.
func (p *Parser) Begun() bool { return p.state > stFirst }

// window clips b to what the limit lets us look at, so that the verdict does not
// depend on how much of what follows has arrived.
func (p *Parser) window(b []byte, limit int) []byte {
	if end := p.start + limit; len(b) > end {
		return b[:end]
	}
	return b
}

// exhausted reports whether the window is full and the head still not at its end.
func (p *Parser) exhausted(window []byte, limit int) bool {
	return p.state != stDone && len(window) == p.start+limit
}

// fieldSection scans the lines after the start line up to the limit of the head.
func (p *Parser) fieldSection(b []byte) fault {
	limit := p.Limits.head()
	w := p.window(b, limit)
	if f := p.scanFields(w, p.Limits.fields()); f != fine {
		return f
	}
	if p.exhausted(w, limit) {
		return faultHeadTooLarge
	}
	return fine
}

// version reads "HTTP/1.x", and gives the minor version that a recipient of our
// own version 1.1 is to act on: a higher one means 1.1 (RFC 9110 section 2.5).
func version(b []byte) (minor int, f fault) {
	const form = "HTTP/1.1"
	if len(b) != len(form) || string(b[:5]) != form[:5] || b[6] != '.' || !isDigit(b[5]) || !isDigit(b[7]) {
		return 0, faultRequestLine
	}
	if b[5] != '1' {
		return 0, faultVersion
	}
	if b[7] == '0' {
		return 0, fine
	}
	return 1, fine
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
