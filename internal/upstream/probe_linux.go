package upstream

import (
	"syscall"
	"unsafe"
)

// probe asks the kernel, without blocking and without taking a byte, whether
// anything is waiting on a socket. It is kept with the connection because a
// closure made for each question would be an allocation on the request path.
type probe struct {
	run   func(fd uintptr)
	quiet bool
	b     [1]byte
}

func (p *probe) init() {
	p.run = func(fd uintptr) {
		_, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&p.b[0])), 1,
			syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
		p.quiet = errno == syscall.EAGAIN
	}
}
