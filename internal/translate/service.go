package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/route"
)

// backend is a Service port that something leads to.
type backend struct {
	name      string
	endpoints []route.EndpointSpec
	protocol  route.Protocol
	// used is set when something of the Spec leads here.
	used bool
	// spokenFor is the Ingress that decided the protocol; nil is none.
	spokenFor *plan
	// fault says why there is no such port; "" is none.
	fault string
	// remark says what of it could not be used; "" is nothing.
	remark string
}

// services resolves what rules lead to. Each target is looked up once.
type services struct {
	byName   map[types.NamespacedName]*corev1.Service
	slices   map[types.NamespacedName][]*discoveryv1.EndpointSlice
	resolved map[target]*backend
	byPort   map[string]*backend // those that exist, by their name
}

func newServices(list []*corev1.Service, slices []*discoveryv1.EndpointSlice) *services {
	s := &services{
		byName:   byName(list),
		slices:   make(map[types.NamespacedName][]*discoveryv1.EndpointSlice, len(slices)),
		resolved: map[target]*backend{},
		byPort:   map[string]*backend{},
	}
	for _, slice := range slices {
		if slice == nil {
			continue
		}
		owner := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		s.slices[owner] = append(s.slices[owner], slice)
	}
	return s
}

// resolve returns the backend of a target. Two ways to name one port are one backend. A
// target that leads nowhere is a backend without endpoints, so that its requests are
// answered 503 and not by somebody else.
func (s *services) resolve(to *target) *backend {
	if b := s.resolved[*to]; b != nil {
		return b
	}
	b := s.look(to)
	s.resolved[*to] = b
	return b
}

func (s *services) look(to *target) *backend {
	if to.fault != "" {
		return &backend{name: to.String(), fault: to.fault}
	}
	owner := types.NamespacedName{Namespace: to.Namespace, Name: to.Name}
	port, fault := findPort(s.byName[owner], to.BackendRef)
	if fault != "" {
		return &backend{name: to.String(), fault: fault}
	}
	ref := to.BackendRef
	ref.Port = networkingv1.ServiceBackendPort{Number: port.Port}
	name := ref.String()
	b := s.byPort[name]
	if b == nil {
		b = &backend{name: name}
		var unusable int
		if b.endpoints, unusable = endpoints(s.slices[owner], port.Name); unusable > 0 {
			b.remark = fmt.Sprintf("%d addresses in the EndpointSlices of %s are no IP addresses and are left out", unusable, plain(name))
		}
		s.byPort[name] = b
	}
	return b
}

// specs describes every backend that is used, sorted by name. What leads nowhere cannot
// have the name of a port that exists: that has a number.
func (s *services) specs() []route.BackendSpec {
	used := make(map[string]*backend, len(s.resolved))
	for _, b := range s.resolved {
		if b.used {
			used[b.name] = b
		}
	}
	list := make([]route.BackendSpec, 0, len(used))
	for _, b := range used {
		list = append(list, route.BackendSpec{Name: b.name, Protocol: b.protocol, Endpoints: b.endpoints})
	}
	slices.SortFunc(list, func(a, b route.BackendSpec) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// findPort finds the port of a Service that a reference means, by the port's own name or
// number and never by its targetPort.
func findPort(svc *corev1.Service, ref BackendRef) (port corev1.ServicePort, fault string) {
	name := "Service " + plain(ref.Namespace) + "/" + plain(ref.Name)
	switch {
	case svc == nil:
		return port, name + " does not exist: create it, or correct the name"
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return port, name + " is of type ExternalName, which is not supported: use one with endpoints"
	case ref.Port == networkingv1.ServiceBackendPort{}:
		return port, "the backend names no port of " + name
	}
	var other corev1.Protocol
	for _, p := range svc.Spec.Ports {
		if ref.Port.Name != "" && p.Name != ref.Port.Name || ref.Port.Name == "" && p.Port != ref.Port.Number {
			continue
		}
		if cmp.Or(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP {
			return p, ""
		}
		other = p.Protocol
	}
	if other != "" {
		return port, fmt.Sprintf("port %s of %s is %s and not TCP", plain(portText(ref.Port)), name, plain(string(other)))
	}
	return port, name + " has no port " + plain(portText(ref.Port)) + portsOf(svc)
}

// portsOf lists the ports of a Service for a message.
func portsOf(svc *corev1.Service) string {
	const most = 5
	var list []string
	for i, p := range svc.Spec.Ports {
		if i == most {
			list = append(list, "…")
			break
		}
		text := fmt.Sprint(p.Port)
		if p.Name != "" {
			text += " " + plain(p.Name)
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return " (it has none)"
	}
	return " (it has " + strings.Join(list, ", ") + ")"
}
