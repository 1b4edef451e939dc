package reactor

import (
	"bytes"
	"crypto/tls"
	"net"
	"testing"
)

// helloOf is what a client of crypto/tls sends first.
func helloOf(t *testing.T, protocols ...string) []byte {
	t.Helper()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_ = tls.Client(far, &tls.Config{ServerName: "a.test", NextProtos: protocols}).Handshake()
		far.Close()
	}()
	b := make([]byte, 4<<10)
	n, err := near.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

func TestReadHello(t *testing.T) {
	for _, try := range []struct {
		say  string
		b    []byte
		want hello
	}{
		{"h2 first", helloOf(t, "h2", "http/1.1"), helloH2},
		{"h2 last", helloOf(t, "http/1.1", "h2"), helloH2},
		{"no h2", helloOf(t, "http/1.1", "h2c"), helloOther},
		{"no protocols", helloOf(t), helloOther},
		{"no TLS", []byte("GET / HTTP/1.1\r\n"), helloOther},
		{"another message", []byte{recordHandshake, 3, 1, 0, 4, 2, 0, 0, 0}, helloOther},
		{"an empty ClientHello", []byte{recordHandshake, 3, 1, 0, 4, 1, 0, 0, 0}, helloOther},
		{"extensions that say more than there is", []byte{recordHandshake, 3, 1, 0, 6, 1, 0, 0, 2, 9, 9}, helloOther},
		{"empty records without end", bytes.Repeat([]byte{recordHandshake, 3, 1, 0, 0}, mostHello/5+1), helloOther},
	} {
		if got := readHello(try.b); got != try.want {
			t.Errorf("%s: %d, want %d", try.say, got, try.want)
		}
	}
}

// TestReadHelloInPieces cuts a hello at every byte, and its message into records of
// every size.
func TestReadHelloInPieces(t *testing.T) {
	whole := helloOf(t, "http/1.1", "h2")
	for n := range whole {
		if got := readHello(whole[:n]); got != helloMore {
			t.Fatalf("%d bytes of %d: %d", n, len(whole), got)
		}
	}
	message := whole[recordHead:]
	for size := 1; size < len(message); size++ {
		var b []byte
		for rest := message; len(rest) > 0; {
			n := min(size, len(rest))
			b = append(append(b, recordHandshake, 3, 1, byte(n>>8), byte(n)), rest[:n]...)
			rest = rest[n:]
		}
		if got := readHello(b); got != helloH2 {
			t.Fatalf("records of %d bytes: %d", size, got)
		}
		if got := readHello(b[:len(b)-1]); got != helloMore {
			t.Fatalf("records of %d bytes, without the last one: %d", size, got)
		}
	}
}

func FuzzReadHello(f *testing.F) {
	f.Add([]byte{recordHandshake, 3, 1, 0, 4, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) { readHello(b) })
}
