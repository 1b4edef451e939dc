// Package staticfile compiles a route file, written by hand in YAML, into the
// plain description that the route and certs packages build a generation from.
//
// Guarantees: a file is taken as a whole or not at all; every fault of a file that
// is YAML is reported at once, each with its line and on one line, in the order of
// the lines; nothing is guessed or dropped silently (an unknown key, a key given
// twice, a value of the wrong type, a name that leads nowhere are faults); no
// input makes it panic, and the work it does is bounded by the size of the file.
//
// The form of the file:
//
//   - defaultBackend names a backend; absent or "" is none.
//   - backends: each has a name, and optionally policy (roundRobin), protocol
//     (HTTP) and endpoints, written as host:port (weight 1) or as {address,
//     weight}. A backend without endpoints answers 503.
//   - routes: each has a backend, and optionally host (absent or "" is any host;
//     "*" alone is refused, as it is a wildcard nowhere else either), path ("/"),
//     pathType (Prefix), regex (false), canary and mirror.
//   - tls: each has cert and key, paths of PEM files relative to the route file,
//     and optionally host (absent, "" or "*" is the default certificate).
//
// Hosts may be written in upper case. Anchors and aliases work, merge keys do not.
//
// The package never knows what a generation is, how one is served, HTTP, or the
// network. It reads files, and no other clock or device.
package staticfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/strictyaml"
)

const (
	// maxFileBytes bounds a route file. A hundred thousand routes fit.
	maxFileBytes = 16 << 20
	// maxPEMBytes bounds a certificate or key file.
	maxPEMBytes = 1 << 20
)

// Error is one fault of a route file.
type Error = strictyaml.Error

// Errors is all faults of a route file, sorted by line. It is never empty.
type Errors = strictyaml.Errors

// File is what a route file says. route.Compile has nothing to object to in Spec,
// and certs.Build nothing in Certs.
type File struct {
	// Spec names its certificates by the identities of Certs.
	Spec route.Spec
	// Certs is the material of the tls entries, in their order. Name is the path
	// of the certificate as the route file has it; Namespace is empty.
	Certs []certs.Material
}

// Load reads the route file at path and the PEM files that it names. The error is
// an Errors.
func Load(path string) (*File, error) {
	data, err := readFile(path, maxFileBytes)
	if err != nil {
		return nil, Errors{{File: path, Message: fmt.Sprintf("the route file cannot be read: %v", err)}}
	}
	return parse(path, data, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return readFile(name, maxPEMBytes)
	})
}

// parse compiles the text of a route file. read returns the contents of a PEM file
// by the path that the route file gives.
func parse(name string, data []byte, read func(string) ([]byte, error)) (*File, error) {
	d := decoder{Reader: strictyaml.Reader{File: name}, read: read}
	if root := d.Document(data, "a route file", "give it backends and routes, see the route file in the documentation"); root != nil {
		d.file(root)
		d.checkBackends()
		d.checkDuplicates()
		d.checkCertificates()
		d.checkCompiled()
	}
	if errs := d.Sorted(); len(errs) > 0 {
		return nil, errs
	}
	return &d.out, nil
}

// readFile reads a file of at most limit bytes. The error leaves out the path.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d MiB", limit>>20)
	}
	return data, nil
}

func withoutPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
