//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below those that the kernel gives to clients (32768 and
// above): a port that is to be there again after a restart must not meanwhile be
// the other end of somebody's connection.
const (
	lowestPort  = 20000
	highestPort = 32000
)

// freePort finds a port of loopback on which nobody listens. It is found at
// random, so that two processes that look at the same time rarely meet.
func freePort() (int, error) {
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		l, err := net.Listen("tcp", loopback(port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no free port between 20000 and 32000")
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
