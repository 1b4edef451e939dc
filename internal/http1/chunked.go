package http1

// Chunked decodes the chunked transfer coding (RFC 9112 section 7.1) without
// copying: it tells which bytes of its input are payload. It is as strict on both
// sides: lines end in CRLF, a size is hexadecimal digits, extensions are dropped.
//
// The zero value is ready and has the default limits. A Chunked is not safe for
// concurrent use.
type Chunked struct {
	limits Limits
	state  chunkState
	broken fault // of chunkBroken

	// The chunk line being read: number of digits, their value, and the number of
	// bytes that follow them.
	digits    int
	size      uint64
	extension int

	left   uint64 // bytes of the chunk still to come
	excess int64  // overhead that data has not paid for, see endLine

	trailer trailer
}

type chunkState uint8

const (
	chunkSize chunkState = iota
	chunkExtension
	chunkLineLF
	chunkData
	chunkDataCR
	chunkDataLF
	chunkTrailer
	chunkDone
	chunkBroken
)

// Reset prepares for the next body and keeps memory. What Trailer returned
// becomes invalid.
func (c *Chunked) Reset(limits Limits) {
	t := c.trailer
	t.reset()
	*c = Chunked{limits: limits, trailer: t}
}

// Done reports whether the last byte of the body has been consumed.
func (c *Chunked) Done() bool { return c.state == chunkDone }

// Trailer returns the trailer fields once the body is Done, without those that a
// recipient must not take from a trailer (see ForbiddenTrailer). They are copies,
// valid until Reset.
func (c *Chunked) Trailer() []Field { return c.trailer.fields }

// Next consumes n bytes of src, of which data, the last of them, are payload. Call
// it again with the rest of src, and with more when n was 0, until Done. After the
// end it consumes nothing. err is an *Error, and the same in every later call.
func (c *Chunked) Next(src []byte) (data []byte, n int, err error) {
	for n < len(src) && c.state != chunkDone {
		if c.state == chunkData {
			data, n = c.take(src, n)
			return data, n, nil
		}
		used, f := c.step(src[n:])
		if f != fine {
			c.state, c.broken = chunkBroken, f
			return nil, 0, f.request()
		}
		n += used
	}
	return nil, n, nil
}

// Skip consumes as much of src as belongs to the body and tells how much that is:
// all of it unless the body ended. It is Next for those who pass on the coded
// bytes. With an error, the n bytes before are a sound part of the body.
func (c *Chunked) Skip(src []byte) (n int, err error) {
	for n < len(src) && !c.Done() {
		_, used, err := c.Next(src[n:])
		n += used
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// take hands out what src has of the chunk from n on.
func (c *Chunked) take(src []byte, n int) (data []byte, end int) {
	end = len(src)
	if uint64(end-n) >= c.left {
		end = n + int(c.left)
		c.state = chunkDataCR
	}
	c.left -= uint64(end - n)
	return src[n:end:end], end
}

// step consumes framing bytes, one at least. src is not empty.
func (c *Chunked) step(src []byte) (used int, f fault) {
	switch c.state {
	case chunkSize:
		return c.readSize(src)
	case chunkExtension:
		return c.readExtension(src)
	case chunkLineLF:
		if src[0] != '\n' {
			return 0, faultBareCR
		}
		return 1, c.endLine()
	case chunkDataCR:
		return c.expect(src[0], '\r', chunkDataLF)
	case chunkDataLF:
		return c.expect(src[0], '\n', chunkSize)
	case chunkTrailer:
		return c.readTrailer(src)
	}
	return 0, c.broken
}

// expect judges a byte of the line end that follows the data of a chunk.
func (c *Chunked) expect(got, want byte, next chunkState) (used int, f fault) {
	if got != want {
		return 0, faultChunkEnd
	}
	c.state = next
	return 1, fine
}

// readSize reads hexadecimal digits. Fifteen of them cannot overflow and are more
// than anybody needs; white space is as wrong as any other byte.
func (c *Chunked) readSize(src []byte) (used int, f fault) {
	const most = 15
	for i, b := range src {
		switch {
		case class[b]&classHex != 0 && c.digits < most:
			c.size = c.size<<4 | uint64(unhex(b))
			c.digits++
		case b == '\r' && c.digits > 0:
			c.state = chunkLineLF
			return i + 1, fine
		case b == ';' && c.digits > 0:
			c.state = chunkExtension
			c.extension = 1
			return i + 1, fine
		case b == '\n' && c.digits > 0:
			return 0, faultBareLF
		default:
			return 0, faultChunkSize
		}
	}
	return len(src), fine
}

// unhex is the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// readExtension drops what follows the size (RFC 9112 section 7.1.1).
func (c *Chunked) readExtension(src []byte) (used int, f fault) {
	// The window has one byte more than may be dropped: it may be the CR.
	room := max(c.limits.chunkLine()-len("\r\n")-c.digits-c.extension, 0)
	w := src[:min(len(src), room+1)]
	i := indexControl(w)
	for i < len(w) && w[i] == '\t' {
		i += 1 + indexControl(w[i+1:])
	}
	switch {
	case i > room:
		return 0, faultChunkLineTooLong
	case i == len(w):
		c.extension += i
		return i, fine
	case w[i] == '\n':
		return 0, faultBareLF
	case w[i] != '\r':
		return 0, faultChunkExtension
	}
	c.extension += i
	c.state = chunkLineLF
	return i + 1, fine
}

// endLine begins the chunk whose line is complete, or the trailer section.
//
// Overhead: a sender may send a byte per chunk, five bytes around each, but a body
// must not consist of extensions. Each chunk may have 16 bytes of framing and two
// for each byte of data; what exceeds that adds up to 16 KiB at most. net/http
// counts the same way.
func (c *Chunked) endLine() fault {
	const free, most = 16, 16 << 10
	c.excess += int64(c.digits+c.extension+len("\r\n")) - free - 2*int64(c.size)
	c.excess = max(c.excess, 0)
	if c.excess > most {
		return faultChunkOverhead
	}
	c.state = chunkData
	c.left = c.size
	if c.size == 0 {
		c.state = chunkTrailer
		c.trailer.restart(stLine)
	}
	c.digits, c.extension, c.size = 0, 0, 0
	return fine
}

// readTrailer consumes the trailer section and ends the body.
func (c *Chunked) readTrailer(src []byte) (used int, f fault) {
	used, f = c.trailer.read(src, c.limits)
	if c.trailer.state == stDone {
		c.state = chunkDone
	}
	return used, f
}
