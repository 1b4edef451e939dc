package http1

// known is a field whose meaning the kernel acts on.
type known uint8

const (
	other known = iota
	fieldTE
	fieldHost
	fieldExpect
	fieldUpgrade
	fieldTrailer
	fieldConnection
	fieldContentLength
	fieldTransferEncoding
)

// recognise tells the known fields from others. Nearly all fields are told by
// their length alone.
func recognise(name []byte) known {
	switch len(name) {
	case 2:
		return ifName(name, "te", fieldTE)
	case 4:
		return ifName(name, "host", fieldHost)
	case 6:
		return ifName(name, "expect", fieldExpect)
	case 7:
		if k := ifName(name, "upgrade", fieldUpgrade); k != other {
			return k
		}
		return ifName(name, "trailer", fieldTrailer)
	case 10:
		return ifName(name, "connection", fieldConnection)
	case 14:
		return ifName(name, "content-length", fieldContentLength)
	case 17:
		return ifName(name, "transfer-encoding", fieldTransferEncoding)
	}
	return other
}

func ifName(name []byte, want string, k known) known {
	if name[0]|0x20 == want[0] && EqualFold(name, want) {
		return k
	}
	return other
}

// interpret reads the fields that the kernel acts on into h.
func (h *RequestHead) interpret(b []byte, lines []span) fault {
	fr := framing{length: -1}
	var opt options
	var hostField, trailer []byte
	for i := range h.Fields {
		value := h.Fields[i].Value
		f := fine
		switch recognise(h.Fields[i].Name) {
		case fieldHost:
			if h.HasHost {
				return faultTwoHosts
			}
			h.HasHost, hostField = true, value
		case fieldContentLength:
			if f = fr.contentLength(value); f == fine && tabbed(b, lines[i]) {
				f = faultLength
			}
		case fieldTransferEncoding:
			if fr.transferEncoding(value); tabbed(b, lines[i]) {
				fr.coding = faultCoding
			}
		case fieldConnection:
			f = opt.connection(value)
		case fieldUpgrade:
			opt.upgrade(value)
		case fieldTE:
			h.TETrailers = h.TETrailers || HasToken(value, "trailers")
		case fieldExpect:
			f = h.expect(value)
		case fieldTrailer:
			if trailer == nil && announcesFraming(value) {
				trailer = value
			}
		}
		if f != fine {
			return f
		}
	}
	return h.conclude(&fr, &opt, hostField, trailer != nil)
}

// expect adds an Expect field (RFC 9110 section 10.1.1). Several are one list.
func (h *RequestHead) expect(value []byte) fault {
	if len(value) == 0 {
		return fine
	}
	for more := true; more; {
		var element []byte
		element, value, more = NextElement(value)
		if !EqualFold(element, "100-continue") {
			return faultExpect
		}
	}
	// In HTTP/1.0 the expectation is to be ignored.
	h.ExpectContinue = h.Minor > 0
	return fine
}

// conclude applies the rules that need all fields.
func (h *RequestHead) conclude(fr *framing, opt *options, hostField []byte, badTrailer bool) fault {
	// RFC 9112 section 3.2. An empty Host says that the target has no authority
	// (section 3.3) and is left to whatever has no host.
	if !h.HasHost && h.Minor > 0 {
		return faultNoHost
	}
	if len(hostField) > 0 && !validAuthority(hostField) {
		return faultHost
	}
	if h.Form == OriginForm || h.Form == AsteriskForm {
		h.Host = hostField
	}
	if f := fr.check(h.Minor); f != fine {
		return f
	}
	h.Framing, h.ContentLength = fr.declared(), fr.length
	if h.Framing == FramingChunked && badTrailer {
		return faultTrailerField
	}
	h.KeepAlive = opt.keepAlive(h.Minor)
	h.Upgrade = h.Minor > 0 && opt.named && opt.offered
	h.UpgradeH2C = h.Upgrade && opt.h2c
	h.Nominates = opt.others
	return fine
}
