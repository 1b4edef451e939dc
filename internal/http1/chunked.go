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
	digits int    // of the size being read
	size   uint64 // being read
	left   uint64 // bytes of the chunk still to come
	line   int    // bytes of the chunk line so far
	excess int64  // see overhead

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
			c.state = chunkBroken
			return nil, 0, f.request()
		}
		n += used
	}
	return nil, n, nil
}

// Skip consumes as much of src as belongs to the body and tells how much that is:
// all of it unless the body ended. It is Next for those who pass on the coded
// bytes.
func (c *Chunked) Skip(src []byte) (n int, err error) {
	for n < len(src) && !c.Done() {
		_, used, err := c.Next(src[n:])
		if err != nil {
			return 0, err
		}
		n += used
	}
	return n, nil
}

func (c *Chunked) take(src []byte, n int) (data []byte, end int) {
	end = len(src)
	if uint64(end-n) >= c.left {
		end = n + int(c.left)
		c.state = chunkDataCR
	}
	c.left -= uint64(end - n)
	return src[n:end:end], end
}
