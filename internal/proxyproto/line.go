package proxyproto

import (
	"bytes"
	"net/netip"
)

// Version 1 is a line of text (section 2.1).
const (
	prefix = "PROXY "
	// maximumLine is the length of the longest line with its CRLF: UNKNOWN and two
	// addresses. It is for UNKNOWN that it has to be checked; the grammar bounds the
	// others.
	maximumLine = 107
)

// readLine collects the line up to its end and decodes it there.
func (p *Parser) readLine(src []byte) (used int, f fault) {
	for i, b := range src {
		at := p.n
		p.buf[at] = b
		p.n++
		switch {
		case at < len(prefix) && b != prefix[at]:
			return 0, faultNoHeader
		case at > 0 && p.buf[at-1] == '\r':
			if b != '\n' {
				return 0, faultBareCR
			}
			return i + 1, p.decodeLine(p.buf[len(prefix) : at-1])
		case b == '\n':
			return 0, faultBareLF
		case p.n == maximumLine:
			return 0, faultLineTooLong
		}
	}
	return len(src), fine
}

// decodeLine reads what stands between the prefix and the CRLF.
func (p *Parser) decodeLine(line []byte) (f fault) {
	protocol, rest, more := bytes.Cut(line, space)
	switch string(protocol) {
	case "TCP4":
		f = p.decodeWords(rest, more, false)
	case "TCP6":
		f = p.decodeWords(rest, more, true)
	case "UNKNOWN":
		// What follows is to be ignored, whatever it is. It cannot be a CR or LF.
		p.header.Local = true
	default:
		return faultProtocol
	}
	if f == fine {
		p.state = stDone
	}
	return f
}

// decodeWords reads addresses and ports. more says that a space stood before rest.
func (p *Parser) decodeWords(rest []byte, more, six bool) fault {
	var words [4][]byte
	for i := range words {
		if !more {
			return faultWords
		}
		words[i], rest, more = bytes.Cut(rest, space)
		if len(words[i]) == 0 {
			return faultWords
		}
	}
	if more {
		return faultWords
	}
	source, ok1 := parseAddress(words[0], six)
	destination, ok2 := parseAddress(words[1], six)
	if !ok1 || !ok2 {
		return faultAddress
	}
	sourcePort, ok1 := parsePort(words[2])
	destinationPort, ok2 := parsePort(words[3])
	if !ok1 || !ok2 {
		return faultPort
	}
	p.header.Source = netip.AddrPortFrom(source, sourcePort)
	p.header.Destination = netip.AddrPortFrom(destination, destinationPort)
	return fine
}

var space = []byte{' '}

// parsePort reads a decimal number without leading zeros.
func parsePort(b []byte) (port uint16, ok bool) {
	n, ok := parseDecimal(b, 65535)
	return uint16(n), ok
}

// parseDecimal reads a number up to most, in digits only and without leading zeros.
func parseDecimal(b []byte, most int) (n int, ok bool) {
	if len(b) == 0 || b[0] == '0' && len(b) > 1 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > most {
			return 0, false
		}
	}
	return n, true
}
