package translate

import (
	"errors"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"ramjet.dev/ingress/internal/route"
)

// plan is what one Ingress says, read on its own: it depends on that object alone. It is
// not modified once it is read.
type plan struct {
	object  *networkingv1.Ingress
	ref     Ref
	owner   string // "namespace/name"
	created int64  // as route.RouteSpec has it
	settings
	rules []rule
	// hosts are the hosts of all rules in normal form, "" for no host. This list and the
	// next two are sorted and have each host once.
	hosts []string
	// bare are those that a rule names without a path that could be a route: their
	// requests must not be left to a wildcard host, which may be somebody else's.
	bare []string
	// pathless are the hosts of rules without any path.
	pathless []string
	// fallback is the backend of what no rule takes; nil is none.
	fallback *target
	tls      []networkingv1.IngressTLS
	notes    []note
}

// rule is one path of an Ingress that can be a route.
type rule struct {
	key    route.Key
	path   string // as it is written
	regex  bool
	target target
	// label says where it is written, for what is no path of a rule.
	label string
}

// target is what a rule leads to.
type target struct {
	BackendRef
	// fault says why the reference is none that can be looked up; "" is none.
	fault string
}

// readIngress reads an Ingress.
func readIngress(ing *networkingv1.Ingress) *plan {
	p := &plan{object: ing, ref: refOf(ing), owner: ing.Namespace + "/" + ing.Name, tls: ing.Spec.TLS}
	if !ing.CreationTimestamp.IsZero() {
		p.created = ing.CreationTimestamp.UnixNano()
	}
	p.settings, p.notes = readSettings(ing.Annotations)
	p.rules = make([]rule, 0, pathsOf(ing))
	for i := range ing.Spec.Rules {
		p.readRule(&ing.Spec.Rules[i])
	}
	p.hosts, p.bare, p.pathless = sortedOnce(p.hosts), sortedOnce(p.bare), sortedOnce(p.pathless)
	if ing.Spec.DefaultBackend != nil {
		target := targetOf(ing.Namespace, ing.Spec.DefaultBackend)
		p.fallback = &target
	}
	p.dropTwins()
	p.checkRegex()
	if p.fallback == nil && len(ing.Spec.Rules) == 0 {
		p.note(ReasonIngressRejected, "", "the Ingress has neither rules nor a defaultBackend; it routes nothing")
	}
	for i := range p.notes {
		p.notes[i].object = p.ref
	}
	return p
}

// pathsOf counts the paths of an Ingress.
func pathsOf(ing *networkingv1.Ingress) (n int) {
	for i := range ing.Spec.Rules {
		if http := ing.Spec.Rules[i].HTTP; http != nil {
			n += len(http.Paths)
		}
	}
	return n
}

func (p *plan) note(reason, where, text string) {
	p.notes = append(p.notes, note{object: p.ref, reason: reason, where: where, text: text})
}

// readRule reads the paths of one host.
func (p *plan) readRule(r *networkingv1.IngressRule) {
	key, err := route.RouteSpec{Host: r.Host}.Key()
	if err != nil {
		p.note(ReasonIngressRejected, "", "host "+quoted(r.Host)+" "+inner(err)+"; its rules are not served")
		return
	}
	p.hosts = append(p.hosts, key.Host)
	if r.HTTP == nil || len(r.HTTP.Paths) == 0 {
		p.bare = append(p.bare, key.Host)
		p.pathless = append(p.pathless, key.Host)
		return
	}
	for i := range r.HTTP.Paths {
		if !p.readPath(key.Host, &r.HTTP.Paths[i]) {
			p.bare = append(p.bare, key.Host)
		}
	}
}

// readPath reads one path. It returns false when the path cannot be a route.
func (p *plan) readPath(host string, path *networkingv1.HTTPIngressPath) bool {
	pathType, err := pathTypeOf(path)
	spec := route.RouteSpec{Host: host, Path: path.Path, PathType: pathType}
	spec.Regex = p.regex && pathType == route.ImplementationSpecific
	var key route.Key
	if err == nil {
		if key, err = spec.Key(); err != nil {
			err = errors.New(inner(err))
		} else if spec.Regex {
			err = route.CheckPattern(key.Path)
		}
	}
	if err != nil {
		p.note(ReasonIngressRejected, where(host, path.Path), err.Error()+"; the path is not served")
		return false
	}
	p.rules = append(p.rules, rule{key: key, path: path.Path, regex: spec.Regex, target: targetOf(p.ref.Namespace, &path.Backend)})
	return true
}

// pathTypeOf reads the type of a path. The API demands one; before it did, to say
// nothing meant ImplementationSpecific.
func pathTypeOf(path *networkingv1.HTTPIngressPath) (route.PathType, error) {
	if path.PathType == nil {
		return route.ImplementationSpecific, nil
	}
	t, err := route.ParsePathType(string(*path.PathType))
	if err != nil {
		return 0, errors.New("pathType " + quoted(string(*path.PathType)) + " is none of Exact, Prefix and ImplementationSpecific")
	}
	return t, nil
}

// dropTwins leaves each key once. Within an Ingress the first path counts.
func (p *plan) dropTwins() {
	if len(p.rules) < 2 {
		return
	}
	seen := make(map[route.Key]bool, len(p.rules))
	kept := p.rules[:0]
	for _, r := range p.rules {
		if seen[r.key] {
			p.note(ReasonPathConflict, r.where(), "the Ingress has this path twice; the first counts")
			continue
		}
		seen[r.key] = true
		kept = append(kept, r)
	}
	p.rules = kept
}

// checkRegex reports paths that look like expressions and are none because of their type.
func (p *plan) checkRegex() {
	if !p.regex {
		return
	}
	for _, r := range p.rules {
		if !r.regex && strings.ContainsAny(r.path, `*+?()[]{}|^$\`) {
			p.note(ReasonInvalidAnnotation, r.where(), "annotation "+keyRegex+" is for paths of type ImplementationSpecific; this one is taken literally: change its pathType")
		}
	}
}

// where names the rule in a message.
func (r *rule) where() string {
	if r.label != "" {
		return r.label
	}
	return where(r.key.Host, r.path) + " (" + r.key.PathType.String() + ")"
}

// where names a host and path in a message.
func where(host, path string) string {
	if path == "" {
		path = "/"
	}
	if s := plain(path); strings.HasPrefix(s, "/") {
		return hostText(host) + s
	}
	return hostText(host) + " " + plain(path)
}

// hostText names a host in a message.
func hostText(host string) string {
	if host == "" {
		return "*"
	}
	return plain(host)
}

// targetOf reads what a rule leads to.
func targetOf(namespace string, b *networkingv1.IngressBackend) target {
	t := target{BackendRef: BackendRef{Namespace: namespace, Name: "-"}}
	switch {
	case b.Service != nil:
		t.Name, t.Port = b.Service.Name, b.Service.Port
		if t.Port.Name != "" {
			t.Port.Number = 0 // the API forbids both
		}
	case b.Resource != nil:
		t.Name = b.Resource.Kind + "/" + b.Resource.Name
		t.fault = "the backend is a resource (" + plain(t.Name) + "), and only Services are supported"
	default:
		t.fault = "the path has no backend"
	}
	return t
}

// inner returns the part of a route.Key error that does not repeat the value.
func inner(err error) string {
	if e := errors.Unwrap(err); e != nil {
		return e.Error()
	}
	return err.Error()
}

// sortedOnce sorts a list and leaves each element once.
func sortedOnce(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
