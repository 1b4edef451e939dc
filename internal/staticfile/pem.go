package staticfile

import (
	"go.yaml.in/yaml/v3"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/strictyaml"
)

// certificate reads a tls entry with its two files. An entry whose files cannot be
// read keeps its place in the lists, with a refusal instead of material.
func (d *decoder) certificate(n *yaml.Node) {
	before := d.Faults()
	o, ok := d.Object(n, "a tls entry", "", "host", "cert", "key")
	if !ok {
		return
	}
	host, at := o.Text("host"), positionOf(o)
	at.vague = d.Faults() > before
	certPath := o.Required("cert", "give the path of a PEM file with the chain")
	keyPath := o.Required("key", "give the path of a PEM file with the private key")
	cert, certOK := d.pem(o, "cert", certPath)
	key, keyOK := d.pem(o, "key", keyPath)
	index := len(d.out.Spec.Certs)
	m := certs.Material{Name: certPath, Cert: cert, Key: key}
	if !certOK || !keyOK {
		d.refuse(route.KindCert, index, unreadable)
	}
	d.out.Certs = append(d.out.Certs, m)
	d.out.Spec.Certs = append(d.out.Spec.Certs, route.CertSpec{Host: host, ID: m.ID()})
	d.certs = append(d.certs, at)
	d.keyPaths = append(d.keyPaths, keyPath)
}

// unreadable marks a tls entry whose files were not read.
const unreadable = "Unreadable"

// pem reads one of the files of a tls entry.
func (d *decoder) pem(o strictyaml.Object, key, path string) ([]byte, bool) {
	if path == "" {
		return nil, false
	}
	data, err := d.read(path)
	if err != nil {
		d.Report(o.At(key), "%s %q cannot be read: %v", key, path, err)
		return nil, false
	}
	return data, true
}

// keyReasons are the faults of a pair that are the key's.
var keyReasons = map[string]bool{
	certs.ReasonNoKey: true, certs.ReasonGarbledKey: true, certs.ReasonEncryptedKey: true, certs.ReasonExplicitCurve: true,
	certs.ReasonUnsupportedKey: true, certs.ReasonKeyMismatch: true,
}

// checkCertificates parses what was read, so that a pair that no handshake could
// use is found now and not by the first client.
func (d *decoder) checkCertificates() {
	var want []certs.Material
	for i, m := range d.out.Certs {
		if !d.isRefused(route.KindCert, i, unreadable) {
			want = append(want, m)
		}
	}
	_, _, problems := certs.Build(want)
	byID := make(map[route.CertID]certs.Problem, len(problems))
	for _, p := range problems {
		byID[p.ID] = p
	}
	for i, c := range d.out.Spec.Certs {
		p, bad := byID[c.ID]
		switch {
		case !bad || d.isRefused(route.KindCert, i, unreadable):
		case keyReasons[p.Reason]:
			d.Report(d.certs[i].at("key"), "key %q: %s", d.keyPaths[i], p.Message)
		default:
			d.Report(d.certs[i].at("cert"), "cert %q: %s", p.Name, p.Message)
		}
	}
}
