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

// services resolves what rules lead to.
type services struct {
	byName map[types.NamespacedName]*service
	// backends are those that were asked for, each once.
	backends []*backend
}

// service is a Service with its slices, and what was asked of it.
type service struct {
	object  *corev1.Service // nil for one that does not exist
	slices  []*discoveryv1.EndpointSlice
	answers []answer
	index   map[question]*backend // the same, once they are many
	before  []answer              // of the translation before, if the slices are the same
}

// question is what a reference asks of a Service.
type question struct {
	port  networkingv1.ServiceBackendPort
	fault string // of the reference
}

// answer is the backend that the question leads to.
type answer struct {
	question
	backend *backend
}

// backend is a port of a Service that something leads to.
type backend struct {
	name      string
	slicePort string // the name of the port in slices
	endpoints []route.EndpointSpec
	// unusable counts the addresses that are none.
	unusable int
	protocol route.Protocol
	// spokenFor is the Ingress that decided the protocol; nil is none.
	spokenFor *plan
	// used is set when something of the Spec leads here.
	used bool
	// fault says why there is no such port; "" is none.
	fault string
}

func newServices(list []*corev1.Service, slices []*discoveryv1.EndpointSlice) *services {
	s := &services{byName: make(map[types.NamespacedName]*service, len(list))}
	pool := make([]service, len(list))
	for i, object := range list {
		if object == nil {
			continue
		}
		name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
		if other := s.byName[name]; other != nil && !precedes(object, other.object) {
			continue
		}
		pool[i].object = object
		s.byName[name] = &pool[i]
	}
	for _, slice := range slices {
		if slice == nil {
			continue
		}
		if svc := s.byName[ownerOf(slice)]; svc != nil {
			svc.slices = append(svc.slices, slice)
		}
	}
	return s
}

// ownerOf names the Service of a slice.
func ownerOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// resolve returns the backend of a target. Two ways to name one port are one backend. A
// target that leads nowhere is a backend without endpoints, so that its requests are
// answered 503 and not by somebody else.
func (s *services) resolve(to *target) *backend {
	name := types.NamespacedName{Namespace: to.Namespace, Name: to.Name}
	svc := s.byName[name]
	if svc == nil {
		svc = &service{}
		s.byName[name] = svc
	}
	asked := question{to.Port, to.fault}
	if b := svc.answer(asked); b != nil {
		return b
	}
	b := s.look(svc, to)
	if svc.answer(asked) == nil {
		svc.remember(asked, b)
	}
	return b
}

// answer returns what was answered before, nil for nothing.
func (svc *service) answer(asked question) *backend {
	if svc.index != nil {
		return svc.index[asked]
	}
	for _, a := range svc.answers {
		if a.question == asked {
			return a.backend
		}
	}
	return nil
}

// remember keeps an answer. Nearly every Service is asked for one port or two; one that
// is asked for thousands must not cost their square.
func (svc *service) remember(asked question, b *backend) {
	const few = 8
	svc.answers = append(svc.answers, answer{asked, b})
	switch {
	case svc.index != nil:
		svc.index[asked] = b
	case len(svc.answers) > few:
		svc.index = map[question]*backend{}
		for _, a := range svc.answers {
			svc.index[a.question] = a.backend
		}
	}
}

// look finds the backend of a question that is asked for the first time. If it names the
// port differently than another did, it is the other's backend.
func (s *services) look(svc *service, to *target) *backend {
	fault := to.fault
	var port corev1.ServicePort
	if fault == "" {
		port, fault = findPort(svc.object, to.BackendRef)
	}
	ref := to.BackendRef
	if fault == "" {
		ref.Port = networkingv1.ServiceBackendPort{Number: port.Port}
	}
	b := &backend{name: ref.String(), slicePort: port.Name, fault: fault}
	if fault == "" {
		byNumber := question{port: ref.Port}
		if known := svc.answer(byNumber); known != nil {
			return known
		}
		svc.remember(byNumber, b)
		s.fill(b, svc)
	}
	s.backends = append(s.backends, b)
	return b
}

// fill finds the endpoints of a backend, in the translation before if the slices are the
// same.
func (s *services) fill(b *backend, svc *service) {
	for _, a := range svc.before {
		if a.backend.fault == "" && a.backend.slicePort == b.slicePort {
			b.endpoints, b.unusable = a.backend.endpoints, a.backend.unusable
			return
		}
	}
	b.endpoints, b.unusable = endpoints(svc.slices, b.slicePort)
}

// renew prepares for another translation with the same Services. moved are those with
// other slices than in the last one.
func (s *services) renew(moved map[types.NamespacedName][]*discoveryv1.EndpointSlice) {
	s.backends = nil
	for name, svc := range s.byName {
		if svc.object == nil {
			delete(s.byName, name) // somebody asked for it, and may not any more
			continue
		}
		svc.before, svc.answers, svc.index = svc.answers, nil, nil
		if _, other := moved[name]; other {
			svc.before = nil
		}
	}
}

// specs describes every backend that is used, sorted by name. What leads nowhere cannot
// have the name of a port that exists: either there is no such port, or its name is no
// number.
func (s *services) specs() []route.BackendSpec {
	used := make([]*backend, 0, len(s.backends))
	for _, b := range s.backends {
		if b.used {
			used = append(used, b)
		}
	}
	slices.SortFunc(used, func(a, b *backend) int { return strings.Compare(a.name, b.name) })
	used = slices.CompactFunc(used, func(a, b *backend) bool { return a.name == b.name })
	list := make([]route.BackendSpec, len(used))
	for i, b := range used {
		list[i] = route.BackendSpec{Name: b.name, Protocol: b.protocol, Endpoints: b.endpoints}
	}
	return list
}

// remark says what of a backend could not be used; "" is nothing.
func (b *backend) remark() string {
	if b.unusable == 0 {
		return ""
	}
	return fmt.Sprintf("%d addresses in the EndpointSlices of %s are no IP addresses and are left out", b.unusable, plain(b.name))
}

// findPort finds the port of a Service that a reference means, by the port's own name or
// number and never by its targetPort.
func findPort(svc *corev1.Service, ref BackendRef) (port corev1.ServicePort, fault string) {
	switch {
	case svc == nil:
		return port, ref.service() + " does not exist: create it, or correct the name"
	case svc.Spec.Type == corev1.ServiceTypeExternalName:
		return port, ref.service() + " is of type ExternalName, which is not supported: use one with endpoints"
	case ref.Port == networkingv1.ServiceBackendPort{}:
		return port, "the backend names no port of " + ref.service()
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
		return port, fmt.Sprintf("port %s of %s is %s and not TCP", plain(portText(ref.Port)), ref.service(), plain(string(other)))
	}
	return port, ref.service() + " has no port " + plain(portText(ref.Port)) + portsOf(svc)
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
