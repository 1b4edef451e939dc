package staticfile

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"ramjet.dev/ingress/internal/nearest"
	"ramjet.dev/ingress/internal/route"
)

// oneOfBackends is what to do about a backend that is missing.
const oneOfBackends = "name one of the backends"

// maxWeight bounds weights: shares beyond it are a slip of the keyboard.
const maxWeight = 1_000_000

// decoder turns the document into a File, and remembers where everything stands
// for the checks that need the whole.
type decoder struct {
	reader
	read func(path string) ([]byte, error)
	out  File

	// The positions of out.Spec's lists, index by index.
	backends, routes, certs []position
	defaultBackend          int      // line
	keyPaths                []string // of out.Certs

	refused map[refusal]bool
}

// position is where an object and its keys stand. Keys of an inner mapping are
// named with a dot.
type position struct {
	line int
	keys map[string]int
	// vague means that what the object claims could not be read: whether another
	// claims the same is not known.
	vague bool
}

func (p position) at(keys ...string) int {
	for _, k := range keys {
		if line, ok := p.keys[k]; ok {
			return line
		}
	}
	return p.line
}

func (o object) position() position { return position{line: o.line, keys: o.lines} }

// refusal is a fault that was reported here already, so that the compiler's
// diagnostic about the same is not reported a second time.
type refusal struct {
	kind   route.Kind
	index  int
	reason string
}

func (d *decoder) refuse(kind route.Kind, index int, reason string) {
	if d.refused == nil {
		d.refused = map[refusal]bool{}
	}
	d.refused[refusal{kind, index, reason}] = true
}

func (d *decoder) isRefused(kind route.Kind, index int, reason string) bool {
	return d.refused[refusal{kind, index, reason}]
}

func (d *decoder) file(root *yaml.Node) {
	o, ok := d.object(root, "a route file", "", "defaultBackend", "backends", "routes", "tls")
	if !ok {
		return
	}
	d.out.Spec.DefaultBackend = o.text("defaultBackend")
	d.defaultBackend = o.at("defaultBackend")
	for _, n := range o.list("backends") {
		d.backend(n)
	}
	for _, n := range o.list("routes") {
		d.route(n)
	}
	for _, n := range o.list("tls") {
		d.certificate(n)
	}
}

func (d *decoder) backend(n *yaml.Node) {
	o, ok := d.object(n, "a backend", "", "name", "policy", "protocol", "endpoints")
	if !ok {
		return
	}
	b := route.BackendSpec{
		Name:     o.required("name", "routes refer to a backend by it"),
		Policy:   word(o, "policy", "roundRobin", route.ParsePolicy, "roundRobin", "leastConn", "random"),
		Protocol: word(o, "protocol", "HTTP", route.ParseProtocol, "HTTP", "GRPC"),
	}
	index := len(d.out.Spec.Backends)
	if b.Name == "" {
		d.refuse(route.KindBackend, index, route.ReasonInvalidBackend)
	}
	lines := make(map[string]int) // address → where it was first
	for _, item := range o.list("endpoints") {
		e, ok := d.endpoint(item)
		if !ok {
			continue
		}
		if first, twice := lines[e.Address]; twice {
			d.report(item.Line, "endpoint %q is listed twice, first on line %d: use its weight for a larger share", e.Address, first)
			continue
		}
		lines[e.Address] = item.Line
		b.Endpoints = append(b.Endpoints, e)
	}
	d.out.Spec.Backends = append(d.out.Spec.Backends, b)
	d.backends = append(d.backends, o.position())
}

// endpoint reads an address, or a mapping of address and weight.
func (d *decoder) endpoint(n *yaml.Node) (route.EndpointSpec, bool) {
	e := route.EndpointSpec{Weight: 1}
	line := n.Line
	target, ok := d.follow(n)
	switch {
	case !ok:
		return e, false
	case target.Kind == yaml.ScalarNode && !isNull(target):
		// 127.0.0.1:80 is text, 9001 is a number: both are told what is wanted below.
		e.Address = target.Value
	default:
		o, ok := d.object(n, "an endpoint that is not host:port", "", "address", "weight")
		if !ok {
			return e, false
		}
		e.Address = o.required("address", "write host:port")
		e.Weight = o.number("weight", 0, maxWeight, 1)
		line = o.at("address")
		if e.Address == "" {
			return e, false
		}
	}
	if err := route.CheckAddress(e.Address); err != nil {
		d.report(line, "endpoint %q %v", e.Address, err)
		return e, false
	}
	return e, true
}

func (d *decoder) route(n *yaml.Node) {
	before := len(d.errs)
	o, ok := d.object(n, "a route", "", "host", "path", "pathType", "regex", "backend", "canary", "mirror")
	if !ok {
		return
	}
	r := route.RouteSpec{
		Host:     o.text("host"),
		Path:     o.text("path"),
		PathType: word(o, "pathType", "Prefix", route.ParsePathType, "Exact", "Prefix", "ImplementationSpecific"),
		Regex:    o.flag("regex"),
	}
	d.checkClaim(o, &r)
	at := o.position()
	at.vague = len(d.errs) > before
	r.Backend = o.required("backend", oneOfBackends)
	if r.Backend == "" {
		d.refuse(route.KindRoute, len(d.routes), route.ReasonUnknownBackend)
	}
	r.Canary = d.canary(o, at)
	r.Mirror = d.mirror(o, at)
	d.out.Spec.Routes = append(d.out.Spec.Routes, r)
	d.routes = append(d.routes, at)
}

// checkClaim refuses what is better explained here than by the compiler.
func (d *decoder) checkClaim(o object, r *route.RouteSpec) {
	if r.Host == "*" {
		d.report(o.at("host"), `host "*" is not a wildcard: leave host out for any host, or write "*.example.com"`)
		r.Host = ""
	}
	if r.Regex && r.PathType != route.ImplementationSpecific {
		d.report(o.at("regex"), "regex needs pathType: ImplementationSpecific, this route has %s", r.PathType)
		r.Regex = false
		d.refuse(route.KindRoute, len(d.routes), route.ReasonInvalidPath)
	}
}

// inner reads a mapping inside of a route and adds its lines to the route's.
func (d *decoder) inner(o object, key string, at position, known ...string) (object, bool) {
	value, given := o.values[key]
	if !given {
		return object{}, false
	}
	in, ok := d.object(value, key, key+".", known...)
	for k, line := range in.lines {
		at.keys[in.prefix+k] = line
	}
	return in, ok
}

func (d *decoder) canary(o object, at position) *route.CanarySpec {
	in, ok := d.inner(o, "canary", at, "backend", "weight", "weightTotal", "header", "headerValue", "headerPattern", "cookie")
	if !ok {
		return nil
	}
	c := &route.CanarySpec{
		Backend:       in.required("backend", oneOfBackends),
		Header:        in.text("header"),
		HeaderValue:   in.text("headerValue"),
		HeaderPattern: in.text("headerPattern"),
		Cookie:        in.text("cookie"),
		WeightTotal:   in.number("weightTotal", 100, maxWeight, 100),
	}
	c.Weight = in.number("weight", 0, c.WeightTotal, 0)
	if c.Header == "" && (c.HeaderValue != "" || c.HeaderPattern != "") {
		d.report(at.at("canary.headerValue", "canary.headerPattern"), "canary.header is missing: name the header that the value or pattern is for")
		d.refuse(route.KindRoute, len(d.out.Spec.Routes), route.ReasonInvalidCanary)
	}
	if c.Backend == "" {
		return nil
	}
	return c
}

func (d *decoder) mirror(o object, at position) *route.MirrorSpec {
	in, ok := d.inner(o, "mirror", at, "backend", "percent", "host")
	if !ok {
		return nil
	}
	m := &route.MirrorSpec{
		Backend: in.required("backend", oneOfBackends),
		Percent: in.number("percent", 0, 100, 100),
		Host:    in.text("host"),
	}
	if m.Backend == "" {
		return nil
	}
	return m
}

// word reads one of the words of an enum, def where the key is absent.
func word[T any](o object, key, def string, parse func(string) (T, error), known ...string) T {
	usual, _ := parse(def)
	n := o.scalar(key, "one of "+strings.Join(known, ", "))
	if n == nil {
		return usual
	}
	v, err := parse(n.Value)
	if err != nil {
		o.r.report(o.at(key), "%s %q is not one of %s%s", key, n.Value, strings.Join(known, ", "), nearest.Hint(n.Value, known))
		return usual
	}
	return v
}
