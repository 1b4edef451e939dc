//go:build cluster

package kube

import (
	"crypto/x509"
	stdbase64 "encoding/base64"
	"encoding/pem"
	"fmt"
	"testing"
	"time"
)

// parse returns the first certificate of a PEM text.
func parse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("no PEM: %q", text)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func base64(b []byte) string { return stdbase64.StdEncoding.EncodeToString(b) }

// ms is a duration for people.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
