package staticfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/strictyaml"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata (read the diff)")

// TestGood loads every testdata/good/*.yaml; beside it, a .txt of the same name is
// the canonical text of the table, with the file of a certificate for its identity.
func TestGood(t *testing.T) {
	eachPair(t, "testdata/good", func(t *testing.T, name string) string {
		f, err := Load(name)
		if err != nil {
			t.Fatalf("refused:\n%v", err)
		}
		table, diagnostics := route.Compile(f.Spec)
		_, _, problems := certs.Build(f.Certs)
		if len(diagnostics) > 0 || len(problems) > 0 {
			t.Errorf("accepted what its users object to: %v %v", diagnostics, problems)
		}
		text := table.Text()
		for i, m := range f.Certs {
			if f.Spec.Certs[i].ID != m.ID() {
				t.Errorf("tls entry %d names %s, its material is %s", i, f.Spec.Certs[i].ID, m.ID())
			}
			text = strings.ReplaceAll(text, m.ID().String(), "("+m.Name+")")
		}
		return text
	})
}

// TestBad loads every testdata/bad/*.yaml; beside it, a .txt of the same name is the
// error, line by line.
func TestBad(t *testing.T) {
	eachPair(t, "testdata/bad", func(t *testing.T, name string) string {
		f, err := Load(name)
		if err == nil {
			t.Fatalf("accepted: %+v", f.Spec)
		}
		errs := err.(Errors)
		for i, e := range errs {
			if e.File != name || e.Line < 1 || strings.ContainsAny(e.Message, "\r\n") || e.Message == "" {
				t.Errorf("not a line of its own, with a place: %+v", e)
			}
			if i > 0 && e.Line < errs[i-1].Line {
				t.Errorf("not sorted: line %d after %d", e.Line, errs[i-1].Line)
			}
			for _, promise := range []string{"left out", "ignored", "answered", "no requests"} {
				if strings.Contains(e.Message, promise) {
					t.Errorf("speaks of what a daemon would do that is not started: %s", e.Message)
				}
			}
		}
		return err.Error() + "\n"
	})
}

// eachPair runs got for each .yaml of dir, in a directory where the PEM files are,
// and compares with the .txt. A file without its partner fails.
func eachPair(t *testing.T, dir string, got func(t *testing.T, name string) string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(pemDir(t))
	for _, e := range entries {
		base, ext := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
		want := filepath.Join(abs, base+".txt")
		if ext == ".txt" {
			if _, err := os.Stat(filepath.Join(abs, base+".yaml")); err != nil {
				t.Errorf("%s has no partner: %v", e.Name(), err)
			}
			continue
		}
		t.Run(base, func(t *testing.T) {
			copyFile(t, filepath.Join(abs, e.Name()), e.Name())
			out := got(t, e.Name())
			if *update {
				if err := os.WriteFile(want, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			text, err := os.ReadFile(want)
			if err != nil {
				t.Fatalf("no expectation: %v\ngot\n%s", err, out)
			}
			if out != string(text) {
				t.Errorf("want\n%s\ngot\n%s", text, out)
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// pemDir is a new directory with the PEM files that the route files of testdata
// name. Keys are made for the run: none is in the tree.
func pemDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range pemFiles() {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var pemFiles = sync.OnceValue(func() map[string][]byte {
	cert, key := pair()
	otherCert, otherKey := pair()
	return map[string][]byte{
		"cert.pem":           cert,
		"key.pem":            key,
		"other.pem":          otherCert,
		"other-key.pem":      otherKey,
		"sub/cert.pem":       cert,
		"sub/key.pem":        key,
		"bundle.pem":         append(append([]byte{}, key...), cert...),
		"wrong-order.pem":    append(append([]byte{}, otherCert...), cert...),
		"garbled.pem":        []byte("-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n"),
		"garbled-key.pem":    []byte("-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n"),
		"empty.pem":          {},
		"text-only.pem":      []byte("nothing here\n"),
		"directory.pem/file": nil,
	}
})

// pair makes a self-signed certificate and its key.
func pair() (cert, key []byte) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"shop.example.com"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	must(err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// TestFileItself covers what happens before there are lines.
func TestFileItself(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("a-directory", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("huge.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate("huge.yaml", maxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"missing.yaml":   "missing.yaml: the route file cannot be read: no such file or directory",
		"a-directory":    "a-directory: the route file cannot be read: is a directory",
		"huge.yaml":      "huge.yaml: the route file cannot be read: it is larger than 16 MiB",
		"new\nline.yaml": `new\nline.yaml: the route file cannot be read: no such file or directory`,
	} {
		_, err := Load(name)
		if err == nil || err.Error() != want {
			t.Errorf("Load(%q) = %v, want %s", name, err, want)
		}
	}
}

// TestManyFaults: a file with thousands of faults has one cause, and a terminal has
// few lines.
func TestManyFaults(t *testing.T) {
	text := "backends:\n" + strings.Repeat("  - {nmae: x}\n", 1200)
	_, err := parse("routes.yaml", []byte(text), nil)
	lines := strings.Split(err.Error(), "\n")
	if want := "routes.yaml:1001: and 200 faults more from here on"; len(lines) != strictyaml.MaxErrors+1 || lines[strictyaml.MaxErrors] != want {
		t.Errorf("%d lines, the last is %q, want %q", len(lines), lines[len(lines)-1], want)
	}
}

// TestRelativePaths: PEM files are found beside the route file, wherever the process
// is, and by absolute paths.
func TestRelativePaths(t *testing.T) {
	dir := pemDir(t)
	file := filepath.Join(dir, "sub", "routes.yaml")
	text := "tls:\n  - {host: a.test, cert: cert.pem, key: ../key.pem}\n  - {cert: " + filepath.Join(dir, "cert.pem") + ", key: " + filepath.Join(dir, "key.pem") + "}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Certs) != 2 || f.Certs[0].Name != "cert.pem" || len(f.Certs[1].Key) == 0 {
		t.Errorf("got %d certificates, the first is %s", len(f.Certs), f.Certs[0])
	}
}

// FuzzParse looks for text that makes the parser panic, run on, or report something
// that is not one line; and for text that is accepted though the compiler objects.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/good/*.yaml", "testdata/bad/*.yaml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			if len(data) < 4096 { // mutants of the large ones take all the time
				f.Add(data)
			}
		}
	}
	read := func(name string) ([]byte, error) {
		if data, ok := pemFiles()[name]; ok {
			return data, nil
		}
		return nil, fs.ErrNotExist
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parse("routes.yaml", data, read)
		if err == nil {
			if _, diagnostics := route.Compile(file.Spec); len(diagnostics) > 0 {
				t.Errorf("accepted, but %v", diagnostics)
			}
			return
		}
		lines := 1
		for _, c := range string(data) {
			if strings.ContainsRune("\n\r\u0085\u2028\u2029", c) { // what ends a line in YAML 1.1
				lines++
			}
		}
		for _, e := range err.(Errors) {
			if e.Line < 1 || e.Line > lines || strings.ContainsAny(e.Error(), "\r\n") {
				t.Errorf("of %d lines: %q", lines, e.Error())
			}
		}
	})
}
