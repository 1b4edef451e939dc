package proxyproto

import (
	"encoding/binary"
	"net/netip"
)

// Version 2 is binary (section 2.2): a signature of 12 bytes, version and command,
// family and transport, the length of the rest in two bytes; then the addresses, then
// TLVs.
const (
	signature = "\r\n\r\n\x00\r\nQUIT\n"

	versionAt   = len(signature)
	familyAt    = versionAt + 1
	lengthAt    = familyAt + 1
	preambleLen = lengthAt + 2

	commandLocal = 0
	commandProxy = 1

	familyUnspec = 0
	familyInet   = 1
	familyInet6  = 2
	familyUnix   = 3

	transportUnspec = 0
	transportMost   = 2 // 1 is STREAM, 2 is DGRAM
)

// addressesLen is how long the addresses of a family are, with their ports.
var addressesLen = [...]int{
	familyUnspec: 0,
	familyInet:   2 * (4 + 2),
	familyInet6:  2 * (16 + 2),
	familyUnix:   2 * 108,
}

// readPreamble collects the first 16 bytes and judges each as it comes.
func (p *Parser) readPreamble(src []byte) (used int, f fault) {
	for i, b := range src {
		at := p.n
		p.buf[at] = b
		p.n++
		switch {
		case at < versionAt && b != signature[at]:
			return 0, faultNoHeader
		case at == versionAt:
			f = p.checkCommand(b)
		case at == familyAt:
			f = p.checkFamily(b)
		case p.n == preambleLen:
			return i + 1, p.endPreamble()
		}
		if f != fine {
			return 0, f
		}
	}
	return len(src), fine
}

func (p *Parser) checkCommand(b byte) fault {
	switch {
	case b>>4 != 2:
		return faultVersion
	case b&0xf > commandProxy:
		return faultCommand
	}
	p.header.Local = b&0xf == commandLocal
	return fine
}

// checkFamily looks at family and transport. With LOCAL both are to be ignored. Where
// either is unspecified the addresses are of no use, whatever the other says. DGRAM
// over this connection is odd, but its addresses are as good as those of STREAM: the
// sender may have turned one into the other.
func (p *Parser) checkFamily(b byte) fault {
	if p.header.Local {
		return fine
	}
	family, transport := b>>4, b&0xf
	switch {
	case int(family) >= len(addressesLen):
		return faultFamily
	case transport > transportMost:
		return faultTransport
	case family == familyUnspec, transport == transportUnspec:
		p.header.Local = true
		return fine
	}
	p.header.Local = family == familyUnix
	p.family = family
	return fine
}

// endPreamble learns the length of the rest. It may be as large as two bytes can say:
// it costs no memory, and the time that a header may take is limited elsewhere.
func (p *Parser) endPreamble() fault {
	p.left = int(binary.BigEndian.Uint16(p.buf[lengthAt:]))
	if p.left < addressesLen[p.family] {
		return faultLength
	}
	p.n = 0
	p.state = stAddresses
	if p.header.Local {
		p.state = stTLVs
	}
	p.skip(0)
	return fine
}

// readAddresses collects the addresses of AF_INET and AF_INET6.
func (p *Parser) readAddresses(src []byte) (used int) {
	length := addressesLen[p.family]
	used = copy(p.buf[p.n:length], src)
	if p.n += used; p.n == length {
		p.decodeAddresses(p.buf[:length])
		p.state = stTLVs
	}
	p.skip(used)
	return used
}

// decodeAddresses reads source and destination, then their ports.
func (p *Parser) decodeAddresses(b []byte) {
	var source, destination netip.Addr
	ports := b[len(b)-4:]
	if p.family == familyInet {
		source, destination = netip.AddrFrom4([4]byte(b)), netip.AddrFrom4([4]byte(b[4:]))
	} else {
		source, destination = netip.AddrFrom16([16]byte(b)).Unmap(), netip.AddrFrom16([16]byte(b[16:])).Unmap()
	}
	p.header.Source = netip.AddrPortFrom(source, binary.BigEndian.Uint16(ports))
	p.header.Destination = netip.AddrPortFrom(destination, binary.BigEndian.Uint16(ports[2:]))
}

// skip counts bytes of the header after its preamble and ends it with the last.
func (p *Parser) skip(n int) {
	if p.left -= n; p.left == 0 {
		p.state = stDone
	}
}
