package top

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"ramjet.dev/ingress/internal/plain"
)

// styles are the looks of everything. Colours are the sixteen of the terminal, so
// that they fit its background, and none is the only sign of anything.
type styles struct {
	plain, strong, faint, key lipgloss.Style
	good, bad, change         lipgloss.Style
	alarm, warning, question  lipgloss.Style // of whole lines
	selected                  lipgloss.Style // of a line of a table
}

func newStyles() styles {
	s := lipgloss.NewStyle
	return styles{
		plain:    s(),
		strong:   s().Bold(true),
		faint:    s().Faint(true),
		key:      s().Foreground(lipgloss.Cyan),
		good:     s().Foreground(lipgloss.Green),
		bad:      s().Foreground(lipgloss.Red),
		change:   s().Foreground(lipgloss.Yellow),
		alarm:    s().Bold(true).Foreground(lipgloss.BrightWhite).Background(lipgloss.Red),
		warning:  s().Bold(true).Foreground(lipgloss.Black).Background(lipgloss.Yellow),
		question: s().Bold(true).Foreground(lipgloss.Black).Background(lipgloss.Cyan),
		selected: s().Bold(true).Foreground(lipgloss.Cyan),
	}
}

// bar is a line over the whole width.
func bar(style lipgloss.Style, text string, width int) string {
	return style.Render(plain.Pad(" "+text, width))
}

// spread is a line with text at both ends, apart from each other. The left one gives
// way.
func spread(left, right string, width int) string {
	room := width - plain.Width(right) - 1
	if right == "" || room <= 0 {
		return plain.Pad(left, width)
	}
	return plain.Pad(left, room) + " " + right
}

// dim is text of which nothing stands out any more.
func (s styles) dim(text string) string { return s.faint.Render(ansi.Strip(text)) }
