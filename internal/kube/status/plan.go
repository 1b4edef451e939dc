// Package status decides which addresses stand in the status of which Ingress, and
// writes them.
//
// Guarantees: an Ingress that is served has the published addresses and no others; one
// that is not served any more has none of ours; nothing is written that stands there
// already; nothing is taken away because it is not known what to publish; what another
// deployment of this program wrote stays.
//
// The package never knows who leads, or when there is time to write.
package status

import (
	"maps"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/kube/watch"
)

// Addresses are what is published.
type Addresses struct {
	// Known is false while it is not known what to publish: what stands there stays.
	Known bool
	// List is the addresses in their order; none is a valid answer.
	List []networkingv1.IngressLoadBalancerIngress
}

// FromAddress publishes one IP address or host name. "" is not known.
func FromAddress(address string) Addresses {
	if address == "" {
		return Addresses{}
	}
	one := networkingv1.IngressLoadBalancerIngress{Hostname: address}
	if _, err := netip.ParseAddr(address); err == nil {
		one = networkingv1.IngressLoadBalancerIngress{IP: address}
	}
	return Addresses{Known: true, List: []networkingv1.IngressLoadBalancerIngress{one}}
}

// FromService publishes what the status of a Service says.
func FromService(s *corev1.Service) Addresses {
	a := Addresses{Known: true}
	for _, i := range s.Status.LoadBalancer.Ingress {
		one := networkingv1.IngressLoadBalancerIngress{IP: i.IP, Hostname: i.Hostname}
		for _, p := range i.Ports {
			one.Ports = append(one.Ports, networkingv1.IngressPortStatus{Port: p.Port, Protocol: p.Protocol, Error: p.Error})
		}
		a.List = append(a.List, one)
	}
	return a
}

// View is what a decision is made of.
type View struct {
	// Live are all Ingresses as they are in the cluster.
	Live []*networkingv1.Ingress
	// Classes are all IngressClasses.
	Classes []*networkingv1.IngressClass
	// Ours are the Ingresses that are served, by UID.
	Ours map[types.UID]bool
	// Class is the value of the annotation that makes an Ingress ours.
	Class string
	// Want is what is published.
	Want Addresses
}

// Change is one status to be written. It is a value, and may be kept.
type Change struct {
	Name types.NamespacedName
	UID  types.UID
	// Addresses replace what stands there; none clears it.
	Addresses []networkingv1.IngressLoadBalancerIngress
}

// Plan remembers what was asked for. The zero value is ready. It belongs to one
// goroutine.
type Plan struct {
	seen  map[types.UID]bool  // was served by this process
	asked map[types.UID]asked // until the cluster shows another version
}

// asked is a change with the version of the Ingress that made it necessary. It keeps a
// change from being asked for again before the cluster shows what came of it.
type asked struct {
	version   string
	addresses []networkingv1.IngressLoadBalancerIngress
}

// Forget makes the plan look at the cluster only, as after a time in which another
// replica may have written.
func (p *Plan) Forget() { clear(p.asked) }

// Changes are what has to be written, and was not asked for yet.
func (p *Plan) Changes(v View) []Change {
	if p.seen == nil {
		p.seen, p.asked = make(map[types.UID]bool), make(map[types.UID]asked)
	}
	var changes []Change
	live := make(map[types.UID]bool, len(v.Live))
	for _, ing := range v.Live {
		live[ing.UID] = true
		want, differs := p.decide(ing, v)
		if !differs {
			delete(p.asked, ing.UID)
			continue
		}
		if a, ok := p.asked[ing.UID]; ok && a.version == ing.ResourceVersion && same(a.addresses, want) {
			continue
		}
		p.asked[ing.UID] = asked{version: ing.ResourceVersion, addresses: want}
		changes = append(changes, Change{
			Name: types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}, UID: ing.UID, Addresses: want,
		})
	}
	maps.DeleteFunc(p.seen, func(uid types.UID, _ bool) bool { return !live[uid] })
	maps.DeleteFunc(p.asked, func(uid types.UID, _ asked) bool { return !live[uid] })
	return changes
}

// decide is what stands in the status of an Ingress, and whether that differs from what
// stands there.
func (p *Plan) decide(ing *networkingv1.Ingress, v View) (want []networkingv1.IngressLoadBalancerIngress, differs bool) {
	has := ing.Status.LoadBalancer.Ingress
	if v.Ours[ing.UID] {
		p.seen[ing.UID] = true
		return v.Want.List, v.Want.Known && !same(has, v.Want.List)
	}
	if !Left(ing, v.Classes, v.Class, p.seen[ing.UID]) {
		return nil, false
	}
	// Once: if another deployment serves it now, what it writes is not ours to clear.
	delete(p.seen, ing.UID)
	return nil, len(has) > 0 && watch.OwnsStatus(ing)
}

// Left reports whether an Ingress that is not served was served by this program and is
// not to be any more. seen tells that this process served it.
func Left(ing *networkingv1.Ingress, classes []*networkingv1.IngressClass, class string, seen bool) bool {
	switch claimOf(ing, classes, class) {
	case foreign:
		return true
	case unclear:
		return seen
	}
	return false
}

func same(a, b []networkingv1.IngressLoadBalancerIngress) bool {
	return len(a) == 0 && len(b) == 0 || equality.Semantic.DeepEqual(a, b)
}
