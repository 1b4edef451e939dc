package enginetest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Raw bytes in testdata are written as one line of text: ⏎ is CRLF, ␊ LF, ␍ CR,
// ⇥ HTAB, ␋ VT, ␀ NUL, \xNN any byte, \\ a backslash, and {text*N} repeats.
// In what an origin answers, ␄ closes the connection.
var marks = strings.NewReplacer("⏎", "\r\n", "␊", "\n", "␍", "\r", "⇥", "\t", "␋", "\v", "␀", "\x00")

var (
	repeats = regexp.MustCompile(`\{([^{}*]+)\*(\d+)\}`)
	escapes = regexp.MustCompile(`\\(x[0-9a-fA-F]{2}|.)`)
)

// unescape returns the bytes that a line of testdata stands for.
func unescape(s string) (string, error) {
	s = repeats.ReplaceAllStringFunc(s, func(m string) string {
		part := repeats.FindStringSubmatch(m)
		n, _ := strconv.Atoi(part[2])
		return strings.Repeat(part[1], n)
	})
	s = marks.Replace(s)
	var bad error
	s = escapes.ReplaceAllStringFunc(s, func(m string) string {
		if m == `\\` {
			return `\`
		}
		n, err := strconv.ParseUint(m[2:], 16, 8)
		if m[1] != 'x' || err != nil {
			bad = fmt.Errorf("unknown escape %q", m)
		}
		return string([]byte{byte(n)})
	})
	return s, bad
}
