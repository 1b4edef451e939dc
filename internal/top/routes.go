package top

import (
	"fmt"

	"charm.land/bubbles/v2/table"

	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// wants are the widths that the texts of the routes would take.
type wants struct{ host, path, backend, canary int }

// measure finds the widths of all rows, so that columns do not move while one
// scrolls.
func (m *Model) measure() {
	w := wants{host: len("HOST") + 1, path: len("PATH"), backend: len("BACKEND")}
	for _, row := range m.rows {
		w.host = max(w.host, plain.Width(row.Host))
		w.path = max(w.path, plain.Width(row.Path))
		w.backend = max(w.backend, plain.Width(row.Backend))
		if row.Canary != "" {
			w.canary = max(w.canary, plain.Width(row.Canary), len("CANARY"))
		}
	}
	m.wants = w
}

// routesStatus says how the routes are sorted and filtered.
func (m *Model) routesStatus() string {
	status := ""
	if text := m.filter.Value(); text != "" && !m.filtering {
		status = m.style.key.Render("/"+plain.Cut(plain.Clean(text), m.width/4)) + "  "
	}
	if len(m.rows) != m.known {
		return status + m.style.faint.Render(fmt.Sprintf("%d of %d", len(m.rows), m.known))
	}
	from, to := m.routes.top+1, min(m.routes.top+m.routesHeight(), len(m.rows))
	if from == 1 && to == len(m.rows) {
		return status
	}
	return status + m.style.faint.Render(fmt.Sprintf("%d–%d of %d", from, to, m.known))
}

// routesHeight is how many routes are visible.
func (m *Model) routesHeight() int { return max(m.bodyHeight()-1, 1) }

// routesLines is the table of routes.
func (m *Model) routesLines(height int) []string {
	if len(m.rows) == 0 {
		return []string{"", "  " + m.style.faint.Render(m.nothing())}
	}
	from, to := m.routes.fit(len(m.rows), height-1)
	stale := m.fleet.Fresh(m.now) == 0
	g := m.routesGrid()
	g.selected = m.routes.cursor - from
	for i, row := range m.rows[from:to] {
		errors := tally.ErrorsPerSecond(row.Rate)
		if row.Rate.Known && row.Rate.Errors > 0 && i != g.selected && !stale {
			errors = m.style.bad.Render(plain.PadLeft(errors, g.columns[5].Width))
		}
		g.rows = append(g.rows, table.Row{
			row.Host, row.Path, row.Type, row.Backend, fmt.Sprint(row.Endpoints),
			tally.PerSecond(row.Rate), errors, tally.Latency(row.Rate), row.Canary,
		})
	}
	lines := m.draw(g)
	if stale {
		for i := range lines {
			lines[i] = m.style.dim(lines[i])
		}
	}
	return lines
}

func (m *Model) nothing() string {
	if m.known > 0 {
		return "No route has that in it. Esc shows all."
	}
	return "The generation on the wire has no routes."
}

// narrow is the width below which only host, path and numbers are shown.
const narrow = 72

// routesGrid are the columns of the routes, with the order marked.
func (m *Model) routesGrid() grid {
	title := func(text string, by tally.Order, down bool) string {
		switch {
		case m.order != by:
			return text
		case down != m.reverse:
			return text + "▼"
		}
		return text + "▲"
	}
	g := grid{
		columns: []table.Column{
			{Title: title("HOST", tally.ByHost, false)}, {Title: "PATH"}, {Title: "TYPE", Width: 6}, {Title: "BACKEND"},
			{Title: "EP", Width: 3},
			{Title: title("RPS", tally.ByRequests, true), Width: 5},
			{Title: title("5XX", tally.ByErrors, true), Width: 5},
			{Title: title("MS", tally.ByLatency, true), Width: 5},
			{Title: "CANARY"},
		},
		right: []bool{false, false, false, false, true, true, true, true, false},
	}
	wants := m.wants
	if m.width < narrow {
		g.columns[2].Width, wants.backend, wants.canary = 0, 0, 0
	}
	widths := share(m.room(g), []int{wants.host, wants.path, wants.backend, wants.canary}, []int{2, 3, 1, 0}, []int{16, 10, 12, 8})
	for i, column := range []int{0, 1, 3, 8} {
		g.columns[column].Width = widths[i]
	}
	return g
}
