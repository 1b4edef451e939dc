package daemon

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"ramjet.dev/ingress/internal/certs/certtest"
)

// Write puts text into a file of a folder and returns its path.
func Write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Pair writes NAME-cert.pem and NAME-key.pem, a certificate for hosts and its
// key, and returns what a client has to trust.
func Pair(t testing.TB, dir, name string, hosts ...string) *x509.CertPool {
	t.Helper()
	authority := certtest.NewAuthority(t)
	cert, key := authority.Pair(t, hosts...)
	Write(t, dir, name+"-cert.pem", string(cert))
	Write(t, dir, name+"-key.pem", string(key))
	return authority.Pool()
}
