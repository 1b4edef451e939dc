package nethttp

import (
	"io"
	"net"
	"testing"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// BenchmarkGet is a keep-alive GET of 128 bytes through the engine. Client and
// origin allocate nothing, so that allocs/op is the engine's.
func BenchmarkGet(b *testing.B) {
	const request = "GET /x HTTP/1.1\r\nHost: a.test\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
	response := "HTTP/1.1 200 OK\r\nServer: origin\r\nDate: Sun, 29 Nov 2026 16:00:00 GMT\r\n" +
		"Content-Type: text/plain\r\nContent-Length: 128\r\n\r\n" + string(make([]byte, 128))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		in, out := make([]byte, 4096), []byte(response)
		for {
			if _, err := c.Read(in); err != nil {
				return
			}
			c.Write(out)
		}
	}()
	p := enginetest.Start(b, newEngine, enginetest.Setup{Spec: (&enginetest.Origin{Address: l.Addr().String()}).Spec()})
	c, err := net.Dial("tcp", p.HTTP)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	send, got := []byte(request), make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		c.Write(send)
		for want := 0; want < len(response); {
			n, err := c.Read(got)
			if err != nil && err != io.EOF {
				b.Fatal(err)
			}
			want += n
		}
	}
}
