package plain_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"ramjet.dev/ingress/internal/plain"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ intent, text, want string }{
		{"plain text stays", "shop.example.com/api?x=[1]", "shop.example.com/api?x=[1]"},
		{"other scripts stay", "bücher.例え", "bücher.例え"},
		{"a colour is no colour", "\x1b[31mred\x1b[0m", "\uFFFD[31mred\uFFFD[0m"},
		{"a window title is none", "a\x1b]0;owned\x07b", "a\uFFFD]0;owned\uFFFDb"},
		{"one byte of C1 is an escape to some terminals", "a\x9b31mb", "a\uFFFD31mb"},
		{"the same as UTF-8", "a\u009b31mb", "a\uFFFD31mb"},
		{"lines are joined visibly", "a\r\n\tb", "a\uFFFDb"},
		{"separators of lines too", "a\u2028b\u2029c\u0085d", "a\uFFFDb\uFFFDc\uFFFDd"},
		{"the end of a text", "ab\x7f\x00", "ab\uFFFD"},
		{"bytes that are no UTF-8", "a\xff\xfe\xc0b", "a\uFFFDb"},
		{"a cut sequence", "a\xe2\x82", "a\uFFFD"},
		{"direction is not reversed", "a\u202Etxt.exe", "a\uFFFDtxt.exe"},
		{"nor isolated", "a\u2066b\u2069", "a\uFFFDb\uFFFD"},
		{"nothing is invisible", "pay\u200bpal\ufeff\u00ad", "pay\uFFFDpal\uFFFD"},
		{"nor are letters and symbols that are drawn as nothing", "pay\u3164pal\u115f\u034f\uffa0x\u2800", "pay\uFFFDpal\uFFFDx\uFFFD"},
		{"wide spaces are no spaces", "a\u00a0b\u3000c", "a\uFFFDb\uFFFDc"},
		{"marks are kept", "cafe\u0301", "cafe\u0301"},
		{"a tower of marks is not", "e" + strings.Repeat("\u0301", 1000), "e\u0301\u0301"},
		{"variation selectors", "\u2764\ufe0f", "\u2764\uFFFD"},
		{"a real replacement character", "a\uFFFDb", "a\uFFFDb"},
	} {
		if got := plain.Clean(c.text); got != c.want {
			t.Errorf("%s: Clean(%q) = %q, want %q", c.intent, c.text, got, c.want)
		}
	}
}

func TestCutAndPad(t *testing.T) {
	for _, c := range []struct {
		text       string
		width      int
		want, left string
	}{
		{"abc", 5, "abc  ", "  abc"},
		{"abcdef", 5, "abcd…", "abcd…"},
		{"abcde", 5, "abcde", "abcde"},
		{"日本語", 5, "日本…", "日本…"},
		{"日本語", 4, "日… ", " 日…"},
		{"日本語", 6, "日本語", "日本語"},
		{"日", 1, "…", "…"},
		{"abc", 0, "", ""},
		{"abc", -1, "", ""},
		{"", 2, "  ", "  "},
	} {
		if got := plain.Pad(c.text, c.width); got != c.want {
			t.Errorf("Pad(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
		if got := plain.PadLeft(c.text, c.width); got != c.left {
			t.Errorf("PadLeft(%q, %d) = %q, want %q", c.text, c.width, got, c.left)
		}
	}
}

func TestCutMiddle(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"abcdefgh", 8, "abcdefgh"}, {"abcdefgh", 5, "ab…gh"}, {"abcdefgh", 4, "a…gh"}, {"abcdefgh", 2, "…h"}, {"abcdefgh", 1, "…"}, {"abcdefgh", 0, ""},
		{"日本語日本語", 7, "日…語"}, {"日本語", 5, "日…語"},
	} {
		if got := plain.CutMiddle(c.text, c.width); got != c.want {
			t.Errorf("CutMiddle(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// Whatever comes in, what goes out holds no control character, is cleaned once and
// for all, and fills the columns that it is given.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a", "\x1b[2J", "日本語", "\xff", "e\u0301\u0301\u0301", "👩‍👩‍👧", "🇩🇪", "\u202e"} {
		f.Add(seed, 7)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		clean := plain.Clean(text)
		if !utf8.ValidString(clean) {
			t.Errorf("Clean(%q) = %q is no UTF-8", text, clean)
		}
		for _, r := range clean {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
				t.Errorf("Clean(%q) = %q has %U in it", text, clean, r)
			}
		}
		if again := plain.Clean(clean); again != clean {
			t.Errorf("Clean(%q) = %q, and cleaned again %q", text, clean, again)
		}
		width %= 300
		if cut := plain.CutMiddle(clean, width); plain.Width(cut) > max(width, 0) {
			t.Errorf("CutMiddle(%q, %d) is %q", clean, width, cut)
		}
		if got := plain.Width(plain.Pad(clean, width)); got != max(width, 0) {
			t.Errorf("Pad(%q, %d) is %d columns wide", clean, width, got)
		}
	})
}
