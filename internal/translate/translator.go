package translate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/route"
)

// translator is the state of one translation.
type translator struct {
	options      Options
	classes      map[string]*networkingv1.IngressClass
	defaultClass bool // one of ours is marked as default
	services     map[types.NamespacedName]*corev1.Service
	slices       map[types.NamespacedName][]*discoveryv1.EndpointSlice

	ours  []*networkingv1.Ingress // by namespace and name
	byAge []*networkingv1.Ingress // the older first: route order

	spec     route.Spec
	backends map[string]*route.BackendSpec
	warnings warnings
}

func newTranslator(s Snapshot, o Options) *translator {
	t := &translator{
		options:  o,
		classes:  map[string]*networkingv1.IngressClass{},
		services: map[types.NamespacedName]*corev1.Service{},
		slices:   map[types.NamespacedName][]*discoveryv1.EndpointSlice{},
		backends: map[string]*route.BackendSpec{},
	}
	t.addClasses(s.Classes)
	for _, svc := range s.Services {
		if svc != nil {
			t.services[types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name}] = svc
		}
	}
	for _, slice := range s.Slices {
		if slice != nil {
			owner := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
			t.slices[owner] = append(t.slices[owner], slice)
		}
	}
	return t
}

// addRules adds the routes of an Ingress.
func (t *translator) addRules(ing *networkingv1.Ingress) {
	for i := range ing.Spec.Rules {
		rule := &ing.Spec.Rules[i]
		if rule.HTTP == nil {
			continue
		}
		for j := range rule.HTTP.Paths {
			path := &rule.HTTP.Paths[j]
			pathType, err := pathTypeOf(path)
			if err != nil || path.Backend.Service == nil {
				continue
			}
			ref := BackendRef{ing.Namespace, path.Backend.Service.Name, path.Backend.Service.Port}
			t.spec.Routes = append(t.spec.Routes, route.RouteSpec{
				Host: rule.Host, Path: path.Path, PathType: pathType,
				Backend: t.backend(ing, ref),
				Created: created(ing), Owner: ing.Namespace + "/" + ing.Name,
			})
		}
	}
}

func pathTypeOf(path *networkingv1.HTTPIngressPath) (route.PathType, error) {
	if path.PathType == nil {
		return route.ImplementationSpecific, nil
	}
	return route.ParsePathType(string(*path.PathType))
}

// backend returns the name of the backend that a reference leads to, and describes it in
// the Spec.
func (t *translator) backend(ing *networkingv1.Ingress, ref BackendRef) string {
	svc := t.services[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
	port, err := servicePort(svc, ref)
	if err != nil {
		t.warnings.add(refOf(ing), ReasonServiceUnresolved, err.Error())
	} else {
		ref.Port = networkingv1.ServiceBackendPort{Number: port.Port}
	}
	name := ref.String()
	if t.backends[name] == nil {
		b := &route.BackendSpec{Name: name}
		if err == nil {
			b.Endpoints = endpoints(t.slices[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}], port.Name)
		}
		t.backends[name] = b
	}
	return name
}

// addBackends puts the backends into the Spec.
func (t *translator) addBackends() {
	for _, b := range t.backends {
		t.spec.Backends = append(t.spec.Backends, *b)
	}
	slices.SortFunc(t.spec.Backends, func(a, b route.BackendSpec) int { return strings.Compare(a.Name, b.Name) })
}

// servicePort finds the port that a reference means.
func servicePort(svc *corev1.Service, ref BackendRef) (corev1.ServicePort, error) {
	if svc == nil {
		return corev1.ServicePort{}, fmt.Errorf("Service %s/%s does not exist; requests are answered 503", ref.Namespace, ref.Name)
	}
	for _, p := range svc.Spec.Ports {
		if ref.Port.Name != "" && p.Name == ref.Port.Name || ref.Port.Name == "" && p.Port == ref.Port.Number {
			return p, nil
		}
	}
	return corev1.ServicePort{}, fmt.Errorf("Service %s/%s has no port %s; requests are answered 503", ref.Namespace, ref.Name, portText(ref.Port))
}
