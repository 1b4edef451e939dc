package nethttp

import "golang.org/x/sys/unix"

// hungUp reports whether the client has closed or reset the connection, also while
// bytes that it sent before are still unread.
func (c *counted) hungUp() bool {
	raw, err := c.TCPConn.SyscallConn()
	if err != nil {
		return true
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLERR|unix.POLLHUP) != 0
	})
	return err != nil || gone
}
