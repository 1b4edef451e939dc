package main

import "runtime"

// slack is how much garbage the collector lets be before it begins, beyond what it
// would for the heap alone. That is small: the collector would run every few dozen TLS
// handshakes, whose garbage is all of crypto/tls, and cost more than an eighth of each.
// A larger GOGC would do the same for a small heap, and let one with a large cluster in
// it grow to a multiple.
const slack = 16 << 20

// takeSlack makes the collector count memory that nobody touches: the kernel never
// gives it, so that it is no resident memory. It has no pointers, so that nobody looks
// into it. release lets it go.
func takeSlack() (release func()) {
	room := make([]byte, slack)
	return func() { runtime.KeepAlive(&room[0]) }
}
