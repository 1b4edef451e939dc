package reactor

import (
	"crypto/tls"
	"io"
	"testing"

	"ramjet.dev/ingress/internal/engine/enginetest"
)

// BenchmarkHandshake is a full TLS 1.3 handshake, one GET and the end of the connection;
// what the client costs is in the figures.
func BenchmarkHandshake(b *testing.B) {
	answer := getResponse + string(make([]byte, 128))
	p := enginetest.Start(b, newEngine, enginetest.Setup{Spec: echoing(b, answer).Spec(), Hosts: []string{"a.test"}, Change: noRecords})
	config := &tls.Config{
		ServerName:         "a.test",
		InsecureSkipVerify: true, // checking the chain is the client's business and costs as much as all the rest
		MinVersion:         tls.VersionTLS13,
		CurvePreferences:   []tls.CurveID{tls.X25519},
		NextProtos:         []string{"http/1.1"},
	}
	b.ReportAllocs()
	for b.Loop() {
		c, err := tls.Dial("tcp", p.HTTPS, config)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(c, getRequest); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, len(answer))); err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
