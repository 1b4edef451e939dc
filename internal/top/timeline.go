package top

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"charm.land/bubbles/v2/table"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// refreshTimeline brings the generations up to date. The cursor stays with its
// generation, whatever is applied meanwhile: p must mean what was looked at.
func (m *Model) refreshTimeline() {
	var selected *diffKey
	if s := m.selected(); s != nil {
		selected = new(keyOf(s))
	}
	m.timeline = m.fleet.Timeline(m.now)
	for i := range m.timeline {
		if selected != nil && keyOf(&m.timeline[i]) == *selected {
			m.applied.cursor = i
		}
	}
	m.applied.move(0, len(m.timeline))
	m.refreshDiff()
}

// diffKey is the identity of what the diff shows, and how.
type diffKey struct {
	replica    int
	generation uint64
	digest     string
	width      int
}

func keyOf(a *tally.Applied) diffKey {
	return diffKey{replica: a.Replica, generation: a.Generation.Generation, digest: a.Digest}
}

func (m *Model) timelineStatus() string {
	from, to := m.applied.top+1, len(m.timeline)
	if visible := m.timelineHeight(m.bodyHeight()); visible < to {
		return m.style.faint.Render(fmt.Sprintf("%d–%d of %d", from, min(from+visible-1, to), to))
	}
	return ""
}

// timelineHeight is how many generations are visible in a body of so many lines:
// all of them, or half of the body beside a diff.
func (m *Model) timelineHeight(body int) int {
	rows := max(body-1, 1)
	if m.expanded {
		rows = min(len(m.timeline), max(rows/2, 1))
	}
	return rows
}

// timelineLines is the table of generations and, below it, the diff.
func (m *Model) timelineLines(height int) []string {
	if len(m.timeline) == 0 {
		return []string{"", "  " + m.style.faint.Render("No generation was applied yet.")}
	}
	rows := m.timelineHeight(height)
	from, to := m.applied.fit(len(m.timeline), rows)
	several := len(m.fleet.Replicas) > 1
	g := m.timelineGrid(several)
	g.selected = m.applied.cursor - from
	for i := range m.timeline[from:to] {
		a := &m.timeline[from+i]
		row := table.Row{
			fmt.Sprint(a.Generation.Generation), m.applyTime(a), tally.Age(a.Age), m.state(a, i == g.selected), a.Summary,
		}
		if several {
			row = append(table.Row{m.fleet.Replicas[a.Replica].Short}, row...)
		}
		g.rows = append(g.rows, row)
	}
	lines := m.draw(g)
	for i := range lines {
		if i == 0 && m.fleet.Fresh(m.now) == 0 || i > 0 && m.stale(m.timeline[from+i-1].Replica) {
			lines[i] = m.style.dim(lines[i])
		}
	}
	if m.expanded {
		if m.height >= roomyHeight {
			lines = append(lines, "")
		}
		lines = append(lines, m.diffLines(height-len(lines))...)
	}
	return lines
}

func (m *Model) stale(replica int) bool {
	_, stale := m.fleet.Replicas[replica].Stale(m.now, m.options.Interval)
	return stale
}

// generationWidth is that of a column of generations: a number that is cut is another
// number.
func generationWidth(highest uint64) int { return max(6, len(strconv.FormatUint(highest, 10))) }

func (m *Model) timelineGrid(several bool) grid {
	highest := uint64(0)
	for i := range m.timeline {
		highest = max(highest, m.timeline[i].Generation.Generation)
	}
	g := grid{
		columns: []table.Column{
			{Title: "GEN", Width: generationWidth(highest)}, {Title: "APPLIED", Width: 12}, {Title: "AGE", Width: 4}, {Title: "STATE", Width: 9}, {Title: "SUMMARY"},
		},
		right: []bool{true, false, true, false, false},
	}
	if several {
		g.columns = append([]table.Column{{Title: "REPLICA", Width: widestName(m.fleet.Replicas)}}, g.columns...)
		g.right = append([]bool{false}, g.right...)
	}
	room := m.room(g)
	g.columns[len(g.columns)-1].Width = max(room, 1)
	return g
}

// applyTime is the time of day within the last hours, and the date before.
func (m *Model) applyTime(a *tally.Applied) string {
	return m.clockTime(a.AppliedAt, a.Age)
}

// clockTime is a time that is so long ago.
func (m *Model) clockTime(at time.Time, age time.Duration) string {
	at = at.In(m.options.Location)
	if age < 20*time.Hour {
		return at.Format("15:04:05")
	}
	return at.Format("02 Jan 15:04")
}

// state is the state of a generation in its colour, which the selected line has not.
func (m *Model) state(a *tally.Applied, selected bool) string {
	styles := map[string]lipgloss.Style{
		tally.StateServing: m.style.good, tally.StatePinned: m.style.bad, tally.StateHeld: m.style.change, tally.StatePublished: m.style.plain,
	}
	if selected {
		return a.State
	}
	return styles[a.State].Render(a.State)
}

// refreshDiff fills the diff with what changed in the selected generation. It is done
// when that is another one, not for each frame: a diff can have ten thousand lines.
func (m *Model) refreshDiff() {
	s := m.selected()
	if s == nil || !m.expanded {
		return
	}
	k := keyOf(s)
	k.width = m.width
	if k == m.diffOf {
		return
	}
	m.diffOf = k
	m.diff.SetContentLines(append(m.wrapped("  ", s.Summary, m.style.strong), m.changes(&s.Diff)...))
	m.diff.GotoTop()
}

// changes are the lines of a diff, coloured, wrapped to the width.
func (m *Model) changes(d *admin.Diff) []string {
	var lines []string
	for _, part := range []struct {
		sign, what string
		style      lipgloss.Style
		items      []string
	}{
		{"+", "route", m.style.good, d.RoutesAdded},
		{"-", "route", m.style.bad, d.RoutesRemoved},
		{"~", "backend", m.style.change, d.BackendsChanged},
		{"+", "host", m.style.good, d.HostsAdded},
		{"-", "host", m.style.bad, d.HostsRemoved},
		{"~", "cert", m.style.change, d.CertsRotated},
		{"+", "mirror", m.style.good, d.MirrorsAdded},
		{"-", "mirror", m.style.bad, d.MirrorsRemoved},
	} {
		for _, item := range part.items {
			lines = append(lines, m.wrapped(fmt.Sprintf("  %s %-7s ", part.sign, part.what), plain.Clean(item), part.style)...)
		}
	}
	return lines
}

// wrapped is a text over as many lines as it takes, with what it begins with.
func (m *Model) wrapped(begin, text string, style lipgloss.Style) []string {
	room := max(m.width-len(begin)-1, 1)
	if plain.Width(text) <= room {
		return []string{style.Render(begin + text)}
	}
	var lines []string
	for line := range strings.Lines(ansi.Wrap(text, room, "")) {
		lines = append(lines, style.Render(begin+strings.TrimRight(line, "\n")))
		begin = strings.Repeat(" ", len(begin))
	}
	return lines
}

// diffLines is the diff of the selected generation, with a title.
func (m *Model) diffLines(height int) []string {
	s := m.selected()
	if s == nil || height < 2 {
		return nil
	}
	total := m.diff.TotalLineCount()
	m.diff.SetWidth(m.width)
	m.diff.SetHeight(height - 1)
	position := ""
	if total > m.diff.Height() {
		position = fmt.Sprintf(" %d–%d of %d lines, PgUp PgDn", m.diff.YOffset()+1, min(m.diff.YOffset()+m.diff.Height(), total), total)
	}
	facts := fmt.Sprintf(" %s  digest %s, %s, %s, %s", s.Title(), plain.Clean(s.Digest), plural(s.Routes, "route"), plural(s.Hosts, "host"), plural(s.Certs, "cert"))
	return append([]string{m.style.faint.Render(spread(facts, position+" ", m.width))}, strings.Split(m.diff.View(), "\n")...)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
