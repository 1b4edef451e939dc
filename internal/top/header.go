package top

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"

	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// figure is one number of the header.
type figure struct {
	label, value string
	style        lipgloss.Style
}

// Sizes of the header, in columns.
const (
	gridColumns = 4
	gridGap     = 3
	widestCell  = 26
)

// title is the name of what is watched with the sparkline, and the grid of numbers.
func (m *Model) title() []string {
	n := m.fleet.Numbers(m.now)
	fresh := m.fleet.Fresh(m.now) > 0
	name := plain.CutMiddle(m.fleet.Replicas[0].Name, m.width-len(" ramjet-top    ")-m.width/4) // of its sparkline
	if all := len(m.fleet.Replicas); all > 1 {
		name = fmt.Sprintf("%d of %d replicas", m.fleet.Fresh(m.now), all)
	}
	left := " " + m.style.strong.Render("ramjet-top") + "  " + name + "  "
	room := max(m.width-plain.Width(left)-1, m.width/4)
	spark := m.style.key.Render(tally.Spark(m.fleet.Samples(m.now), room))
	lines := append([]string{spread(left, spark+" ", m.width)}, m.grid(n)...)
	if !fresh && n.Answered {
		for i := range lines {
			lines[i] = m.style.dim(lines[i])
		}
	}
	return lines
}

// grid are the numbers, in two rows.
func (m *Model) grid(n tally.Numbers) []string {
	figures := []figure{
		{"generation", m.generation(n), m.style.strong},
		{"routes", count(n, n.Routes), m.style.strong},
		{"generations", count(n, n.Kept), m.style.strong},
		{"connections", whole(n), m.style.strong},
		{"rps", tally.PerSecond(n.Rate), m.style.strong},
		{"5xx", tally.ErrorShare(n.Rate), m.errorStyle(n.Rate, m.style.strong)},
		{"upstream", withUnit(tally.Latency(n.Rate), " ms"), m.style.strong},
		{"up", uptime(n), m.style.strong},
	}
	width := min((m.width-1-gridGap*(gridColumns-1)-1)/gridColumns, widestCell)
	var lines []string
	for i := 0; i < len(figures); i += gridColumns {
		var cells []string
		for _, f := range figures[i : i+gridColumns] {
			value := f.style.Render(plain.Cut(f.value, width))
			cells = append(cells, spread(m.style.faint.Render(f.label), value, width))
		}
		lines = append(lines, " "+strings.Join(cells, strings.Repeat(" ", gridGap)))
	}
	return lines
}

// errorStyle makes errors stand out where there are some.
func (m *Model) errorStyle(r tally.Rate, otherwise lipgloss.Style) lipgloss.Style {
	if r.Known && r.Errors > 0 {
		return m.style.bad.Bold(true)
	}
	return otherwise
}

func (m *Model) generation(n tally.Numbers) string {
	switch {
	case !n.Answered:
		return "-"
	case n.Lowest != n.Highest:
		return fmt.Sprintf("%d–%d", n.Lowest, n.Highest)
	}
	return fmt.Sprint(n.Highest)
}

func count(n tally.Numbers, v int) string {
	if !n.Answered {
		return "-"
	}
	return tally.Whole(float64(v))
}

func whole(n tally.Numbers) string {
	if !n.Answered {
		return "-"
	}
	return tally.Whole(n.Connections)
}

func withUnit(number, unit string) string {
	if number == "-" {
		return number
	}
	return number + unit
}

func uptime(n tally.Numbers) string {
	if !n.HasUptime {
		return "-"
	}
	return tally.Span(n.Uptime)
}

// banners are the lines that must not be missed: pins, silence, and how the last
// pin or release went.
func (m *Model) banners() []string {
	var lines []string
	if text := m.pinBanner(); text != "" {
		lines = append(lines, bar(m.style.alarm, text, m.width))
	}
	if text := m.staleBanner(); text != "" {
		lines = append(lines, bar(m.style.warning, text, m.width))
	}
	switch {
	case m.notice.text == "":
	case m.notice.bad:
		lines = append(lines, bar(m.style.alarm, m.notice.text, m.width))
	default:
		lines = append(lines, bar(m.style.question, m.notice.text, m.width))
	}
	return lines
}

// pinBanner says what is pinned, how old it is, and for how long.
func (m *Model) pinBanner() string {
	pins := m.fleet.Pins(m.now)
	switch {
	case len(pins) == 0:
		return ""
	case len(m.fleet.Replicas) > 1:
		var each []string
		for _, p := range pins {
			text := fmt.Sprintf("%d on %s", p.Generation, p.Replica) + m.since(p)
			if p.Age >= 0 {
				text += ", applied " + tally.Span(p.Age) + " ago"
			}
			each = append(each, text)
		}
		return "PINNED  generation " + strings.Join(each, "; ")
	}
	p := pins[0]
	parts := []string{fmt.Sprintf("PINNED  generation %d", p.Generation) + m.since(p)}
	switch {
	case !p.Since.IsZero():
	case p.Exact:
		parts = append(parts, "pinned for "+tally.Span(p.Held))
	default:
		parts = append(parts, "pin seen for "+tally.Span(p.Held))
	}
	if p.Newer > 0 {
		parts = append(parts, fmt.Sprintf("%d newer not served", p.Newer))
	}
	if p.Age >= 0 {
		parts = append(parts, "applied "+tally.Span(p.Age)+" ago")
	}
	return strings.Join(parts, ", ")
}

// since says when a pin began, if the daemon does.
func (m *Model) since(p tally.Pin) string {
	if p.Since.IsZero() {
		return ""
	}
	return " since " + m.clockTime(p.Since, p.Held)
}

// staleBanner says since when, and why, there is nothing new from a daemon that was
// heard of before, or from one of several.
func (m *Model) staleBanner() string {
	text, more := "", 0
	several := len(m.fleet.Replicas) > 1
	for _, r := range m.fleet.Replicas {
		s, stale := r.Stale(m.now, m.options.Interval)
		switch {
		case !stale || !several && !r.Known():
		case text != "":
			more++
		default:
			name := ""
			if several {
				name = r.Short + " "
			}
			text = fmt.Sprintf("STALE  %ssince %s (%s ago): %s", name, m.at(s.Since), tally.Span(m.now.Clock-s.Since.Clock), s.Reason)
		}
	}
	if more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
