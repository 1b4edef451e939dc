package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode"
)

// maxToken bounds a token file, in bytes.
const maxToken = 4096

// LoadToken reads the admin token from a file, without white space at its end. It
// refuses a file that cannot be read, and a token that is empty or could never be
// sent in a header field. The error says nothing of the contents.
func LoadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	data, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err != nil {
		return "", fmt.Errorf("read the admin token: %w", err)
	}
	if len(data) > maxToken {
		return "", fmt.Errorf("the admin token in %q is longer than %d bytes", path, maxToken)
	}
	text := strings.TrimRightFunc(string(data), unicode.IsSpace)
	if err := checkToken(text); err != nil {
		return "", fmt.Errorf("the admin token in %q %w", path, err)
	}
	return text, nil
}

func checkToken(text string) error {
	switch {
	case text == "":
		return errors.New("is empty: write one into the file, or leave the flag out")
	case strings.TrimLeftFunc(text, unicode.IsSpace) != text:
		return errors.New("begins with white space, which no client can send: remove it")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		return errors.New("has a line break or another control character in it, which no client can send: remove it")
	}
	return nil
}

// token admits requests. Only a hash is kept: comparing hashes takes the same time
// whatever the length and the contents of what is sent.
type token struct {
	set bool
	sum [sha256.Size]byte
}

func newToken(text string) token {
	return token{set: text != "", sum: sha256.Sum256([]byte(text))}
}

// admits reports whether the fields carry the token as a bearer token (RFC 6750,
// section 2.1), in one Authorization field. Without a token everybody is admitted.
func (t token) admits(h http.Header) bool {
	if !t.set {
		return true
	}
	fields := h.Values("Authorization")
	if len(fields) != 1 {
		return false
	}
	scheme, sent, _ := strings.Cut(fields[0], " ")
	sum := sha256.Sum256([]byte(strings.Trim(sent, " \t")))
	same := subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
	return same && strings.EqualFold(scheme, "Bearer")
}
