//go:build unix && !linux

package upstream

import "syscall"

// probe asks the kernel, without blocking and without taking a byte, whether
// anything is waiting on a socket.
type probe struct {
	run   func(fd uintptr)
	quiet bool
	b     [1]byte
}

func (p *probe) init() {
	p.run = func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), p.b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		p.quiet = err == syscall.EAGAIN
	}
}
