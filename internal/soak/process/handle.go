//go:build linux

package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// handle refers to one process for as long as it is open, whoever gets its number
// later (pidfd_open(2)).
type handle struct{ file *os.File }

// open makes a handle, after a look that it is the process that was meant. The error is
// os.ErrProcessDone if that is gone, and says nothing about it otherwise.
func open(id Identity) (*handle, error) {
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if missing(err) {
		err = os.ErrProcessDone
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", id.PID, err)
	}
	h := &handle{file: os.NewFile(uintptr(fd), fmt.Sprintf("pidfd of %d", id.PID))}
	// The number may have gone to another before it was opened, not after.
	s, err := readStat(id.PID)
	if missing(err) || err == nil && s.ticks != id.StartTicks {
		err = os.ErrProcessDone
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("look at process %d: %w", id.PID, err)
	}
	return h, nil
}

func (h *handle) close() { h.file.Close() }

// signal sends a signal. That the process is gone is no error.
func (h *handle) signal(s syscall.Signal) error { return h.send(s, 0) }

// signalGroup sends a signal to all that are in the process group that the process leads,
// or led when it was there, at one stroke: none of them can fork out of it. That there are
// none is no error; a kernel before Linux 6.9 cannot do it.
func (h *handle) signalGroup(s syscall.Signal) error {
	return h.send(s, unix.PIDFD_SIGNAL_PROCESS_GROUP)
}

func (h *handle) send(s syscall.Signal, flags int) error {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	if err := conn.Control(func(fd uintptr) { sent = unix.PidfdSendSignal(int(fd), s, nil, flags) }); err != nil {
		return err
	}
	if errors.Is(sent, unix.ESRCH) {
		return nil
	}
	return sent
}

// wait returns once the process has ended; with an error if the handle was closed
// before.
func (h *handle) wait() error {
	conn, err := h.file.SyscallConn()
	if err != nil {
		return err
	}
	return conn.Read(func(fd uintptr) (done bool) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
	})
}
