package top

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// Sizes of terminals: below the least ones no screen is drawn.
const (
	leastWidth  = 40
	leastHeight = 10
	roomyHeight = 24 // from which on an empty line is not missed
)

// View draws the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

// lines are exactly as many as the terminal has, none wider than it.
func (m *Model) lines() []string {
	if m.width < leastWidth || m.height < leastHeight {
		return m.exactly([]string{fmt.Sprintf("%dx%d is too small,", m.width, m.height), "80x24 is enough."}, m.height)
	}
	lines := m.above()
	body := m.body(m.height - len(lines) - 2) // which also settles what is visible
	lines = append(lines, plain.Cut(m.tabs(), m.width))
	lines = append(lines, m.exactly(body, m.height-len(lines)-1)...)
	return append(lines, m.foot())
}

// exactly cuts or fills to n lines, each cut to the width.
func (m *Model) exactly(lines []string, n int) []string {
	out := make([]string, max(n, 0))
	for i := range out {
		if i < len(lines) {
			out[i] = plain.Cut(lines[i], m.width)
		}
	}
	return out
}

// above is all before the line of tabs: title, numbers, banners and replicas. It
// leaves room for a body.
func (m *Model) above() []string {
	lines := append(m.title(), m.banners()...)
	if m.height >= roomyHeight {
		lines = append(lines, "")
	}
	lines = append(lines, m.replicas()...)
	return m.exactly(lines, min(len(lines), m.height-5))
}

// bodyHeight is how many lines there are between the tabs and the foot.
func (m *Model) bodyHeight() int { return m.height - len(m.above()) - 2 }

// body is what the screen is about, in so many lines.
func (m *Model) body(height int) []string {
	switch {
	case m.showHelp:
		return m.helpLines()
	case !m.Answered():
		return m.waitingLines()
	case m.screen == timelineScreen:
		return m.timelineLines(height)
	}
	return m.routesLines(height)
}

// tabs is the line that says which screen this is, and how it is sorted and filtered.
func (m *Model) tabs() string {
	names := []string{"Routes", "Timeline"}
	for i, name := range names {
		if screen(i) == m.screen {
			names[i] = m.style.strong.Underline(true).Render(name)
		} else {
			names[i] = m.style.faint.Render(name)
		}
	}
	right := ""
	switch {
	case m.showHelp || !m.Answered():
	case m.screen == routesScreen:
		right = m.routesStatus()
	default:
		right = m.timelineStatus()
	}
	return spread(" "+strings.Join(names, "   "), right+" ", m.width)
}

// foot is the last line: a question, the filter while it is typed, or the keys.
func (m *Model) foot() string {
	switch {
	case m.asking != nil:
		return m.style.question.Render(m.asking.line(m.on(m.asking.replica), m.width))
	case m.filtering:
		m.filter.SetWidth(max(m.width-5, 1))
		return plain.Cut(" "+m.filter.View(), m.width)
	}
	m.help.SetWidth(m.width - 2)
	return plain.Cut(" "+m.help.ShortHelpView(m.keys.short(m.screen)), m.width)
}

// waitingLines are the body as long as nobody answered.
func (m *Model) waitingLines() []string {
	lines := []string{""}
	for _, r := range m.fleet.Replicas {
		name := r.Short
		if len(m.fleet.Replicas) == 1 {
			name = plain.CutMiddle(r.Name, m.width/2)
		}
		stale, failing := r.Stale(m.now, m.options.Interval)
		if !failing {
			lines = append(lines, "  Asking "+name+" …")
			continue
		}
		lines = append(lines, "  "+m.style.bad.Render(name+": "+stale.Reason))
	}
	return append(lines, "", "  "+m.style.faint.Render("Is the daemon up, and is this its --admin port? It is asked again every "+m.options.Interval.String()+"."))
}

// helpLines are all keys and the words of the tables.
func (m *Model) helpLines() []string {
	m.help.SetWidth(m.width - 2)
	lines := []string{""}
	for line := range strings.Lines(m.help.FullHelpView(m.keys.full())) {
		lines = append(lines, " "+strings.TrimRight(line, "\n"))
	}
	words := []struct{ word, means string }{
		{"RPS, 5XX", "requests, and answers from 500 up, per second"},
		{"MS", "mean ms to the first byte from upstream, in the last interval"},
		{"EP", "endpoints of the backend"},
		{"-", "not known yet, or nothing measured"},
		{"STALE", "the daemon does not answer: the numbers are its last ones"},
		{"held", "applied and kept back by a pin"},
	}
	lines = append(lines, "")
	for _, w := range words {
		lines = append(lines, " "+m.style.key.Render(plain.Pad(w.word, 9))+" "+w.means)
	}
	return lines
}

// at writes the time of day of a moment.
func (m *Model) at(t tally.Moment) string { return t.Wall.In(m.options.Location).Format("15:04:05") }
