package upstream

import "syscall"

// tcpUserTimeout is TCP_USER_TIMEOUT of tcp(7), in milliseconds.
const tcpUserTimeout = 18

// boundSilence makes the kernel end a connection whose peer has acknowledged
// nothing for deadAfter: neither data nor the keep-alive probes of a quiet
// connection. A kernel that refuses has its own, longer patience.
func boundSilence(fd uintptr) {
	_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(deadAfter.Milliseconds()))
}
