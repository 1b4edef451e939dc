package http1

import "strconv"

// LastChunk ends a chunked body without trailers: the last chunk and the empty
// line. With trailers, "0\r\n", the field lines and an empty line take its place.
const LastChunk = "0\r\n\r\n"

// AppendChunkSize appends the line that precedes size bytes of data; CRLF has to
// follow them. A size of 0 would end the body: the caller sends no empty chunks.
func AppendChunkSize(dst []byte, size int) []byte {
	return append(strconv.AppendUint(dst, uint64(size), 16), "\r\n"...)
}
