// Package plain makes text of strangers fit for a terminal: what a host, a path or
// an error message of a server holds must not move the cursor, change colours, write
// over its neighbours or pretend to be another text.
//
// Guarantees: the result of Clean is valid UTF-8 on one line, without control
// characters, escape sequences, and characters that are invisible or reorder
// others; what Cut and Pad return is exactly as wide as asked, in columns of a
// terminal. The package never knows what the text means.
package plain

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Replacement stands for what cannot be shown: one column, so that nothing
// disappears without a trace.
const Replacement = '\uFFFD'

// maxMarks is how many combining marks may follow a character. More are a way to
// draw over other lines.
const maxMarks = 2

// Clean returns text as it may be shown. Bytes that are no UTF-8, control characters
// and what would be invisible become Replacement, each run of them one. Text that
// is fit already is returned as it is, without a copy.
func Clean(text string) string {
	if fit(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	marks, replaced := 0, false
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == utf8.RuneError && size <= 1 || unfit(r):
			if !replaced {
				b.WriteRune(Replacement)
			}
			marks, replaced = 0, true
			continue
		case unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r):
			if marks++; marks > maxMarks {
				continue
			}
		default:
			marks = 0
		}
		replaced = false
		b.WriteRune(r)
	}
	return b.String()
}

// fit reports whether text is printable ASCII, as nearly all text is.
func fit(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// brailleBlank is a symbol without dots: a space by another name.
const brailleBlank = '\u2800'

// unfit reports whether a character does something other than fill its columns:
// controls (C0, DEL, C1), line and paragraph separators, formatting (joiners and
// the overrides of direction), variation selectors, whose width terminals disagree
// about, letters and symbols that are drawn as nothing, and what has no meaning
// anywhere.
func unfit(r rune) bool {
	switch {
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point), r == brailleBlank:
		return true
	case r == ' ', unicode.IsGraphic(r):
		return unicode.Is(unicode.Zs, r) && r != ' '
	}
	return true
}

// Width is how many columns of a terminal text takes. Styled text may be given.
func Width(text string) int {
	if fit(text) {
		return len(text)
	}
	return ansi.StringWidth(text)
}

// Cut returns text, at most width columns wide, with an ellipsis for what is cut
// off. Styled text may be given.
func Cut(text string, width int) string {
	switch {
	case width <= 0:
		return ""
	case len(text) <= width && fit(text), Width(text) <= width:
		return text
	}
	return ansi.Truncate(text, width, "…")
}

// CutMiddle returns text without escape sequences, at most width columns wide, with an
// ellipsis for what is cut out of its middle: the ends of a name tell more.
func CutMiddle(text string, width int) string {
	all, room := Width(text), width/2
	if all <= width || width <= 1 {
		return Cut(text, width)
	}
	end := ansi.TruncateLeft(text, all-room, "")
	if Width(end) > room { // a wide character lies over the edge
		end = ansi.TruncateLeft(text, all-room+1, "")
	}
	return Cut(text, width-room) + end
}

// Pad returns text, cut or followed by spaces, exactly width columns wide.
func Pad(text string, width int) string {
	text = Cut(text, width)
	return text + blanks(width-Width(text))
}

// PadLeft is Pad with the spaces before the text, for numbers.
func PadLeft(text string, width int) string {
	text = Cut(text, width)
	return blanks(width-Width(text)) + text
}

func blanks(n int) string { return strings.Repeat(" ", max(n, 0)) }
