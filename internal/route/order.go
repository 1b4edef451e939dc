package route

import (
	"cmp"
	"strings"
)

// pathKind is how a path is compared. The values are in the order in which paths of
// equal length are asked.
type pathKind uint8

const (
	kindExact pathKind = iota
	kindPrefix
	kindString // ImplementationSpecific
	kindRegex  // ImplementationSpecific with a regular expression
)

func kindOf(t PathType, regex bool) pathKind {
	switch {
	case regex:
		return kindRegex
	case t == ImplementationSpecific:
		return kindString
	case t == Prefix:
		return kindPrefix
	}
	return kindExact
}

// draft is a route of the Spec on its way into the table.
type draft struct {
	spec    *RouteSpec
	index   int    // in Spec.Routes
	host    string // checked and in lower case
	path    string // checked and in normal form
	kind    pathKind
	pattern *pattern // of kindRegex
	backend *Backend
	canary  *Canary
	mirror  *Mirror
}

func (d *draft) key() Key { return Key{d.host, d.path, d.spec.PathType} }

// compareMatch is the order in which the paths of one host are asked: Exact before all
// others; then the longer path text; at equal length Prefix, string prefix, regex. Two
// rules that are equal up to here and not regular expressions cannot both match, so the
// age of their owners has nothing to settle; it decides between regular expressions
// only. In this way recreating an object does not reorder its neighbours' routes, which
// would be a new generation for nothing.
func compareMatch(a, b *draft) int {
	if aExact, bExact := a.kind == kindExact, b.kind == kindExact; aExact != bExact {
		return boolFirst(aExact)
	}
	c := cmp.Or(
		cmp.Compare(len(b.path), len(a.path)),
		cmp.Compare(a.kind, b.kind),
	)
	if c == 0 && a.kind == kindRegex {
		c = compareAge(a.spec.Created, a.spec.Owner, b.spec.Created, b.spec.Owner)
	}
	return cmp.Or(c, strings.Compare(a.path, b.path))
}

// compareClaim orders two routes with one key: the first keeps it. Equal age and owner
// (two rules of one object, or of a file) are settled by content, so that the order of
// the Spec's lists cannot matter.
func compareClaim(a, b *draft) int {
	c := compareAge(a.spec.Created, a.spec.Owner, b.spec.Created, b.spec.Owner)
	if c != 0 {
		return c
	}
	return strings.Compare(string(a.appendText(nil)), string(b.appendText(nil)))
}

// compareAge puts the older object first, then the smaller "namespace/name".
func compareAge(aCreated int64, aOwner string, bCreated int64, bOwner string) int {
	return cmp.Or(cmp.Compare(aCreated, bCreated), strings.Compare(aOwner, bOwner))
}

func boolFirst(first bool) int {
	if first {
		return -1
	}
	return 1
}
