package proxyproto

import "net/netip"

// Header is what a header says about a connection.
type Header struct {
	// Source is the client, Destination what it connected to; with Local, both are
	// the zero value. Either may have port 0.
	Source, Destination netip.AddrPort
	// Local says that the header names no addresses of use, and that those of the
	// socket stand: a health check of the load balancer's own (LOCAL), a protocol that
	// is none of ours (UNKNOWN, AF_UNSPEC), or an AF_UNIX client.
	Local bool
}

// Parser reads the header at the start of a connection. The zero value is ready.
//
// A Parser is not safe for concurrent use and does not hold on to what it is given.
type Parser struct {
	state  state
	broken fault // of stBroken
	header Header

	buf [maximumLine]byte // what is being collected: a line, a preamble or addresses
	n   int               // bytes in buf

	// Version 2: the family whose addresses come, and how many bytes of the header are
	// still to come once its length is known.
	family byte
	left   int
}

type state uint8

const (
	stBegin    state = iota
	stLine           // version 1
	stPreamble       // version 2: the 16 bytes that all of its headers have
	stAddresses
	stTLVs // or whatever else the length covers
	stDone
	stBroken
)

// Done reports whether the last byte of the header has been consumed.
func (p *Parser) Done() bool { return p.state == stDone }

// Header returns what the header said, once the parser is Done.
func (p *Parser) Header() Header { return p.header }

// Next consumes n bytes of src: all of it, unless the header ended. Call it with what
// arrives until Done; after that it consumes nothing. err is an *Error, and the same
// in every later call.
func (p *Parser) Next(src []byte) (n int, err error) {
	for n < len(src) && p.state != stDone {
		used, f := p.step(src[n:])
		if f != fine {
			p.state, p.broken = stBroken, f
			return 0, f.err()
		}
		n += used
	}
	return n, nil
}

// step consumes bytes of one state; at the beginning none, but the state changes. src
// is not empty.
func (p *Parser) step(src []byte) (used int, f fault) {
	switch p.state {
	case stBegin:
		return 0, p.begin(src[0])
	case stLine:
		return p.readLine(src)
	case stPreamble:
		return p.readPreamble(src)
	case stAddresses:
		return p.readAddresses(src), fine
	case stTLVs:
		used = min(len(src), p.left)
		p.skip(used)
		return used, fine
	}
	return 0, p.broken
}

// begin tells the versions apart by their first byte.
func (p *Parser) begin(b byte) fault {
	switch b {
	case prefix[0]:
		p.state = stLine
	case signature[0]:
		p.state = stPreamble
	default:
		return faultNoHeader
	}
	return fine
}
