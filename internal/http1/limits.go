package http1

import "math"

// Defaults of Limits. The last two are what keeps net/http's server, when this
// package stands in front of it, from refusing what passed here: it reads
// trailers and chunk lines through a buffer of 4,096 bytes.
const (
	DefaultHeadBytes      = 64 << 10
	DefaultFields         = 1024
	DefaultTrailerBytes   = 4096
	DefaultChunkLineBytes = 1024
)

// Limits bound what a peer can make us hold or read. All are inclusive: a head of
// exactly HeadBytes passes. Zero means the default, so the zero Limits is usable.
type Limits struct {
	// HeadBytes is the size of a whole head: start line, fields and the empty line,
	// line ends included, an empty line that precedes it not. Default 64 KiB, at
	// most 1 GiB.
	HeadBytes int
	// LineBytes is the size of a request line with its CRLF. Default HeadBytes;
	// a larger value than that has no effect. Responses have no such limit.
	LineBytes int
	// Fields is the number of header lines, and of trailer lines: a field of four
	// bytes costs 60 to represent, so bytes alone bound memory badly. Default 1024.
	Fields int
	// TrailerBytes is the size of a trailer section with the empty line that ends
	// it. Default, and most when net/http reads the same bytes, 4,096.
	TrailerBytes int
	// ChunkLineBytes is the size of a chunk-size line with its extensions and CRLF.
	// Default 1,024; most when net/http reads the same bytes, 4,096.
	ChunkLineBytes int
}

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}

func (l Limits) head() int      { return min(orDefault(l.HeadBytes, DefaultHeadBytes), math.MaxInt32/2) }
func (l Limits) line() int      { return min(orDefault(l.LineBytes, l.head()), l.head()) }
func (l Limits) fields() int    { return orDefault(l.Fields, DefaultFields) }
func (l Limits) trailer() int   { return orDefault(l.TrailerBytes, DefaultTrailerBytes) }
func (l Limits) chunkLine() int { return orDefault(l.ChunkLineBytes, DefaultChunkLineBytes) }
