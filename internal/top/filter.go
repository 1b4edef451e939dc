package top

import (
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"ramjet.dev/ingress/internal/top/tally"
)

func newFilter(s styles) textinput.Model {
	f := textinput.New()
	f.Prompt = "/"
	f.CharLimit = 200
	look := f.Styles()
	look.Focused = textinput.StyleState{Text: s.strong, Prompt: s.key, Placeholder: s.faint}
	f.SetStyles(look)
	f.Placeholder = "host, path, backend or type"
	return f
}

// editFilter begins to type the filter.
func (m *Model) editFilter() tea.Cmd {
	m.filtering = true
	return m.filter.Focus()
}

// handleFilterKey types into the filter: Enter keeps it, Esc drops it, and the list
// can be moved in meanwhile.
func (m *Model) handleFilterKey(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "enter":
		m.leaveFilter()
	case "esc":
		m.leaveFilter()
		m.setFilter("")
	case "up", "down", "pgup", "pgdown":
		m.handleMove(msg, &m.routes, len(m.rows), m.bodyHeight()-1)
	default:
		return m.updateFilter(msg)
	}
	return nil
}

func (m *Model) leaveFilter() {
	m.filtering = false
	m.filter.Blur()
}

func (m *Model) updateFilter(msg tea.Msg) tea.Cmd {
	before := m.filter.Value()
	var cmd tea.Cmd
	m.filter, cmd = m.filter.Update(msg)
	if m.filter.Value() != before {
		m.routes = list{}
		m.refreshRows()
	}
	return cmd
}

func (m *Model) setFilter(text string) {
	if m.filter.Value() != text {
		m.filter.SetValue(text)
		m.refreshRows()
	}
}

// refreshRows brings the routes up to date. The cursor stays with its route; on the
// first line it stays there, to watch the top.
func (m *Model) refreshRows() {
	var selected *tally.Row
	if m.routes.cursor > 0 && m.routes.cursor < len(m.rows) {
		selected = m.rows[m.routes.cursor]
	}
	all := m.fleet.Rows(m.now)
	m.known = len(all)
	m.rows = tally.Filter(all, m.filter.Value())
	tally.Sort(m.rows, m.order, m.reverse)
	for i, row := range m.rows {
		if row.Same(selected) {
			m.routes.cursor = i
			break
		}
	}
	m.measure()
}
