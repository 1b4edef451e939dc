package translate

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"ramjet.dev/ingress/internal/route"
)

// endpoints merges the slices of a Service for the port of that name, IPv4 and IPv6: the
// ready endpoints, or, when there are none, those that terminate and still serve. The
// result is sorted and has each address once. unusable counts what is no IP address: a
// name in a slice would be a way around the rule about ExternalName.
func endpoints(list []*discoveryv1.EndpointSlice, port string) (found []route.EndpointSpec, unusable int) {
	most := 0
	for _, slice := range list {
		most += len(slice.Endpoints)
	}
	ready := make([]route.EndpointSpec, 0, most)
	var serving []route.EndpointSpec
	for _, slice := range list {
		number, ok := slicePort(slice, port)
		if !ok {
			continue
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			into := usedAs(e, &ready, &serving)
			if into == nil {
				continue
			}
			for _, address := range e.Addresses {
				if ip, err := netip.ParseAddr(address); err == nil && ip.Zone() == "" {
					*into = append(*into, route.EndpointSpec{Address: netip.AddrPortFrom(ip.Unmap(), number).String(), Weight: 1})
				} else {
					unusable++
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = serving
	}
	slices.SortFunc(ready, func(a, b route.EndpointSpec) int { return strings.Compare(a.Address, b.Address) })
	return slices.Compact(ready), unusable
}

// usedAs returns the list that an endpoint belongs to, nil for none. What the API says of
// a condition that is absent: ready and serving, and not terminating.
func usedAs(e *discoveryv1.Endpoint, ready, serving *[]route.EndpointSpec) *[]route.EndpointSpec {
	switch c := &e.Conditions; {
	case c.Ready == nil || *c.Ready:
		return ready
	case (c.Serving == nil || *c.Serving) && c.Terminating != nil && *c.Terminating:
		return serving
	}
	return nil
}

// slicePort finds the number that a slice has for the name of a Service port. Slices of
// one Service may differ in it.
func slicePort(slice *discoveryv1.EndpointSlice, name string) (number uint16, ok bool) {
	for i := range slice.Ports {
		p := &slice.Ports[i]
		named := ""
		if p.Name != nil {
			named = *p.Name
		}
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = cmp.Or(*p.Protocol, protocol)
		}
		if named == name && protocol == corev1.ProtocolTCP && p.Port != nil && 0 < *p.Port && *p.Port < 1<<16 {
			return uint16(*p.Port), true
		}
	}
	return 0, false
}
