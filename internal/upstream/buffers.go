package upstream

import "sync"

// Buffer sizes of a relay: Small is enough for most heads and messages and is
// what a quiet stream holds; Large is taken once data flows, because a system
// call per 64 KiB costs a fraction of one per 8 KiB.
const (
	Small = 8 << 10
	Large = 64 << 10
)

var (
	smallBuffers = sync.Pool{New: func() any { b := make([]byte, Small); return &b }}
	largeBuffers = sync.Pool{New: func() any { b := make([]byte, Large); return &b }}
)

// GetSmall and GetLarge lend a buffer; PutBuffer takes it back. Its contents
// are arbitrary.
func GetSmall() *[]byte { return smallBuffers.Get().(*[]byte) }

// GetLarge lends a buffer of Large bytes.
func GetLarge() *[]byte { return largeBuffers.Get().(*[]byte) }

// PutBuffer takes back a lent buffer; others (grown ones) are left to the
// garbage collector.
func PutBuffer(b *[]byte) {
	switch len(*b) {
	case Small:
		smallBuffers.Put(b)
	case Large:
		largeBuffers.Put(b)
	}
}
