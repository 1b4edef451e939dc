package nethttp

import (
	"net/http"
	"strings"
)

// canaryFields answers the canary rules from a request.
type canaryFields http.Request

// Field returns the value of a field; several are joined (RFC 9110 §5.3).
func (f *canaryFields) Field(name string) (string, bool) {
	v := f.Header[http.CanonicalHeaderKey(name)]
	switch len(v) {
	case 0:
		return "", false
	case 1:
		return v[0], true
	}
	return strings.Join(v, ", "), true
}

// Cookie returns the value of the first cookie of that name.
func (f *canaryFields) Cookie(name string) (string, bool) {
	for _, line := range f.Header["Cookie"] {
		for line != "" {
			var part string
			part, line, _ = strings.Cut(line, ";")
			k, v, ok := strings.Cut(strings.Trim(part, " \t"), "=")
			if ok && k == name {
				return strings.Trim(v, `"`), true
			}
		}
	}
	return "", false
}
