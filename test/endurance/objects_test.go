//go:build endurance

package endurance

import (
	"net/netip"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"ramjet.dev/ingress/test/cluster"
)

// backendPort is where all backends listen.
const backendPort = 8080

func named(name string) meta.ObjectMeta {
	return meta.ObjectMeta{Namespace: "default", Name: name}
}

// putIngress makes an Ingress that sends all of a host, and of more of them, to a
// Service. The annotations are names and values in turns.
func (w *world) putIngress(name, service string, hosts []string, annotations ...string) error {
	className, kind := "ramjet", networking.PathTypePrefix
	i := &networking.Ingress{ObjectMeta: named(name), Spec: networking.IngressSpec{IngressClassName: &className}}
	i.Annotations = map[string]string{}
	for n := 0; n < len(annotations); n += 2 {
		i.Annotations[annotations[n]] = annotations[n+1]
	}
	to := networking.IngressBackend{Service: &networking.IngressServiceBackend{
		Name: service, Port: networking.ServiceBackendPort{Number: 80},
	}}
	for _, host := range hosts {
		i.Spec.Rules = append(i.Spec.Rules, networking.IngressRule{
			Host: host,
			IngressRuleValue: networking.IngressRuleValue{HTTP: &networking.HTTPIngressRuleValue{
				Paths: []networking.HTTPIngressPath{{Path: "/", PathType: &kind, Backend: to}},
			}},
		})
	}
	if name == withCertificate {
		i.Spec.TLS = []networking.IngressTLS{{SecretName: "wild", Hosts: []string{"*.test"}}}
	}
	return cluster.Put(w.ctx, w.api().NetworkingV1().Ingresses("default"), i)
}

func (w *world) deleteIngress(name string) error {
	return w.api().NetworkingV1().Ingresses("default").Delete(w.ctx, name, meta.DeleteOptions{})
}

// putService makes a Service, without endpoints.
func (w *world) putService(name string) error {
	return cluster.Put(w.ctx, w.api().CoreV1().Services("default"), &core.Service{
		ObjectMeta: named(name),
		Spec:       core.ServiceSpec{Ports: []core.ServicePort{{Name: "http", Port: 80}}},
	})
}

// putEndpoints gives a Service these endpoints; those that are leaving still serve.
func (w *world) putEndpoints(service string, ready []netip.Addr, leaving ...netip.Addr) error {
	s := &discovery.EndpointSlice{ObjectMeta: named(service), AddressType: discovery.AddressTypeIPv4}
	s.Labels = map[string]string{discovery.LabelServiceName: service}
	port, portName := int32(backendPort), "http"
	s.Ports = []discovery.EndpointPort{{Name: &portName, Port: &port}}
	yes, no := true, false
	for _, a := range ready {
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{
			Addresses: []string{a.String()}, Conditions: discovery.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		})
	}
	for _, a := range leaving {
		s.Endpoints = append(s.Endpoints, discovery.Endpoint{
			Addresses: []string{a.String()}, Conditions: discovery.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes},
		})
	}
	return cluster.Put(w.ctx, w.api().DiscoveryV1().EndpointSlices("default"), s)
}

// putCertificate makes or changes the Secret of all hosts, and returns the serial
// number of its certificate.
func (w *world) putCertificate() (serial int64, err error) {
	cert, key := w.authority.Pair(w.t, "*.test")
	s := &core.Secret{ObjectMeta: named("wild"), Type: core.SecretTypeTLS, Data: map[string][]byte{
		core.TLSCertKey: cert, core.TLSPrivateKeyKey: key,
	}}
	return serialOf(w.t, cert), cluster.Put(w.ctx, w.api().CoreV1().Secrets("default"), s)
}

func (w *world) putClass() error {
	return cluster.Put(w.ctx, w.api().NetworkingV1().IngressClasses(), &networking.IngressClass{
		ObjectMeta: meta.ObjectMeta{Name: "ramjet"},
		Spec:       networking.IngressClassSpec{Controller: "ramjet.dev/ingress"},
	})
}
