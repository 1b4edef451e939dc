package http1

// state is where in a head the scanner stands: what the next byte belongs to.
type state uint8

const (
	stBegin      state = iota // first byte of a request: an empty line may precede it
	stBeginLF                 // after the CR of that empty line
	stFirst                   // after that empty line: no other may follow
	stMethod                  // request line
	stTarget                  //
	stVersion                 //
	stStatusLine              // status line
	stLineLF                  // after the CR of a start line
	stLine                    // first byte of a field line, or of the empty line
	stName                    // inside a field name
	stValue                   // after the colon
	stValueLF                 // after the CR of a field line
	stEndLF                   // after the CR of the empty line
	stDone
)

// span marks a field line in the buffer: name [start,colon), value (colon,end).
type span struct{ start, colon, end int32 }

// scanner recognises header lines byte by byte. It is fed the same growing buffer
// again and again and remembers how far it has judged it, so that a slow or
// hostile peer costs one look at each byte.
type scanner struct {
	state state
	// lenient makes a bare LF end a line, as RFC 9112 section 2.2 allows.
	lenient bool
	pos     int // everything before it is judged
	mark    int // where the element being read began
	colon   int // of the field line being read
	lines   []span
}

// restart prepares for a head that begins at offset 0 in the given state.
func (s *scanner) restart(first state) {
	s.state, s.pos, s.mark, s.colon, s.lines = first, 0, 0, 0, s.lines[:0]
}

// scanFields goes on from stLineLF or a later state until the section is done, b is
// exhausted or something is wrong. b must not be longer than the limit on it. Each
// step goes on into the next when the bytes are there, so that a whole line costs
// one turn.
func (s *scanner) scanFields(b []byte, maxFields int) fault {
	for s.pos < len(b) && s.state != stDone {
		var f fault
		switch s.state {
		case stLine:
			f = s.lineStart(b, maxFields)
		case stName:
			f = s.name(b)
		case stValue:
			f = s.value(b)
		default: // stLineLF, stValueLF, stEndLF
			f = s.lineFeed(b[s.pos])
		}
		if f != fine {
			return f
		}
	}
	return fine
}

// lineStart judges the first byte of a line: the empty line that ends the section
// or a field. White space here is obsolete line folding (RFC 9112 section 5.2), or
// after the start line something that section 2.2 says to refuse.
func (s *scanner) lineStart(b []byte, maxFields int) fault {
	c := b[s.pos]
	switch {
	case c == '\r':
		s.state = stEndLF
		s.pos++
	case c == '\n' && s.lenient:
		s.state = stDone
		s.pos++
	case c == '\n':
		return faultBareLF
	case isBlank(c):
		return faultFold
	case len(s.lines) == maxFields:
		return faultTooManyFields
	default:
		s.mark = s.pos
		s.state = stName
		return s.name(b)
	}
	return fine
}

// name reads up to the colon.
func (s *scanner) name(b []byte) fault {
	for i, c := range b[s.pos:] {
		if class[c]&classToken != 0 {
			continue
		}
		s.pos += i
		switch {
		case c != ':':
			return nameFault(c, s.lenient)
		case s.pos == s.mark:
			return faultFieldName
		}
		s.colon = s.pos
		s.pos++
		s.state = stValue
		return s.value(b)
	}
	s.pos = len(b)
	return fine
}

// nameFault says what a byte that is no token character means in a field name.
func nameFault(c byte, lenient bool) fault {
	switch {
	case isBlank(c):
		return faultSpaceBeforeColon
	case c == '\n' && !lenient:
		return faultBareLF
	case c == '\r' || c == '\n':
		return faultNoColon
	case c < ' ' || c == 0x7f:
		return faultControl
	}
	return faultFieldName
}

// value reads up to the end of the line. Values may hold SP, HTAB, visible
// characters and obs-text (RFC 9110 section 5.5), nothing else.
func (s *scanner) value(b []byte) fault {
	i := s.pos
	for {
		i += indexControl(b[i:])
		if i == len(b) {
			s.pos = i
			return fine
		}
		if b[i] != '\t' {
			break
		}
		i++
	}
	s.pos = i
	switch {
	case b[i] == '\r':
		s.endLine(stValueLF)
		if s.pos < len(b) {
			return s.lineFeed(b[s.pos])
		}
	case b[i] == '\n' && s.lenient:
		s.endLine(stLine)
	case b[i] == '\n':
		return faultBareLF
	default:
		return faultControl
	}
	return fine
}

// endLine records the field line that ends at pos and steps over the byte there.
func (s *scanner) endLine(next state) {
	s.lines = append(s.lines, span{int32(s.mark), int32(s.colon), int32(s.pos)})
	s.pos++
	s.state = next
}

// lineFeed judges the byte after a CR.
func (s *scanner) lineFeed(c byte) fault {
	if c != '\n' {
		return faultBareCR
	}
	s.pos++
	if s.state == stEndLF {
		s.state = stDone
	} else {
		s.state = stLine
	}
	return fine
}

// fields makes the field lines found in b, in the memory of dst.
func (s *scanner) fields(b []byte, dst []Field) []Field {
	if cap(dst) < len(s.lines) {
		dst = make([]Field, len(s.lines), cap(s.lines))
	}
	dst = dst[:len(s.lines)]
	for i, l := range s.lines {
		start, end := l.colon+1, l.end
		for start < end && isBlank(b[start]) {
			start++
		}
		for start < end && isBlank(b[end-1]) {
			end--
		}
		// Not as one literal: that is built aside and copied in wider words, which
		// stalls on the stores before.
		f := &dst[i]
		f.Name = b[l.start:l.colon:l.colon]
		f.Value = b[start:end:end]
	}
	return dst
}
