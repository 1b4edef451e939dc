package reactor

import (
	"bufio"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// TestNewKeysWithoutEnd: each demand for new keys (RFC 8446 section 4.6.3) is answered. A
// client that makes ever more of them and does not take the answers is not read from.
func TestNewKeysWithoutEnd(t *testing.T) {
	o := enginetest.NewOrigin(t, func(e *enginetest.Exchange) error {
		_, err := io.Copy(io.Discard, e.In)
		return err
	})
	p := enginetest.Start(t, newOne, enginetest.Setup{Spec: o.Spec(), Hosts: []string{"a.test"}})
	raw, err := net.Dial("tcp", p.HTTPS)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.(*net.TCPConn).SetReadBuffer(4 << 10)
	var keys strings.Builder
	c := tls.Client(raw, &tls.Config{ServerName: "a.test", RootCAs: p.Roots, KeyLogWriter: &keys})
	if err := c.Handshake(); err != nil {
		t.Fatal(err)
	}
	if suite := c.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		t.Fatalf("the cipher suite is %s: teach sender that one", tls.CipherSuiteName(suite))
	}
	s := newSender(t, keys.String())
	out := s.record(applicationData, []byte("POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1000000000\r\n\r\n"))
	demand := []byte{24, 0, 0, 1, 1} // KeyUpdate, update_requested
	// Until the proxy does not read on, and for longer than its sockets could hide it.
	const enough = 64 << 20
	sent := 0
	for sent < enough {
		for len(out) < 64<<10 {
			out = append(out, s.record(handshakeMessage, demand)...)
			s.update()
			out = append(out, s.record(applicationData, []byte("x"))...)
		}
		_ = raw.SetWriteDeadline(time.Now().Add(2 * time.Second))
		n, err := raw.Write(out)
		sent += n
		if err != nil {
			break
		}
		out = out[:0]
	}
	if sent >= enough {
		t.Errorf("%d bytes of demands were taken", sent)
	}
	inspect(p, func(l *loop) {
		for _, s := range l.socks {
			if s == nil {
				continue
			}
			if c, ok := s.of.(*conn); ok && len(c.tls.sealed)-c.tls.sent > mostAnswers+large {
				t.Errorf("%d bytes wait for a client that does not listen", len(c.tls.sealed)-c.tls.sent)
			}
		}
	})
}

// Content types of TLS records.
const (
	handshakeMessage = 22
	applicationData  = 23
)

// sender is the client's half of a TLS 1.3 connection with AES-128-GCM and SHA-256: crypto/tls
// does not ask for new keys by itself.
type sender struct {
	t      *testing.T
	secret []byte
	aead   cipher.AEAD
	iv     []byte
	number uint64
}

// newSender takes the secret out of a key log.
func newSender(t *testing.T, log string) *sender {
	s := &sender{t: t}
	for lines := bufio.NewScanner(strings.NewReader(log)); lines.Scan(); {
		if f := strings.Fields(lines.Text()); f[0] == "CLIENT_TRAFFIC_SECRET_0" {
			s.secret, _ = hex.DecodeString(f[2])
		}
	}
	s.key()
	return s
}

// expand is HKDF-Expand-Label without a context (RFC 8446 section 7.1).
func (s *sender) expand(label string, length int) []byte {
	label = "tls13 " + label
	info := append([]byte{0, byte(length), byte(len(label))}, label...)
	b, err := hkdf.Expand(sha256.New, s.secret, string(append(info, 0)), length)
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *sender) key() {
	block, err := aes.NewCipher(s.expand("key", 16))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.aead, err = cipher.NewGCM(block); err != nil {
		s.t.Fatal(err)
	}
	s.iv, s.number = s.expand("iv", 12), 0
}

// update goes on to the next keys.
func (s *sender) update() {
	s.secret = s.expand("traffic upd", 32)
	s.key()
}

// record seals one record.
func (s *sender) record(kind byte, content []byte) []byte {
	inner := append(append([]byte(nil), content...), kind)
	head := []byte{applicationData, 3, 3, 0, 0}
	binary.BigEndian.PutUint16(head[3:], uint16(len(inner)+s.aead.Overhead()))
	nonce := append([]byte(nil), s.iv...)
	for i := range 8 {
		nonce[4+i] ^= byte(s.number >> (56 - 8*i))
	}
	s.number++
	return s.aead.Seal(head, nonce, inner, head)
}
