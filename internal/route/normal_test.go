package route

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// TestNormal runs the scripts of testdata/normal, whose names say what is normalised.
func TestNormal(t *testing.T) {
	scripts(t, "normal", func(t *testing.T, s *script) {
		s.answer(t, "hosts", func(words []string) string {
			host, ok := NormalizeHost(words[0])
			if !ok {
				return "not a host"
			}
			return strconv.Quote(host)
		})
		s.answer(t, "paths", func(words []string) string {
			normal, dots, err := NormalizePath(words[0])
			switch {
			case err != nil:
				return err.Error()
			case dots:
				return strconv.Quote(normal) + " dots"
			}
			return strconv.Quote(normal)
		})
	})
}

// TestNormalizeReturnsItsArgument checks the promise of the fast path.
func TestNormalizeReturnsItsArgument(t *testing.T) {
	path, host := "/api/v1/.well-known/a%20b/%2F//x", "host-7.example.com:8443"
	allocs := testing.AllocsPerRun(100, func() {
		if normal, dots, err := NormalizePath(path); normal != path || dots || err != nil {
			t.Errorf("NormalizePath(%q) = %q, %v, %v", path, normal, dots, err)
		}
		if normal, ok := NormalizeHost(host); normal != "host-7.example.com" || !ok {
			t.Errorf("NormalizeHost(%q) = %q, %v", host, normal, ok)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

// slowNormal is what NormalizePath must compute, in the obvious way: split, decode, and
// a stack of segments.
func slowNormal(path string) (normal string, dots bool, err error) {
	if path == "*" {
		return path, false, nil
	}
	if !strings.HasPrefix(path, "/") {
		return "", false, ErrNotAbsolute
	}
	var stack []string
	for _, segment := range strings.Split(path, "/")[1:] {
		var b strings.Builder
		for i := 0; i < len(segment); i++ {
			if segment[i] != '%' {
				b.WriteByte(segment[i])
				continue
			}
			if len(segment) < i+3 {
				return "", false, ErrPercent
			}
			code, parseErr := strconv.ParseUint(segment[i+1:i+3], 16, 8)
			if parseErr != nil {
				return "", false, ErrPercent
			}
			// PathEscape escapes a little more than the unreserved set calls for.
			if c := string(rune(code)); code < 0x80 && url.PathEscape(c) == c && !strings.Contains("$&+=:@", c) {
				b.WriteString(c)
			} else {
				b.WriteString(segment[i : i+3])
			}
			i += 2
		}
		stack = append(stack, b.String())
	}
	var out []string
	for i, segment := range stack {
		switch segment {
		case ".", "..":
			dots = true
			if segment == ".." {
				if len(out) == 0 {
					return "", false, ErrClimbs
				}
				out = out[:len(out)-1]
			}
			if i == len(stack)-1 {
				out = append(out, "")
			}
		default:
			out = append(out, segment)
		}
	}
	return "/" + strings.Join(out, "/"), dots, nil
}

// FuzzNormalizePath compares with the slow twin and checks what a normal form is: normal
// itself, without dot segments, and never above the root.
func FuzzNormalizePath(f *testing.F) {
	for _, seed := range []string{
		"/", "*", "", "/a/../b", "/a/%2e%2E%2fb", "/a//../b", "/..", "/a/..", "/a/.", "/%zz", "/%00", "/%", "/.%2e/",
		"/...", "/.x/..y/z..", "/%7E%41%2f%2F", "/a/./../../b", "//..", "/\x00", "/ä/%c3%a4/..", "/a%2", "/%2525",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		normal, dots, err := NormalizePath(path)
		slow, slowDots, slowErr := slowNormal(path)
		if strings.Contains(path, "\x00") || strings.Contains(path, "%00") {
			if err == nil {
				t.Fatalf("%q has a NUL and is accepted as %q", path, normal)
			}
			return
		}
		if (err == nil) != (slowErr == nil) || err == nil && (normal != slow || dots != slowDots) {
			t.Fatalf("%q: got %q %v %v, want %q %v %v", path, normal, dots, err, slow, slowDots, slowErr)
		}
		if err != nil {
			if !errors.Is(err, ErrClimbs) && !errors.Is(err, ErrPercent) && !errors.Is(err, ErrNotAbsolute) {
				t.Fatalf("%q: unknown error %v", path, err)
			}
			return
		}
		if again, dots, err := NormalizePath(normal); again != normal || dots || err != nil {
			t.Fatalf("%q becomes %q, and that %q %v %v", path, normal, again, dots, err)
		}
		for segment := range strings.SplitSeq(normal, "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q becomes %q", path, normal)
			}
		}
	})
}

// FuzzNormalizeHost checks that a normal host is normal itself, has no port, no upper
// case, no byte that could end a line or a name, and that Match reads it alike.
func FuzzNormalizeHost(f *testing.F) {
	for _, seed := range []string{
		"a.test", "A.Test:80", "a.test.:", "[::1]:80", "[2001:DB8::1]", "[::ffff:1.2.3.4]", "", ".", "a:b:c", "a@b", "*.w.test", "1.2.3.4:0065535",
	} {
		f.Add(seed)
	}
	table := compileLoose(f, "route * / Prefix -> any\nroute a.test / Prefix -> a\nroute *.w.test / Prefix -> w\nroute [::1] / Prefix -> six")
	f.Fuzz(func(t *testing.T, authority string) {
		host, ok := NormalizeHost(authority)
		if !ok {
			if host != "" {
				t.Fatalf("%q is refused and yet %q", authority, host)
			}
			return
		}
		if again, ok := NormalizeHost(host); again != host || !ok {
			t.Fatalf("%q becomes %q, and that %q %v", authority, host, again, ok)
		}
		if host == "" || host != strings.ToLower(host) || strings.ContainsAny(host, " \t\r\n\x00,/@%\"\\") {
			t.Fatalf("%q becomes %q", authority, host)
		}
		if strings.Contains(host, ":") {
			if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil {
				t.Fatalf("%q becomes %q", authority, host)
			}
		}
		if a, b := table.Match(authority, "/"), table.Match(host, "/"); a != b {
			t.Fatalf("%q goes to %v, its normal form %q to %v", authority, a, host, b)
		}
	})
}
