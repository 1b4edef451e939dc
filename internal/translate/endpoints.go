package translate

import (
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"

	"ramjet.dev/ingress/internal/route"
)

// endpoints merges the slices of a Service for one of its ports: the ready endpoints, or,
// when there are none, those that terminate and still serve.
func endpoints(slices []*discoveryv1.EndpointSlice, port string) []route.EndpointSpec {
	var ready, serving []route.EndpointSpec
	for _, slice := range slices {
		number, ok := slicePort(slice, port)
		if !ok {
			continue
		}
		for i := range slice.Endpoints {
			e := &slice.Endpoints[i]
			switch {
			case isTrue(e.Conditions.Ready, true):
				ready = appendAddresses(ready, e, number)
			case isTrue(e.Conditions.Serving, true) && isTrue(e.Conditions.Terminating, false):
				serving = appendAddresses(serving, e, number)
			}
		}
	}
	if len(ready) > 0 {
		return ready
	}
	return serving
}

// isTrue reads a condition; otherwise is what the API says of one that is not there.
func isTrue(condition *bool, otherwise bool) bool {
	if condition == nil {
		return otherwise
	}
	return *condition
}

func appendAddresses(list []route.EndpointSpec, e *discoveryv1.Endpoint, port uint16) []route.EndpointSpec {
	for _, address := range e.Addresses {
		if ip, err := netip.ParseAddr(address); err == nil {
			list = append(list, route.EndpointSpec{Address: netip.AddrPortFrom(ip, port).String(), Weight: 1})
		}
	}
	return list
}

// slicePort finds the number that a slice has for a port name.
func slicePort(slice *discoveryv1.EndpointSlice, name string) (uint16, bool) {
	for _, p := range slice.Ports {
		if p.Port == nil || *p.Port < 1 || *p.Port > 65535 {
			continue
		}
		if p.Name == nil && name == "" || p.Name != nil && *p.Name == name {
			return uint16(*p.Port), true
		}
	}
	return 0, false
}
