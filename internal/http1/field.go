package http1

// Field is one header or trailer line as it was sent. Name is a token in the
// spelling of the sender; Value has no surrounding white space. Both are slices
// of the buffer that was parsed and live as long as its contents.
type Field struct {
	Name, Value []byte
}

// Lookup returns the value of the first field called name, in any case.
// It allocates nothing.
func Lookup(fields []Field, name string) (value []byte, ok bool) {
	for i := range fields {
		if EqualFold(fields[i].Name, name) {
			return fields[i].Value, true
		}
	}
	return nil, false
}

// EqualFold reports whether b and s are equal but for the case of ASCII letters.
func EqualFold(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i, c := range b {
		if c != s[i] && lower(c) != lower(s[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// NextElement cuts the first element off a comma-separated list (RFC 9110 section
// 5.6.1), without surrounding white space. Elements may be empty. Quotes are not
// understood: use it for lists of tokens only.
//
//	for more := true; more; {
//		element, list, more = http1.NextElement(list)
//	}
func NextElement(list []byte) (element, rest []byte, more bool) {
	for i, c := range list {
		if c == ',' {
			return trim(list[:i]), list[i+1:], true
		}
	}
	return trim(list), nil, false
}

// HasToken reports whether the comma-separated list contains the token, in any
// case.
func HasToken(list []byte, token string) bool {
	for more := true; more; {
		var element []byte
		element, list, more = NextElement(list)
		if EqualFold(element, token) {
			return true
		}
	}
	return false
}

// trim removes optional white space, SP and HTAB (RFC 9110 section 5.6.3), from
// both ends.
func trim(b []byte) []byte {
	for len(b) > 0 && isBlank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }
