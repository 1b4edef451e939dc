package top

import (
	"strings"

	"charm.land/bubbles/v2/table"

	"ramjet.dev/ingress/internal/plain"
)

// marker stands before the selected line, so that it is known without colours.
const marker = "▸"

// grid is a table of which only the visible rows are given.
type grid struct {
	columns  []table.Column
	right    []bool // columns of numbers
	rows     []table.Row
	selected int // in rows, -1 for none
}

// draw renders a grid. The component draws all rows that it has; it gets no more
// than are visible.
func (m *Model) draw(g grid) []string {
	columns := append([]table.Column{{Width: 1}}, g.columns...)
	for i := range g.columns {
		if g.right[i] {
			columns[i+1].Title = plain.PadLeft(g.columns[i].Title, g.columns[i].Width)
		}
	}
	rows := make([]table.Row, len(g.rows))
	for i, cells := range g.rows {
		row := table.Row{" "}
		if i == g.selected {
			row[0] = marker
		}
		for c, text := range cells {
			if g.right[c] {
				text = plain.PadLeft(text, g.columns[c].Width)
			}
			row = append(row, text)
		}
		rows[i] = row
	}
	selected := m.style.selected
	if g.selected < 0 {
		selected = m.style.plain
	}
	t := table.New(
		table.WithColumns(columns), table.WithWidth(m.width),
		table.WithStyles(table.Styles{Header: m.style.head, Cell: m.style.cell, Selected: selected}),
		table.WithHeight(len(rows)+1), // one is the line of titles
	)
	t.SetRows(rows)
	if g.selected > 0 {
		t.SetCursor(g.selected)
	}
	return strings.Split(t.View(), "\n")
}

// share divides room among columns: each gets what it wants, and where that is too
// much the widest give way first, down to the least.
func share(room int, wants []int, least int) []int {
	widths := make([]int, len(wants))
	total := 0
	for i, w := range wants {
		widths[i] = min(w, max(room, 0))
		total += widths[i]
	}
	for total > room {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= least {
			return widths
		}
		widths[widest]--
		total--
	}
	return widths
}
