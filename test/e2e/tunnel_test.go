//go:build e2e

package e2e

import (
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"
)

// echoes is a backend that takes every upgrade and sends back what comes. Each
// connection that has ended gives a word.
func echoes(t *testing.T) (endpoint string, ended <-chan struct{}) {
	over := make(chan struct{}, 16)
	endpoint = origin(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { over <- struct{}{} }()
		defer conn.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = rw.Flush()
		_, _ = io.Copy(conn, rw)
	})
	return endpoint, over
}

// upgrade opens a tunnel and sees that bytes pass.
func upgrade(t *testing.T, address string) *wire {
	t.Helper()
	client := dial(t, address)
	client.send(t, "GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	if r := client.head(t); r.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("status %d, want 101", r.StatusCode)
	}
	client.send(t, "ping")
	echo := make([]byte, 4)
	if _, err := io.ReadFull(client.in, echo); err != nil || string(echo) != "ping" {
		t.Fatalf("%q, %v", echo, err)
	}
	return client
}

// TestTunnelIsNotWaitedFor (W05): an upgraded connection may last for days.
func TestTunnelIsNotWaitedFor(t *testing.T) {
	endpoint, ended := echoes(t)
	c, a := serve(t, endpoint, "--shutdown-grace", "10m")
	client := upgrade(t, a.HTTP)
	c.Signal(syscall.SIGTERM)
	if code := c.Exit(); code != 0 {
		t.Errorf("exit status %d, want 0", code)
	}
	if _, err := client.in.ReadByte(); err == nil {
		t.Error("the tunnel goes on after the end of the process")
	}
	soon(t, ended, "the end of the tunnel at the backend")
}

// TestTunnelEndsWithItsClient: a client that breaks off takes the other half of
// its tunnel with it, and at once.
func TestTunnelEndsWithItsClient(t *testing.T) {
	endpoint, ended := echoes(t)
	_, a := serve(t, endpoint)
	client := upgrade(t, a.HTTP)
	if err := client.Conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	client.Close() // with a reset
	soon(t, ended, "the end of the tunnel at the backend")
}
