package nethttp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"ramjet.dev/ingress/internal/proxyproto"
)

// proxyHeader reads the PROXY header that a connection has to begin with, and
// keeps what follows it in the same segment. A connection without a header, or
// with a broken or late one, is closed; the first of the process is logged as a
// warning, because it usually means that the load balancer and we are configured
// differently, and the rest at debug.
func (e *Engine) proxyHeader(ctx context.Context, c *counted) bool {
	stop := context.AfterFunc(ctx, func() { c.TCPConn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	err := readProxyHeader(c, e.options.ProxyProtocolTimeout)
	if err == nil && ctx.Err() == nil {
		return true
	}
	c.Close()
	if ctx.Err() != nil {
		return false
	}
	level := slog.LevelDebug
	if !e.proxyRefused.Swap(true) {
		level = slog.LevelWarn
	}
	e.log.Log(ctx, level, "a connection without a valid PROXY header was closed: --proxy-protocol requires one from every client of the data ports; further ones are logged at debug",
		"peer", c.TCPConn.RemoteAddr().String(), "error", err)
	return false
}

// errNoHeader says that the header did not come.
var errNoHeader = errors.New("no PROXY header arrived in time")

func readProxyHeader(c *counted, within time.Duration) error {
	c.TCPConn.SetReadDeadline(time.Now().Add(within))
	var parser proxyproto.Parser
	buf := make([]byte, 4<<10)
	for {
		n, err := c.TCPConn.Read(buf)
		if n == 0 {
			if isTimeout(err) {
				return errNoHeader
			}
			return err
		}
		used, err := parser.Next(buf[:n])
		if err != nil {
			return err
		}
		if !parser.Done() {
			continue
		}
		c.early = bytes.Clone(buf[used:n])
		if h := parser.Header(); !h.Local {
			c.source = net.TCPAddrFromAddrPort(h.Source)
		}
		return c.TCPConn.SetReadDeadline(time.Time{})
	}
}
