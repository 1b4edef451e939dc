package reactor

// hello is what the beginning of a TLS connection says about the protocol inside.
type hello uint8

const (
	helloMore  hello = iota // it is not whole yet
	helloH2                 // it offers h2, which is what will be spoken
	helloOther              // it does not, or is nothing that is understood here
)

// Sizes and names of RFC 8446, sections 4.1.2 and 5.1, and RFC 7301 section 3.1.
const (
	recordHead      = 5
	recordHandshake = 22
	typeClientHello = 1
	extensionALPN   = 16
	// mostHello bounds what is read before somebody else may judge it: crypto/tls takes
	// no longer messages.
	mostHello = 64 << 10
)

// readHello looks for the ClientHello at the start of b and in it for the protocols
// that are offered (ALPN). It judges nothing: what is not sound is for the handshake
// to refuse.
func readHello(b []byte) hello {
	message, whole := helloMessage(b)
	if !whole {
		if len(b) > mostHello {
			return helloOther
		}
		return helloMore
	}
	p := pieces{message}
	if !p.skip(2 + 32) { // version, random
		return helloOther
	}
	for _, size := range [...]int{1, 2, 1} { // session id, cipher suites, compression
		if _, ok := p.vector(size); !ok {
			return helloOther
		}
	}
	extensions, ok := p.vector(2)
	if !ok {
		return helloOther
	}
	if offersH2(pieces{extensions}) {
		return helloH2
	}
	return helloOther
}

// helloMessage puts the body of the first handshake message together, which may be
// spread over records. Not whole: more bytes are needed. A body of nothing: it is no
// ClientHello.
func helloMessage(b []byte) (body []byte, whole bool) {
	var message []byte
	for {
		if len(b) > 0 && b[0] != recordHandshake {
			return nil, true
		}
		if len(b) < recordHead {
			return nil, false
		}
		size := int(b[3])<<8 | int(b[4])
		piece := b[recordHead:min(len(b), recordHead+size)]
		if message == nil {
			message = piece[:len(piece):len(piece)]
		} else {
			message = append(message, piece...)
		}
		if len(message) > 0 && message[0] != typeClientHello {
			return nil, true
		}
		if len(message) >= 4 {
			if want := int(message[1])<<16 | int(message[2])<<8 | int(message[3]); len(message) >= 4+want {
				return message[4 : 4+want], true
			}
		}
		if len(b) < recordHead+size {
			return nil, false
		}
		b = b[recordHead+size:]
	}
}

func offersH2(extensions pieces) bool {
	for {
		kind, ok := extensions.take(2)
		if !ok {
			return false
		}
		body, ok := extensions.vector(2)
		if !ok {
			return false
		}
		if kind[0] != 0 || kind[1] != extensionALPN {
			continue
		}
		p := pieces{body}
		list, _ := p.vector(2)
		for names := (pieces{list}); ; {
			name, ok := names.vector(1)
			if !ok {
				return false
			}
			if string(name) == "h2" {
				return true
			}
		}
	}
}

// pieces is taken apart from its start.
type pieces struct{ b []byte }

func (p *pieces) take(n int) ([]byte, bool) {
	if len(p.b) < n {
		return nil, false
	}
	piece := p.b[:n]
	p.b = p.b[n:]
	return piece, true
}

func (p *pieces) skip(n int) bool {
	_, ok := p.take(n)
	return ok
}

// vector takes a length of so many bytes and what it counts.
func (p *pieces) vector(size int) ([]byte, bool) {
	length, ok := p.take(size)
	if !ok {
		return nil, false
	}
	n := 0
	for _, c := range length {
		n = n<<8 | int(c)
	}
	return p.take(n)
}
