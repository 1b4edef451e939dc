package staticfile

import (
	"strconv"
	"strings"

	"ramjet.dev/ingress/internal/nearest"
	"ramjet.dev/ingress/internal/route"
)

// checkBackends reports backends of one name, and names that lead to no backend.
func (d *decoder) checkBackends() {
	first := make(map[string]int) // name → index
	var names []string
	for i, b := range d.out.Spec.Backends {
		holder, twice := first[b.Name]
		switch {
		case b.Name == "":
		case twice:
			d.Report(d.backends[i].at("name"), "backend %q is defined twice, first on line %d", b.Name, d.backends[holder].at("name"))
			d.refuse(route.KindBackend, i, route.ReasonDuplicateBackend)
			d.refuse(route.KindBackend, holder, route.ReasonDuplicateBackend)
		default:
			first[b.Name] = i
			names = append(names, b.Name)
		}
	}
	known := func(name string) bool { _, ok := first[name]; return ok }
	if name := d.out.Spec.DefaultBackend; name != "" && !known(name) {
		d.unknownBackend(d.defaultBackend, "defaultBackend", name, names)
		d.refuse(route.KindSpec, -1, route.ReasonUnknownBackend)
	}
	for i, r := range d.out.Spec.Routes {
		check := func(key, name string) {
			if name != "" && !known(name) {
				d.unknownBackend(d.routes[i].at(key), key, name, names)
				d.refuse(route.KindRoute, i, route.ReasonUnknownBackend)
			}
		}
		check("backend", r.Backend)
		if r.Canary != nil {
			check("canary.backend", r.Canary.Backend)
		}
		if r.Mirror != nil {
			check("mirror.backend", r.Mirror.Backend)
		}
	}
}

func (d *decoder) unknownBackend(line int, key, name string, names []string) {
	hint := nearest.Hint(name, names)
	if hint == "" {
		hint = ": add it to backends, or correct the name"
	}
	d.Report(line, "%s %q is not among the backends%s", key, name, hint)
}

// checkDuplicates reports routes and tls entries that claim what an earlier one has,
// however it is written. Of those whose claim could not be read, or is none, nothing is
// said.
func (d *decoder) checkDuplicates() {
	routes := make(map[route.Key]int) // → index
	for i, r := range d.out.Spec.Routes {
		key, err := r.Key()
		if err != nil || d.routes[i].vague {
			continue
		}
		if holder, twice := routes[key]; twice {
			d.Report(d.routes[i].line, "this route has the host, path and pathType of the one on line %d: remove one of them", d.routes[holder].line)
			continue
		}
		routes[key] = i
	}
	certs := make(map[string]int) // host → index
	for i, c := range d.out.Spec.Certs {
		host, err := c.Key()
		if err != nil || d.certs[i].vague {
			continue
		}
		if holder, twice := certs[host]; twice {
			what := strconv.Quote(c.Host)
			if c.Host == "" || c.Host == "*" {
				what = "the default certificate (no host)"
			}
			d.Report(d.certs[i].at("host"), "%s has a tls entry already, on line %d: remove one of them", what, d.certs[holder].at("host"))
			continue
		}
		certs[host] = i
	}
}

// checkCompiled has the route compiler judge what is left, and finds the line of
// each of its diagnostics. Whether the rest could be served does not matter here:
// a person is there to correct the file.
func (d *decoder) checkCompiled() {
	_, diagnostics := route.Compile(d.out.Spec)
	for _, g := range diagnostics {
		// checkDuplicates has found them all, with the line of the other.
		duplicate := g.Reason == route.ReasonDuplicateRoute || g.Reason == route.ReasonDuplicateCert
		if !duplicate && !d.isRefused(g.Kind, g.Index, g.Reason) {
			d.Report(d.lineOfDiagnostic(g), "%s", withoutConsequence.Replace(g.Message))
		}
	}
}

// withoutConsequence takes out of a diagnostic what a running daemon would do about
// it: a route file is refused.
var withoutConsequence = strings.NewReplacer(
	"; its route is left out", "",
	"; it is left out", "",
	"; no certificate is served for it", "",
	"; it gets no requests", "",
	" gets no requests: header ", ": header ",
	"; nothing is mirrored", "",
	" is left out: ", ": ",
)

// keysOf says which keys a reason is about, most likely first.
var keysOf = map[string][]string{
	route.ReasonInvalidBackend:    {"name"},
	route.ReasonDuplicateBackend:  {"name"},
	route.ReasonInvalidEndpoint:   {"endpoints"},
	route.ReasonDuplicateEndpoint: {"endpoints"},
	route.ReasonInvalidWeight:     {"endpoints"},
	route.ReasonInvalidHost:       {"host"},
	route.ReasonInvalidPath:       {"path"},
	route.ReasonInvalidRegex:      {"path"},
	route.ReasonUnknownBackend:    {"backend"},
	route.ReasonInvalidCanary:     {"canary"},
	route.ReasonInvalidMirror:     {"mirror"},
}

func (d *decoder) lineOfDiagnostic(g route.Diagnostic) int {
	positions := map[route.Kind][]position{
		route.KindBackend: d.backends, route.KindRoute: d.routes, route.KindCert: d.certs,
	}[g.Kind]
	if g.Index < 0 || g.Index >= len(positions) {
		return d.defaultBackend
	}
	return positions[g.Index].at(keysOf[g.Reason]...)
}
