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

// draw renders a grid. The component draws all rows that it has: it gets no more than
// are visible. Its own cursor is not used, because setting it draws everything again.
func (m *Model) draw(g grid) []string {
	columns := append([]table.Column{{Width: 1}}, g.columns...)
	for i := range g.columns {
		if g.right[i] {
			columns[i+1].Title = plain.PadLeft(g.columns[i].Title, g.columns[i].Width)
		}
	}
	rows := make([]table.Row, len(g.rows))
	for i, cells := range g.rows {
		row := append(make(table.Row, 0, len(cells)+1), " ")
		if i == g.selected {
			row[0] = marker
		}
		for c, text := range cells {
			if g.right[c] {
				text = plain.PadLeft(text, g.columns[c].Width)
			}
			row = append(row, text)
		}
		if i == g.selected {
			for c := range row {
				row[c] = m.style.selected.Render(row[c])
			}
		}
		rows[i] = row
	}
	t := table.New(
		table.WithColumns(columns), table.WithRows(rows), table.WithWidth(m.width),
		table.WithStyles(table.Styles{Header: m.style.faint.PaddingRight(m.gap()), Cell: m.style.plain.PaddingRight(m.gap())}),
		table.WithHeight(len(rows)+1), // one is the line of titles
	)
	return strings.Split(t.View(), "\n")
}

// gap is how far columns are apart.
func (m *Model) gap() int {
	if m.width >= 120 {
		return 2
	}
	return 1
}

// room is what the columns of a grid with a width leave to those without one.
func (m *Model) room(g grid) int {
	room := m.width - 1 - m.gap() // the marker
	for _, c := range g.columns {
		room -= c.Width + m.gap()
	}
	return room
}

// share divides room among columns of texts: each gets what it wants. Where that is
// too much, they give way in the order given, each down to what it can do with; and
// where that is too much still, the widest gives way, until all are equally narrow.
func share(room int, wants []int, order []int, enough []int) []int {
	room = max(room, 0)
	widths := make([]int, len(wants))
	over := -room
	for i, w := range wants {
		widths[i] = min(w, room)
		over += widths[i]
	}
	for _, i := range order {
		gives := max(min(over, widths[i]-enough[i]), 0)
		widths[i] -= gives
		over -= gives
	}
	for ; over > 0; over-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		widths[widest]--
	}
	return widths
}
