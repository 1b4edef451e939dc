package nethttp

import (
	"net"
	"net/netip"
)

// peer is the other end of a client connection, with its text made once.
type peer struct {
	addr netip.Addr
	text string
}

func peerOf(c net.Conn) peer {
	tcp, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return peer{}
	}
	addr := tcp.AddrPort().Addr().Unmap().WithZone("")
	return peer{addr: addr, text: addr.String()}
}
