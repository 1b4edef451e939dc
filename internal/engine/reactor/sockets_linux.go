package reactor

import (
	"net/netip"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block and therefore do not tell the scheduler: a loop keeps
// its processor through them.

// errno is what a call failed with; 0 = nothing.
type errno = syscall.Errno

// transfer is how a read or a write went.
type transfer uint8

const (
	moved   transfer = iota
	blocked          // nothing, or no more, can be moved now
	ended            // the peer has ended its direction; reads only
	failed           // the connection is broken
)

func sysRead(fd int32, b []byte) (int, errno) {
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		if e != syscall.EINTR {
			return int(n), e
		}
	}
}

func sysSend(fd int32, b []byte) (int, errno) {
	for {
		n, _, e := syscall.RawSyscall6(syscall.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)),
			syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT, 0, 0)
		if e != syscall.EINTR {
			return int(n), e
		}
	}
}

// sysSend2 sends two pieces as one.
func sysSend2(fd int32, a, b []byte) (int, errno) {
	vectors := [2]unix.Iovec{{Base: unsafe.SliceData(a)}, {Base: unsafe.SliceData(b)}}
	vectors[0].SetLen(len(a))
	vectors[1].SetLen(len(b))
	message := unix.Msghdr{Iov: &vectors[0]}
	message.SetIovlen(2)
	for {
		n, _, e := syscall.RawSyscall(syscall.SYS_SENDMSG, uintptr(fd), uintptr(unsafe.Pointer(&message)), syscall.MSG_NOSIGNAL|syscall.MSG_DONTWAIT)
		if e != syscall.EINTR {
			return int(n), e
		}
	}
}

func sysClose(fd int32) { _, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(fd), 0, 0) }

func sysShutdownWrite(fd int32) {
	_, _, _ = syscall.RawSyscall(syscall.SYS_SHUTDOWN, uintptr(fd), syscall.SHUT_WR, 0)
}

// sysAbort makes the close that follows reset the connection.
func sysAbort(fd int32) {
	_ = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
}

// sysConnect begins to connect; the socket becomes writable when that has ended.
func sysConnect(to netip.AddrPort) (int32, error) {
	family := unix.AF_INET6
	if to.Addr().Unmap().Is4() {
		family = unix.AF_INET
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	keepAlive(fd)
	var address unix.Sockaddr
	if family == unix.AF_INET {
		address = &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().Unmap().As4()}
	} else {
		address = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	if err := unix.Connect(fd, address); err != nil && err != unix.EINPROGRESS && err != unix.EINTR {
		unix.Close(fd)
		return -1, err
	}
	return int32(fd), nil
}

// keepAliveEvery is how often a silent peer is asked whether it is still there; the
// ninth time without an answer ends the connection, as with Go's own sockets.
const keepAliveEvery = 15 * time.Second

// keepAlive makes a socket find out about dead peers and send at once. Connections
// that a listener accepts inherit it. Failing is no reason not to use the socket.
func keepAlive(fd int) {
	seconds := int(keepAliveEvery / time.Second)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, seconds)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, seconds)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 9)
}

// sysConnected tells how connecting ended.
func sysConnected(fd int32) error {
	e, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && e != 0 {
		err = errno(e)
	}
	return err
}

// addressOf is the address in what accept(2) returned.
func addressOf(s unix.Sockaddr) netip.AddrPort {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), uint16(s.Port))
	}
	return netip.AddrPort{}
}

// read reads what has come.
func (s *sock) read(b []byte) (int, transfer) {
	n, e := sysRead(s.fd, b)
	switch {
	case e == 0 && n > 0:
		if n < len(b) && !s.hup {
			s.readable = false // what comes from here on is announced
		}
		return n, moved
	case e == 0:
		s.hup = true
		return 0, ended
	case e == syscall.EAGAIN:
		s.readable = false
		return 0, blocked
	}
	s.hup, s.broken = true, true
	return 0, failed
}

// send sends two pieces, of which either may be empty, or the beginning of them.
func (s *sock) send(a, b []byte) (n int, how transfer) {
	if !s.writable {
		return 0, blocked
	}
	var e errno
	switch {
	case len(b) == 0:
		n, e = sysSend(s.fd, a)
	case len(a) == 0:
		n, e = sysSend(s.fd, b)
	default:
		n, e = sysSend2(s.fd, a, b)
	}
	switch e {
	case 0:
		if n < len(a)+len(b) {
			s.writable = false // a kernel that took a part has no room for more now
			return n, moved
		}
		return n, moved
	case syscall.EAGAIN:
		s.writable = false
		return 0, blocked
	}
	s.broken = true
	return 0, failed
}
