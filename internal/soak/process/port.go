//go:build linux

package process

import (
	"errors"

	"golang.org/x/sys/unix"
)

// PortFree reports whether nobody listens on a TCP port of this machine. It does not
// listen to find out: a proxy that has a route to the port would be connected, and
// cut off the next moment.
func PortFree(port int) bool {
	return bindable(unix.AF_INET, &unix.SockaddrInet4{Port: port}) && bindable(unix.AF_INET6, &unix.SockaddrInet6{Port: port})
}

// bindable reports whether a socket can get an address. What fails for another reason
// than that somebody has it, such as a family that the machine does not know, says
// nothing against it.
func bindable(family int, address unix.Sockaddr) bool {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return true
	}
	defer func() { _ = unix.Close(fd) }() // it holds nothing that could be lost
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) != nil {
		return true
	}
	if family == unix.AF_INET6 && unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1) != nil {
		return true
	}
	return !errors.Is(unix.Bind(fd, address), unix.EADDRINUSE)
}
