package tally

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/plain"
)

// Table writes the routes of readings with their totals, those of several replicas
// added up, aligned and sorted by host and path. Two tables of daemons that did
// nothing in between are equal.
func Table(readings []*adminclient.Reading) string {
	var replicas [][]*Row
	for _, r := range readings {
		replicas = append(replicas, rowsOf(r.Routes.Routes, nil, 0))
	}
	lines := [][]string{{"HOST", "PATH", "TYPE", "BACKEND", "ENDPOINTS", "REQUESTS", "5XX", "MEAN_MS", "CANARY"}}
	if len(replicas) > 0 {
		rows := sum(replicas)
		Sort(rows, ByHost, false)
		for _, row := range rows {
			lines = append(lines, []string{
				row.Host, row.Path, row.Type, row.Backend, fmt.Sprint(row.Endpoints),
				fmt.Sprint(row.Total.Requests), fmt.Sprint(row.Total.Errors5xx), meanOf(row.Total), or(row.Canary, unknown),
			})
		}
	}
	return align(lines)
}

// numeric are the columns of a table that are aligned on the right.
var numeric = map[int]bool{4: true, 5: true, 6: true, 7: true}

func meanOf(n admin.Numbers) string {
	if n.LatencyCount == 0 {
		return unknown
	}
	return millis(n.LatencyMillis/float64(n.LatencyCount), true)
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

// align makes columns as wide as their widest cell, two spaces apart, without
// trailing spaces.
func align(lines [][]string) string {
	widths := make([]int, len(lines[0]))
	for _, cells := range lines {
		for i, c := range cells {
			widths[i] = max(widths[i], plain.Width(c))
		}
	}
	var b strings.Builder
	for _, cells := range lines {
		line := ""
		for i, c := range cells {
			pad := plain.Pad
			if numeric[i] {
				pad = plain.PadLeft
			}
			line += pad(c, widths[i]) + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// JSON is a reading as one object on lines of its own: the target, both answers as
// they came, byte by byte, and the series that were read of /metrics.
func JSON(target string, r *adminclient.Reading) []byte {
	name, _ := json.Marshal(target)     // a string always has a form
	series, _ := json.Marshal(r.Series) // finite numbers too
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"target":%s,"routes":%s,"generations":%s,"series":%s}`, name,
		bytes.TrimSpace(r.RoutesJSON), bytes.TrimSpace(r.GenerationsJSON), series)
	b.WriteByte('\n')
	return b.Bytes()
}
