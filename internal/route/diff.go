package route

import (
	"fmt"
	"slices"
	"strings"
)

// Diff is what changed from one table to another, in words. Every list is sorted and
// never nil. Routes are compared by host, path and path type, as the tables hold them:
// two ways to write one path are no difference.
type Diff struct {
	// RoutesAdded and RoutesRemoved hold "host path -> backend", with "*" for no host.
	RoutesAdded   []string `json:"routes_added"`
	RoutesRemoved []string `json:"routes_removed"`
	// BackendsChanged holds "host path: old -> new" for a route that leads elsewhere,
	// and "host path: 2 -> 3 endpoints" for one whose backend grew or shrank.
	BackendsChanged []string `json:"backends_changed"`
	// CertsRotated, CertsAdded and CertsRemoved hold hosts, with "*" for the default
	// certificate. Rotated means that the contents behind the name are others.
	CertsRotated []string `json:"certs_rotated"`
	CertsAdded   []string `json:"certs_added"`
	CertsRemoved []string `json:"certs_removed"`
	HostsAdded   []string `json:"hosts_added"`
	HostsRemoved []string `json:"hosts_removed"`
	// MirrorsAdded and MirrorsRemoved hold "host path -> backend (N%)", or
	// "(N%, host H)". A mirror that changed is in both.
	MirrorsAdded   []string `json:"mirrors_added"`
	MirrorsRemoved []string `json:"mirrors_removed"`
	// DefaultBackendChanged reports another default backend, or one more or less.
	DefaultBackendChanged bool `json:"default_backend_changed"`
	// DefaultBackend is the name of the new one, "" for none.
	DefaultBackend string `json:"-"`
}

// Compare returns what changed from old to new. A nil table is an empty one.
func Compare(old, new *Table) Diff {
	var d Diff
	before, after := old.sortedGroups(), new.sortedGroups()
	for len(before) > 0 || len(after) > 0 {
		var was, is *group
		was, is, before, after = nextPair(before, after)
		d.compareHost(was, is)
	}
	d.compareCerts(old.Certs(), new.Certs())
	d.DefaultBackend = nameOf(new.DefaultBackend())
	d.DefaultBackendChanged = d.DefaultBackend != nameOf(old.DefaultBackend())
	d.sort()
	return d
}

func (t *Table) sortedGroups() []*group {
	if t == nil {
		return nil
	}
	return t.groups
}

// nextPair takes the smallest host off two sorted lists; the group that does not exist
// on one side is nil.
func nextPair(before, after []*group) (was, is *group, beforeLeft, afterLeft []*group) {
	switch {
	case len(after) == 0 || len(before) > 0 && before[0].host < after[0].host:
		return before[0], nil, before[1:], after
	case len(before) == 0 || after[0].host < before[0].host:
		return nil, after[0], before, after[1:]
	}
	return before[0], after[0], before[1:], after[1:]
}

// compareHost compares what there is for one host. What two generations share cannot
// have changed, and that is nearly everything.
func (d *Diff) compareHost(was, is *group) {
	switch {
	case was == is:
		return
	case was == nil && is.host != "":
		d.HostsAdded = append(d.HostsAdded, is.host)
	case is == nil && was.host != "":
		d.HostsRemoved = append(d.HostsRemoved, was.host)
	}
	for _, r := range is.all() {
		old := was.find(r.Path, r.PathType)
		switch {
		case old == r:
			continue
		case old == nil:
			d.RoutesAdded = append(d.RoutesAdded, r.String())
		default:
			d.compareBackend(old, r)
		}
		d.compareMirror(old, r)
	}
	for _, r := range was.all() {
		if is.find(r.Path, r.PathType) == nil {
			d.RoutesRemoved = append(d.RoutesRemoved, r.String())
			d.compareMirror(r, nil)
		}
	}
}

func (d *Diff) compareBackend(old, new *Route) {
	was, is := len(old.Backend.Endpoints), len(new.Backend.Endpoints)
	switch {
	case old.Backend.Name != new.Backend.Name:
		d.BackendsChanged = append(d.BackendsChanged, new.where()+": "+old.Backend.Name+" -> "+new.Backend.Name)
	case was != is:
		d.BackendsChanged = append(d.BackendsChanged, fmt.Sprintf("%s: %d -> %d endpoints", new.where(), was, is))
	}
}

func (d *Diff) compareMirror(old, new *Route) {
	was, is := old.mirrorWords(), new.mirrorWords()
	if was == is {
		return
	}
	if was != "" {
		d.MirrorsRemoved = append(d.MirrorsRemoved, was)
	}
	if is != "" {
		d.MirrorsAdded = append(d.MirrorsAdded, is)
	}
}

// mirrorWords describes the mirror of a route, "" when there is none.
func (r *Route) mirrorWords() string {
	if r == nil || r.Mirror == nil {
		return ""
	}
	host := ""
	if r.Mirror.Host != "" {
		host = ", host " + r.Mirror.Host
	}
	return fmt.Sprintf("%s -> %s (%d%%%s)", r.where(), r.Mirror.Backend.Name, r.Mirror.Percent, host)
}

// compareCerts compares two lists that are sorted by host.
func (d *Diff) compareCerts(before, after []CertSpec) {
	for len(before) > 0 || len(after) > 0 {
		switch {
		case len(after) == 0 || len(before) > 0 && before[0].Host < after[0].Host:
			d.CertsRemoved = append(d.CertsRemoved, before[0].Host)
			before = before[1:]
		case len(before) == 0 || after[0].Host < before[0].Host:
			d.CertsAdded = append(d.CertsAdded, after[0].Host)
			after = after[1:]
		default:
			if before[0].ID != after[0].ID {
				d.CertsRotated = append(d.CertsRotated, after[0].Host)
			}
			before, after = before[1:], after[1:]
		}
	}
}

func nameOf(b *Backend) string {
	if b == nil {
		return ""
	}
	return b.Name
}

func (d *Diff) sort() {
	for _, list := range []*[]string{
		&d.RoutesAdded, &d.RoutesRemoved, &d.BackendsChanged,
		&d.CertsRotated, &d.CertsAdded, &d.CertsRemoved,
		&d.HostsAdded, &d.HostsRemoved, &d.MirrorsAdded, &d.MirrorsRemoved,
	} {
		if *list == nil {
			*list = []string{}
		}
		slices.Sort(*list)
	}
}

// Summary returns the difference on one line: what was counted, then the numbers of the
// generations it is between; from is 0 for the first.
func (d Diff) Summary(from, to uint64) string {
	var parts []string
	for _, c := range []struct {
		list       []string
		noun, done string
	}{
		{d.RoutesAdded, "route", "added"},
		{d.RoutesRemoved, "route", "removed"},
		{d.BackendsChanged, "backend", "changed"},
		{d.HostsAdded, "host", "added"},
		{d.HostsRemoved, "host", "removed"},
		{d.MirrorsAdded, "mirror", "added"},
		{d.MirrorsRemoved, "mirror", "removed"},
		{d.CertsAdded, "cert", "added"},
		{d.CertsRemoved, "cert", "removed"},
		{d.CertsRotated, "cert", "rotated"},
	} {
		switch n := len(c.list); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+c.noun+" "+c.done)
		default:
			parts = append(parts, fmt.Sprintf("%d %ss %s", n, c.noun, c.done))
		}
	}
	switch {
	case d.DefaultBackendChanged && d.DefaultBackend != "":
		parts = append(parts, "default backend now "+d.DefaultBackend)
	case d.DefaultBackendChanged:
		parts = append(parts, "default backend cleared")
	}
	if len(parts) == 0 {
		parts = []string{"no visible change"}
	}
	return fmt.Sprintf("%s (gen %d→%d)", strings.Join(parts, ", "), from, to)
}
