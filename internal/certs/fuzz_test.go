package certs_test

import (
	"crypto/tls"
	"testing"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
)

// Whatever stands in a Secret, building neither panics nor serves what the standard
// library's own loader would refuse in the same blocks; and what that loader takes
// is refused only for one of the reasons in which we are stricter on purpose.
func FuzzBuild(f *testing.F) {
	ca := certtest.NewAuthority(f)
	cert, key := ca.Pair(f, host)
	f.Add(cert, key)
	f.Add(key, cert)
	f.Add(cert[:100], key[:100])
	f.Add(join([]byte("\xef\xbb\xbf"), cert, cert), join(ecParameters, key))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"), []byte("-----BEGIN PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n-----END PRIVATE KEY-----"))
	stricter := map[string]bool{
		certs.ReasonGarbledCertificate: true, certs.ReasonUnsupportedKey: true, certs.ReasonEncryptedKey: true,
	}
	f.Fuzz(func(t *testing.T, certPEM, keyPEM []byte) {
		set, problems := buildOne(certPEM, keyPEM)
		if set.Len()+len(problems) != 1 {
			t.Fatalf("%d certificates and %d problems", set.Len(), len(problems))
		}
		if _, err := tls.X509KeyPair(certPEM, keyPEM); err == nil && len(problems) > 0 && !stricter[problems[0].Reason] {
			t.Errorf("refused a pair that works: %v", problems[0])
		}
	})
}
