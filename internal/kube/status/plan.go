// Package status decides which addresses stand in the status of which Ingress, and
// writes them.
//
// Guarantees: an Ingress that is served has the published addresses and no others; one
// that is not served any more has none of ours; nothing is written that stands there
// already, and what was asked for is taken back when it does by itself; nothing is taken
// away because it is not known what to publish; what another deployment of this program
// wrote stays.
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
	// Version is the only one of the Ingress that this is right for; "" = whichever it
	// has. Addresses are right as long as it is served, but what is to be cleared may have
	// given way to what another deployment wrote.
	Version string
	// Addresses replace what stands there; none clears it.
	Addresses []networkingv1.IngressLoadBalancerIngress
}

// Same reports whether two changes come to the same, whichever version they are for.
func (c Change) Same(o Change) bool {
	return c.Name == o.Name && c.UID == o.UID && same(c.Addresses, o.Addresses)
}

// Plan remembers what was asked for. The zero value is ready. It belongs to one
// goroutine at a time.
type Plan struct {
	// stood is what this program had written into the status of an Ingress when this
	// process last served it, or wrote it: what it may take away again.
	stood map[types.UID][]networkingv1.IngressLoadBalancerIngress
	asked map[types.UID]asked // until the cluster shows another version
}

// asked is a change with the version of the Ingress that made it necessary. It keeps a
// change from being asked for again before the cluster shows what came of it.
type asked struct {
	name      types.NamespacedName
	version   string
	addresses []networkingv1.IngressLoadBalancerIngress
}

// Forget makes the plan look at the cluster only, as after a time in which another
// replica may have written. Nothing that was asked for may still be written.
func (p *Plan) Forget() { clear(p.asked) }

// Wrote notes that a change was carried out.
func (p *Plan) Wrote(c Change) {
	p.prepare()
	if len(c.Addresses) > 0 {
		p.stood[c.UID] = c.Addresses
		return
	}
	// Once: if another deployment writes the same addresses, they are not ours to clear.
	delete(p.stood, c.UID)
}

func (p *Plan) prepare() {
	if p.stood == nil {
		p.stood, p.asked = make(map[types.UID][]networkingv1.IngressLoadBalancerIngress), make(map[types.UID]asked)
	}
}

// Changes are what has to be written, and was not asked for yet. Take back first what
// was asked for under the names in over: there is no need of it any more. They are in no
// order, and one may be the name of a change to another Ingress, which has followed.
func (p *Plan) Changes(v View) (changes []Change, over []types.NamespacedName) {
	p.prepare()
	live := make(map[types.UID]bool, len(v.Live))
	for _, ing := range v.Live {
		live[ing.UID] = true
		c, differs := p.decide(ing, v)
		was, waits := p.asked[ing.UID]
		if !differs {
			if waits {
				over = append(over, was.name)
				delete(p.asked, ing.UID)
			}
			continue
		}
		if waits && was.version == ing.ResourceVersion && same(was.addresses, c.Addresses) {
			continue
		}
		p.asked[ing.UID] = asked{name: c.Name, version: ing.ResourceVersion, addresses: c.Addresses}
		changes = append(changes, c)
	}
	for uid, was := range p.asked {
		if !live[uid] {
			over = append(over, was.name)
			delete(p.asked, uid)
		}
	}
	maps.DeleteFunc(p.stood, func(uid types.UID, _ []networkingv1.IngressLoadBalancerIngress) bool { return !live[uid] })
	return changes, over
}

// decide is what is to stand in the status of an Ingress, and whether that differs from
// what stands there.
func (p *Plan) decide(ing *networkingv1.Ingress, v View) (c Change, differs bool) {
	c = Change{Name: types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}, UID: ing.UID}
	has := ing.Status.LoadBalancer.Ingress
	written := len(has) > 0 && watch.OwnsStatus(ing)
	// One that was handed over a moment ago is served until that is compiled.
	if v.Ours[ing.UID] && claimOf(ing, v.Classes, v.Class) == mine {
		if written {
			p.stood[ing.UID] = has
		}
		c.Addresses = v.Want.List
		return c, v.Want.Known && !same(has, v.Want.List)
	}
	if !written {
		return c, false
	}
	ours := same(has, p.stood[ing.UID])
	if !ours {
		delete(p.stood, ing.UID) // or it would be taken for ours if it came back
	}
	c.Version = ing.ResourceVersion
	return c, Left(ing, v.Classes, v.Class, ours)
}

// Left reports whether what this program wrote into an Ingress that is not served is to be
// taken away. ours tells that it is what this process left there.
func Left(ing *networkingv1.Ingress, classes []*networkingv1.IngressClass, class string, ours bool) bool {
	switch claimOf(ing, classes, class) {
	case foreign:
		return true
	case unclear:
		return ours
	}
	return false
}

func same(a, b []networkingv1.IngressLoadBalancerIngress) bool {
	return len(a) == 0 && len(b) == 0 || equality.Semantic.DeepEqual(a, b)
}
