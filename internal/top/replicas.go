package top

import (
	"fmt"
	"slices"

	"charm.land/bubbles/v2/table"

	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// replicas is a row for each of several replicas. Where there is no room for all,
// those in trouble come first.
func (m *Model) replicas() []string {
	all := slices.Clone(m.fleet.Replicas)
	if len(all) < 2 {
		return nil
	}
	room := max(m.height/3-2, 2)
	hidden := 0
	if len(all) > room {
		slices.SortStableFunc(all, func(a, b *tally.Replica) int { return m.trouble(b) - m.trouble(a) })
		hidden = len(all) - room + 1
		all = all[:room-1]
	}
	g := grid{
		columns: []table.Column{
			{Title: "REPLICA"}, {Title: "GEN"}, {Title: "CONNS", Width: 6}, {Title: "RPS", Width: 5}, {Title: "5XX", Width: 6}, {Title: "MS", Width: 5}, {Title: "UP", Width: 7}, {},
		},
		right:    []bool{false, true, true, true, true, true, true, false},
		selected: -1,
	}
	highest := uint64(0)
	for _, r := range all {
		if r.Known() {
			highest = max(highest, r.Numbers().Highest)
		}
	}
	g.columns[0].Width, g.columns[1].Width = widestName(all), generationWidth(highest)
	g.columns[7].Width = max(m.room(g), 1)
	for _, r := range all {
		g.rows = append(g.rows, m.replicaRow(r))
	}
	lines := m.draw(g)
	for i, r := range all {
		if _, stale := r.Stale(m.now, m.options.Interval); stale {
			lines[i+1] = m.style.dim(lines[i+1])
		}
	}
	if hidden > 0 {
		lines = append(lines, m.style.faint.Render(fmt.Sprintf("  and %d more", hidden)))
	}
	return append(lines, "")
}

// nameWidth is how wide the short names of replicas may be: they stand in tables and in
// sentences.
func (m *Model) nameWidth() int { return max(m.width, leastWidth) / 4 }

// widestName is the width of a column of short names.
func widestName(replicas []*tally.Replica) int {
	widest := len("REPLICA")
	for _, r := range replicas {
		widest = max(widest, plain.Width(r.Short))
	}
	return widest
}

// trouble is how much a replica should be looked at.
func (m *Model) trouble(r *tally.Replica) int {
	if _, stale := r.Stale(m.now, m.options.Interval); stale {
		return 2
	}
	if _, pinned := r.Pin(m.now); pinned {
		return 1
	}
	return 0
}

func (m *Model) replicaRow(r *tally.Replica) table.Row {
	row := table.Row{r.Short, "-", "-", "-", "-", "-", "-", ""}
	if r.Known() {
		n := r.Numbers()
		row = table.Row{r.Short, m.generation(n), whole(n), tally.PerSecond(n.Rate), tally.ErrorShare(n.Rate), tally.Latency(n.Rate), uptime(n), ""}
	}
	_, pinned := r.Pin(m.now)
	switch s, stale := r.Stale(m.now, m.options.Interval); {
	case stale:
		row[7] = "STALE " + m.at(s.Since) + " " + s.Reason
	case pinned:
		row[7] = m.style.bad.Render("PINNED")
	}
	return row
}
