package http1

import (
	"encoding/binary"
	"math/bits"
)

// Classes of bytes, one bit each.
const (
	classToken  = 1 << iota // tchar, RFC 9110 section 5.6.2
	classTarget             // what a request target may contain, see targetByte
	classHost               // unreserved or sub-delims, RFC 3986 section 2
	classHex
)

// class maps a byte to its classes.
var class = func() (table [256]uint8) {
	for i := range table {
		c := byte(i)
		alnum := '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
		if alnum || containsByte("!#$%&'*+-.^_`|~", c) {
			table[i] |= classToken
		}
		if targetByte(c) {
			table[i] |= classTarget
		}
		if alnum || containsByte("-._~!$&'()*+,;=", c) {
			table[i] |= classHost
		}
		if '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' {
			table[i] |= classHex
		}
	}
	return table
}()

// targetByte is wider than RFC 3986: browsers and libraries send quotes, braces,
// pipes and raw UTF-8, and every server in use takes them. Narrower than
// net/http: a '#' never belongs into a target (RFC 9112 section 3.2), and
// servers disagree on whether the path ends there.
func targetByte(c byte) bool { return c > ' ' && c != 0x7f && c != '#' }

func containsByte(s string, c byte) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == c {
			return true
		}
	}
	return false
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// indexControl returns the index of the first byte of b below space or equal to
// DEL, or len(b). It looks at eight bytes at a time: subtracting makes the high
// bit of each small byte borrow. A borrow can mark a byte above a true hit as
// well, never one below, so the lowest mark is exact.
func indexControl(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		del := w ^ (0x7f * ones)
		marks := ((w-0x20*ones)&^w | (del-ones)&^del) & highs
		if marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] < ' ' || b[i] == 0x7f {
			return i
		}
	}
	return i
}
