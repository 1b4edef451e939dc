//go:build linux

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// identity is the key material of one control plane, made for it and gone with
// it.
type identity struct {
	ca                          []byte // PEM, what clients trust
	cert, key, serviceAccounts  string // paths: serving pair, key of ServiceAccount tokens
	adminToken, adminTokensFile string
}

// newIdentity writes what an API server needs into dir.
func newIdentity(dir string) (*identity, error) {
	id := &identity{
		cert: filepath.Join(dir, "apiserver.crt"), key: filepath.Join(dir, "apiserver.key"),
		serviceAccounts: filepath.Join(dir, "service-accounts.key"),
		adminToken:      rand.Text(), adminTokensFile: filepath.Join(dir, "tokens.csv"),
	}
	authority, authorityKey, err := issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "ramjet-ingress test cluster"},
		IsCA:    true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	if err != nil {
		return nil, err
	}
	id.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Raw})
	leaf, leafKey, err := issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"localhost", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, authority, authorityKey)
	if err != nil {
		return nil, err
	}
	_, accountsKey, err := issue(&x509.Certificate{}, nil, nil)
	if err != nil {
		return nil, err
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: leaf.Raw})
	for _, f := range []struct {
		name string
		text []byte
	}{
		{id.cert, chain},
		{id.key, keyPEM(leafKey)},
		{id.serviceAccounts, keyPEM(accountsKey)},
		{id.adminTokensFile, []byte(id.adminToken + `,admin,admin,"system:masters"` + "\n")},
	} {
		if err := os.WriteFile(f.name, f.text, 0o600); err != nil {
			return nil, fmt.Errorf("write the keys of the control plane: %w", err)
		}
	}
	return id, nil
}

// issue makes a key and a certificate for it; without an issuer it signs itself.
func issue(template, issuer *x509.Certificate, issuerKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(365 * 24 * time.Hour)
	if issuer == nil {
		issuer, issuerKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, &key.PublicKey, issuerKey)
	if err != nil {
		return nil, nil, fmt.Errorf("issue a certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

func keyPEM(key *ecdsa.PrivateKey) []byte {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		panic(err) // only for curves that nobody made here
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}
