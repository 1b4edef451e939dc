//go:build cluster

package kube

import (
	"net/netip"
	"strconv"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// class is an IngressClass of ours.
func class(name string) *networking.IngressClass {
	return &networking.IngressClass{ObjectMeta: meta.ObjectMeta{Name: name}, Spec: networking.IngressClassSpec{Controller: ours}}
}

// rule is one path of a host. Port is that of the Service.
type rule struct {
	host, path string
	kind       networking.PathType // "" = Prefix
	service    string              // NAME or NAME:PORT, PORT being a number or a name; 80 if absent
}

// ingress is an Ingress of the class ramjet. name may be NAMESPACE/NAME.
func ingress(name string, rules ...rule) *networking.Ingress {
	className := "ramjet"
	i := &networking.Ingress{ObjectMeta: named(name), Spec: networking.IngressSpec{IngressClassName: &className}}
	for _, r := range rules {
		if r.kind == "" {
			r.kind = networking.PathTypePrefix
		}
		i.Spec.Rules = append(i.Spec.Rules, networking.IngressRule{
			Host: r.host,
			IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{
				Paths: []networking.HTTPIngressPath{{Path: r.path, PathType: &r.kind, Backend: to(r.service)}},
			}},
		})
	}
	return i
}

// to is the backend of a path: NAME or NAME:PORT.
func to(service string) networking.IngressBackend {
	name, port := cut(service, ':')
	b := networking.IngressServiceBackend{Name: name, Port: networking.ServiceBackendPort{Name: port}}
	if port == "" {
		port = "80"
	}
	if n, err := strconv.Atoi(port); err == nil {
		b.Port = networking.ServiceBackendPort{Number: int32(n)}
	}
	return networking.IngressBackend{Service: &b}
}

// withTLS adds a certificate to an Ingress.
func withTLS(i *networking.Ingress, secret string, hosts ...string) *networking.Ingress {
	i.Spec.TLS = append(i.Spec.TLS, networking.IngressTLS{SecretName: secret, Hosts: hosts})
	return i
}

// annotated adds annotations, name and value in turns, to an Ingress.
func annotated(i *networking.Ingress, pairs ...string) *networking.Ingress {
	if i.Annotations == nil {
		i.Annotations = make(map[string]string)
	}
	for n := 0; n < len(pairs); n += 2 {
		i.Annotations[pairs[n]] = pairs[n+1]
	}
	return i
}

// service is a Service with the port http: 80 → 8080. name may be
// NAMESPACE/NAME.
func service(name string) *core.Service {
	return &core.Service{ObjectMeta: named(name), Spec: core.ServiceSpec{
		Ports: []core.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
}

// backendPort is where backends listen.
const backendPort = 8080

// slice is an EndpointSlice of a Service with ready endpoints. name is that of the
// Service and may be NAMESPACE/NAME.
func slice(name string, addresses ...netip.Addr) *discovery.EndpointSlice {
	s := &discovery.EndpointSlice{ObjectMeta: named(name), AddressType: discovery.AddressTypeIPv4}
	s.Labels = map[string]string{discovery.LabelServiceName: s.Name}
	s.Name += "-1"
	port, portName := int32(backendPort), "http"
	s.Ports = []discovery.EndpointPort{{Name: &portName, Port: &port}}
	for _, a := range addresses {
		if a.Is6() {
			s.AddressType = discovery.AddressTypeIPv6
		}
		s.Endpoints = append(s.Endpoints, endpoint(a, ready))
	}
	return s
}

// state is the three conditions of an endpoint.
type state struct{ ready, serving, terminating bool }

// The states that the life of a pod has.
var (
	ready       = state{ready: true, serving: true}
	starting    = state{}
	terminating = state{serving: true, terminating: true}
	gone        = state{terminating: true}
)

func endpoint(a netip.Addr, s state) discovery.Endpoint {
	return discovery.Endpoint{Addresses: []string{a.String()}, Conditions: discovery.EndpointConditions{
		Ready: &s.ready, Serving: &s.serving, Terminating: &s.terminating,
	}}
}

// tlsSecret is a Secret of type kubernetes.io/tls. name may be NAMESPACE/NAME.
func tlsSecret(name string, cert, key []byte) *core.Secret {
	return &core.Secret{ObjectMeta: named(name), Type: core.SecretTypeTLS, Data: map[string][]byte{
		core.TLSCertKey: cert, core.TLSPrivateKeyKey: key,
	}}
}

// named is the metadata of NAMESPACE/NAME, or of NAME in default.
func named(name string) meta.ObjectMeta {
	if namespace, rest := cut(name, '/'); rest != "" {
		return meta.ObjectMeta{Namespace: namespace, Name: rest}
	}
	return meta.ObjectMeta{Namespace: "default", Name: name}
}

// cut splits a text at the first c; after is empty without one.
func cut(text string, c byte) (before, after string) {
	for i := range len(text) {
		if text[i] == c {
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}
