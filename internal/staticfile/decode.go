package staticfile

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"ramjet.dev/ingress/internal/nearest"
	"ramjet.dev/ingress/internal/route"
	"ramjet.dev/ingress/internal/strictyaml"
)

// oneOfBackends is what to do about a backend that is missing.
const oneOfBackends = "name one of the backends"

// maxWeight bounds weights: shares beyond it are a slip of the keyboard.
const maxWeight = 1_000_000

// decoder turns the document into a File, and remembers where everything stands
// for the checks that need the whole.
type decoder struct {
	strictyaml.Reader
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

func positionOf(o strictyaml.Object) position { return position{line: o.Line, keys: o.Lines} }

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
	o, ok := d.Object(root, "a route file", "", "defaultBackend", "backends", "routes", "tls")
	if !ok {
		return
	}
	d.out.Spec.DefaultBackend = o.Text("defaultBackend")
	d.defaultBackend = o.At("defaultBackend")
	for _, n := range o.List("backends") {
		d.backend(n)
	}
	for _, n := range o.List("routes") {
		d.route(n)
	}
	for _, n := range o.List("tls") {
		d.certificate(n)
	}
}

func (d *decoder) backend(n *yaml.Node) {
	o, ok := d.Object(n, "a backend", "", "name", "policy", "protocol", "endpoints")
	if !ok {
		return
	}
	b := route.BackendSpec{
		Name:     o.Required("name", "routes refer to a backend by it"),
		Policy:   word(o, "policy", "roundRobin", route.ParsePolicy, "roundRobin", "leastConn", "random"),
		Protocol: word(o, "protocol", "HTTP", route.ParseProtocol, "HTTP", "GRPC"),
	}
	index := len(d.out.Spec.Backends)
	if b.Name == "" {
		d.refuse(route.KindBackend, index, route.ReasonInvalidBackend)
	}
	lines := make(map[string]int) // address → where it was first
	for _, item := range o.List("endpoints") {
		e, ok := d.endpoint(item)
		if !ok {
			continue
		}
		if first, twice := lines[e.Address]; twice {
			d.Report(item.Line, "endpoint %q is listed twice, first on line %d: use its weight for a larger share", e.Address, first)
			continue
		}
		lines[e.Address] = item.Line
		b.Endpoints = append(b.Endpoints, e)
	}
	d.out.Spec.Backends = append(d.out.Spec.Backends, b)
	d.backends = append(d.backends, positionOf(o))
}

// endpoint reads an address, or a mapping of address and weight.
func (d *decoder) endpoint(n *yaml.Node) (route.EndpointSpec, bool) {
	e := route.EndpointSpec{Weight: 1}
	line := n.Line
	target, ok := d.Follow(n)
	switch {
	case !ok:
		return e, false
	case target.Kind == yaml.ScalarNode && !strictyaml.IsNull(target):
		// 127.0.0.1:80 is text, 9001 is a number: both are told what is wanted below.
		e.Address = target.Value
	default:
		o, ok := d.Object(n, "an endpoint that is not host:port", "", "address", "weight")
		if !ok {
			return e, false
		}
		e.Address = o.Required("address", "write host:port")
		e.Weight = o.Number("weight", 0, maxWeight, 1)
		line = o.At("address")
		if e.Address == "" {
			return e, false
		}
	}
	if err := route.CheckAddress(e.Address); err != nil {
		d.Report(line, "endpoint %q %v", e.Address, err)
		return e, false
	}
	return e, true
}

func (d *decoder) route(n *yaml.Node) {
	before := d.Faults()
	o, ok := d.Object(n, "a route", "", "host", "path", "pathType", "regex", "backend", "canary", "mirror")
	if !ok {
		return
	}
	r := route.RouteSpec{
		Host:     o.Text("host"),
		Path:     o.Text("path"),
		PathType: word(o, "pathType", "Prefix", route.ParsePathType, "Exact", "Prefix", "ImplementationSpecific"),
		Regex:    o.Flag("regex"),
	}
	d.checkClaim(o, &r)
	at := positionOf(o)
	at.vague = d.Faults() > before
	r.Backend = o.Required("backend", oneOfBackends)
	if r.Backend == "" {
		d.refuse(route.KindRoute, len(d.routes), route.ReasonUnknownBackend)
	}
	r.Canary = d.canary(o, at)
	r.Mirror = d.mirror(o, at)
	d.out.Spec.Routes = append(d.out.Spec.Routes, r)
	d.routes = append(d.routes, at)
}

// checkClaim refuses what is better explained here than by the compiler.
func (d *decoder) checkClaim(o strictyaml.Object, r *route.RouteSpec) {
	if r.Host == "*" {
		d.Report(o.At("host"), `host "*" is not a wildcard: leave host out for any host, or write "*.example.com"`)
		r.Host = ""
	}
	if r.Regex && r.PathType != route.ImplementationSpecific {
		d.Report(o.At("regex"), "regex needs pathType: ImplementationSpecific, this route has %s", r.PathType)
		r.Regex = false
		d.refuse(route.KindRoute, len(d.routes), route.ReasonInvalidPath)
	}
}

// inner reads a mapping inside of a route and adds its lines to the route's.
func (d *decoder) inner(o strictyaml.Object, key string, at position, known ...string) (strictyaml.Object, bool) {
	value, given := o.Values[key]
	if !given {
		return strictyaml.Object{}, false
	}
	in, ok := d.Object(value, key, key+".", known...)
	for k, line := range in.Lines {
		at.keys[in.Prefix+k] = line
	}
	return in, ok
}

func (d *decoder) canary(o strictyaml.Object, at position) *route.CanarySpec {
	in, ok := d.inner(o, "canary", at, "backend", "weight", "weightTotal", "header", "headerValue", "headerPattern", "cookie")
	if !ok {
		return nil
	}
	c := &route.CanarySpec{
		Backend:       in.Required("backend", oneOfBackends),
		Header:        in.Text("header"),
		HeaderValue:   in.Text("headerValue"),
		HeaderPattern: in.Text("headerPattern"),
		Cookie:        in.Text("cookie"),
		WeightTotal:   in.Number("weightTotal", 100, maxWeight, 100),
	}
	c.Weight = in.Number("weight", 0, c.WeightTotal, 0)
	if c.Header == "" && (c.HeaderValue != "" || c.HeaderPattern != "") {
		d.Report(at.at("canary.headerValue", "canary.headerPattern"), "canary.header is missing: name the header that the value or pattern is for")
		d.refuse(route.KindRoute, len(d.out.Spec.Routes), route.ReasonInvalidCanary)
	}
	if c.Backend == "" {
		return nil
	}
	return c
}

func (d *decoder) mirror(o strictyaml.Object, at position) *route.MirrorSpec {
	in, ok := d.inner(o, "mirror", at, "backend", "percent", "host")
	if !ok {
		return nil
	}
	m := &route.MirrorSpec{
		Backend: in.Required("backend", oneOfBackends),
		Percent: in.Number("percent", 0, 100, 100),
		Host:    in.Text("host"),
	}
	if m.Backend == "" {
		return nil
	}
	return m
}

// word reads one of the words of an enum, def where the key is absent.
func word[T any](o strictyaml.Object, key, def string, parse func(string) (T, error), known ...string) T {
	usual, _ := parse(def)
	n := o.Scalar(key, "one of "+strings.Join(known, ", "))
	if n == nil {
		return usual
	}
	v, err := parse(n.Value)
	if err != nil {
		o.Report(o.At(key), "%s %q is not one of %s%s", key, n.Value, strings.Join(known, ", "), nearest.Hint(n.Value, known))
		return usual
	}
	return v
}
