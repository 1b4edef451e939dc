package reactor

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller tells a loop which of its sockets something has happened to. It tells of a
// change once: a socket stays readable or writable until a call says otherwise.
// Everything but wake belongs to the loop.
type poller interface {
	// add begins to watch a socket; its events carry gen.
	add(fd int32, gen uint32) error
	// remove ends that, for a socket that is not closed by the caller.
	remove(fd int32)
	// wait waits for events, at most until the timeout (< 0 = none), and returns how
	// many it filled in. With held it may keep the processor of the scheduler while it
	// waits, which the timeout has to bound then.
	wait(into []event, timeout time.Duration, held bool) int
	// wake ends the wait that is going on, or the next. Any goroutine may call it.
	wake()
	close()
}

// event says what a socket has become.
type event struct {
	fd                              int32
	gen                             uint32
	readable, writable, hup, broken bool
}

// epoll is the poller of Linux: edge-triggered epoll(7), and an eventfd(2) to wake it.
type epoll struct {
	fd, waker int32
	raw       []unix.EpollEvent
}

const edges = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

func newEpoll(events int) (*epoll, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create an epoll instance: %w", err)
	}
	waker, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("create an eventfd: %w", err)
	}
	p := &epoll{fd: int32(fd), waker: int32(waker), raw: make([]unix.EpollEvent, events)}
	if err := p.control(unix.EPOLL_CTL_ADD, p.waker, 0, unix.EPOLLIN|unix.EPOLLET); err != nil {
		p.close()
		return nil, fmt.Errorf("watch an eventfd: %w", err)
	}
	return p, nil
}

func (p *epoll) control(op int, fd int32, gen, events uint32) error {
	e := unix.EpollEvent{Events: events, Fd: fd, Pad: int32(gen)}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_EPOLL_CTL, uintptr(p.fd), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(&e)), 0, 0); e != 0 {
		return e
	}
	return nil
}

func (p *epoll) add(fd int32, gen uint32) error {
	return p.control(unix.EPOLL_CTL_ADD, fd, gen, uint32(edges))
}

func (p *epoll) remove(fd int32) { _ = p.control(unix.EPOLL_CTL_DEL, fd, 0, 0) }

func (p *epoll) wait(into []event, timeout time.Duration, held bool) int {
	ms := -1
	if timeout >= 0 {
		ms = int((timeout + time.Millisecond - 1) / time.Millisecond)
	}
	raw := p.raw[:min(len(p.raw), len(into))]
	n := 0
	if held || ms == 0 {
		r, _, e := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&raw[0])), uintptr(len(raw)), uintptr(ms), 0, 0)
		if e == 0 { // else the runtime wants this thread: the safepoint is next
			n = int(r)
		}
	} else {
		n, _ = unix.EpollWait(int(p.fd), raw, ms)
	}
	filled := 0
	for i := range max(n, 0) {
		e := &raw[i]
		if e.Fd == p.waker {
			p.woken()
			continue
		}
		into[filled] = event{
			fd: e.Fd, gen: uint32(e.Pad),
			readable: e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0,
			writable: e.Events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0,
			hup:      e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0,
			broken:   e.Events&(unix.EPOLLHUP|unix.EPOLLERR) != 0,
		}
		filled++
	}
	return filled
}

func (p *epoll) woken() {
	var b [8]byte
	_, _ = sysRead(p.waker, b[:])
}

func (p *epoll) wake() {
	one := uint64(1)
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(p.waker), uintptr(unsafe.Pointer(&one)), 8)
}

func (p *epoll) close() {
	unix.Close(int(p.waker))
	unix.Close(int(p.fd))
}
