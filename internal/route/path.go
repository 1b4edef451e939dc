package route

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// The errors of [NormalizePath]. A caller answers each of them with 400.
var (
	ErrClimbs      = errors.New("path climbs above the root")
	ErrNUL         = errors.New("path contains a NUL")
	ErrPercent     = errors.New("path contains an invalid percent sequence")
	ErrNotAbsolute = errors.New(`path does not start with "/"`)
)

// NormalizePath puts the path of a request-target (without its query) into the form
// that rules are matched against: percent-encoded unreserved characters are decoded
// (RFC 3986 §6.2.2.2), then dot segments are removed (§5.2.4). All else stays,
// notably %2F, the case of percent sequences, and empty segments.
//
// dots reports that there were dot segments. The normal form must be forwarded then,
// so that no two hops disagree about what was asked for; without them the target is
// forwarded as it was sent. The normal form of a path may start with "//".
//
// "*", the target of a server-wide OPTIONS (RFC 9112 §3.2.4), is normal. A path that
// has nothing to normalise is returned as it is, without a copy.
func NormalizePath(path string) (normal string, dots bool, err error) {
	if path == "" || path[0] != '/' {
		if path == "*" {
			return path, false, nil
		}
		return "", false, ErrNotAbsolute
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", false, ErrNUL
	}
	if strings.IndexByte(path, '%') >= 0 {
		if path, err = decodeUnreserved(path); err != nil {
			return "", false, err
		}
	}
	if !hasDotSegment(path) {
		return path, false, nil
	}
	normal, err = removeDotSegments(path)
	return normal, true, err
}

// decodeUnreserved decodes percent sequences of unreserved characters and refuses
// sequences that are none. One pass is enough for a normal form: it writes no percent
// sign, and the two digits after one that stays cannot be written by it either.
func decodeUnreserved(path string) (string, error) {
	var out []byte // nil while nothing was decoded
	for i := 0; i < len(path); i++ {
		if path[i] != '%' {
			if out != nil {
				out = append(out, path[i])
			}
			continue
		}
		if i+2 >= len(path) || !isHex(path[i+1]) || !isHex(path[i+2]) {
			return "", ErrPercent
		}
		c := unhex(path[i+1])<<4 | unhex(path[i+2])
		switch {
		case c == 0:
			return "", ErrNUL
		case isUnreserved[c]:
			if out == nil {
				out = append(make([]byte, 0, len(path)), path[:i]...)
			}
			out = append(out, c)
		case out != nil:
			out = append(out, path[i:i+3]...)
		}
		i += 2
	}
	if out == nil {
		return path, nil
	}
	return string(out), nil
}

// isUnreserved is the set of RFC 3986 §2.3.
var isUnreserved = byteSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// hasDotSegment looks for a segment that is "." or "..".
func hasDotSegment(path string) bool {
	for {
		i := strings.Index(path, "/.")
		if i < 0 {
			return false
		}
		path = path[i+2:]
		if rest := strings.TrimPrefix(path, "."); rest == "" || rest[0] == '/' {
			return true
		}
	}
}

// removeDotSegments is the algorithm of RFC 3986 §5.2.4 for an absolute path, except
// that ".." with nothing left to remove is an error instead of nothing.
func removeDotSegments(path string) (string, error) {
	out := make([]byte, 0, len(path))
	for path != "" {
		next := strings.IndexByte(path[1:], '/') + 1
		if next == 0 {
			next = len(path)
		}
		segment, last := path[:next], next == len(path)
		path = path[next:]
		switch segment {
		case "/.":
		case "/..":
			if len(out) == 0 {
				return "", ErrClimbs
			}
			out = out[:bytes.LastIndexByte(out, '/')]
		default:
			out = append(out, segment...)
			continue
		}
		if last {
			out = append(out, '/')
		}
	}
	return string(out), nil
}

// rulePath puts a configured path into the form it is compared in.
func rulePath(path string, kind pathKind) (string, error) {
	if path == "" {
		path = "/" // the API's default
	}
	if i := strings.IndexFunc(path, isControl); i >= 0 {
		return "", fmt.Errorf("path contains the control character %q", path[i])
	}
	if kind == kindRegex {
		return path, nil
	}
	if path[0] != '/' {
		return "", ErrNotAbsolute
	}
	if strings.Contains(path, "?") {
		return "", errors.New(`path contains "?", but the query is not part of what is matched`)
	}
	if kind == kindString {
		return stringPrefix(path)
	}
	normal, _, err := NormalizePath(path)
	if kind == kindPrefix && err == nil {
		if normal = strings.TrimRight(normal, "/"); normal == "" {
			normal = "/"
		}
	}
	return normal, err
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// stringPrefix normalises a plain string prefix. Its last segment is only the
// beginning of one: "/.well" must not be read as a dot segment, nor may "/a/.." widen
// to "/" when it means "/a/..cache".
func stringPrefix(path string) (string, error) {
	path, err := decodeUnreserved(path)
	if err != nil {
		return "", err
	}
	cut := strings.LastIndexByte(path, '/') + 1
	head, _, err := NormalizePath(path[:cut])
	return head + path[cut:], err
}
