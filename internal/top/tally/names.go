package tally

import (
	"fmt"
	"slices"
	"strings"

	"ramjet.dev/ingress/internal/plain"
)

// Shorten makes the Short names of the replicas at most width columns wide, and no two
// of them equal: whom a pin is for must be told apart on every terminal. Whole names stay
// if they fit. Otherwise what all have in common goes: first the parts of a path, like
// those of a proxy, then words; and then the middle.
func (f *Fleet) Shorten(width int) {
	names := make([]string, len(f.Replicas))
	for i, r := range f.Replicas {
		names[i] = r.Name
	}
	for i, name := range short(names, width) {
		f.Replicas[i].Short = name
	}
}

// short are names in at most width columns, all of them different.
func short(names []string, width int) []string {
	if len(names) == 1 {
		return []string{plain.CutMiddle(names[0], width)}
	}
	paths := strip(names, "/", true, "")
	for i := range paths {
		paths[i] = strings.Trim(paths[i], "/")
	}
	words := strip(paths, separators, false, "…")
	for _, all := range [][]string{names, paths, words, strip(paths, separators, true, "…")} {
		if fits(all, width) {
			return all
		}
	}
	middle, numbered := make([]string, len(names)), make([]string, len(names))
	for i, name := range words {
		number := fmt.Sprintf("%d ", i+1)
		middle[i], numbered[i] = plain.CutMiddle(name, width), number+plain.CutMiddle(name, width-len(number))
	}
	if fits(middle, width) {
		return middle
	}
	return numbered
}

// separators are between the words of a name.
const separators = "/.:-"

// strip takes from names the parts that all begin with, and those that all end with if
// both is set, as long as each keeps one. A part ends with one of the separators; mark
// takes the place of what is gone.
func strip(names []string, separators string, both bool, mark string) []string {
	parts := make([][]string, len(names))
	spare := -1 // parts that each can do without
	for i, name := range names {
		parts[i] = split(name, separators)
		if spare < 0 || len(parts[i])-1 < spare {
			spare = len(parts[i]) - 1
		}
	}
	common := func(n, from, step int) (same int) { // parts that are the same in all
		for ; same < n; same++ {
			first := parts[0][from*(len(parts[0])-1)+step*same]
			if slices.ContainsFunc(parts, func(p []string) bool { return p[from*(len(p)-1)+step*same] != first }) {
				break
			}
		}
		return same
	}
	begin, end := common(spare, 0, 1), 0
	if both {
		end = common(spare-begin, 1, -1)
	}
	stripped := make([]string, len(names))
	for i, p := range parts {
		stripped[i] = strings.Join(p[begin:len(p)-end], "")
		if begin > 0 {
			stripped[i] = mark + stripped[i]
		}
		if end > 0 {
			stripped[i] += mark
		}
	}
	return stripped
}

// split are the parts of a name, each with the separator at its end.
func split(name, separators string) (parts []string) {
	for {
		n := strings.IndexAny(name, separators) + 1
		if n == 0 || n == len(name) {
			return append(parts, name)
		}
		parts, name = append(parts, name[:n]), name[n:]
	}
}

// fits reports whether names are at most width columns wide, and different.
func fits(names []string, width int) bool {
	seen := make(map[string]bool)
	for _, name := range names {
		if plain.Width(name) > width || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}
