package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/route"
)

// Translator translates one snapshot after another and remembers what it read, so that a
// change costs about as much as what changed. Its results are those of [Translate]: an
// object is recognised by its pointer, and objects do not change. The zero value is ready.
// It is for one goroutine at a time; its results may be used by any.
type Translator struct {
	options   Options
	last      Translation
	services  *services // nil before the first translation
	ingresses seen[networkingv1.Ingress]
	classes   seen[networkingv1.IngressClass]
	objects   seen[corev1.Service]
	secrets   seen[corev1.Secret]
	unread    bool // Snapshot.SecretsUnread
	slices    seen[discoveryv1.EndpointSlice]

	plans map[*networkingv1.Ingress]*plan
	pairs map[*corev1.Secret]pair
}

// Translate translates a snapshot.
func (r *Translator) Translate(s Snapshot, o Options) Translation {
	same := r.services != nil && r.objects.same(s.Services)
	if !same {
		r.services = newServices(s.Services, s.Slices)
	} else {
		moved := r.moveSlices(s.Slices)
		if r.options == o && r.unread == s.SecretsUnread && r.ingresses.same(s.Ingresses) && r.classes.same(s.Classes) && r.secrets.same(s.Secrets) {
			if t, ok := r.moveEndpoints(moved); ok {
				r.last = t
				r.slices.note(s.Slices)
				return t
			}
		}
		r.services.renew(moved)
	}
	t := newTranslation(s, o, r)
	r.last = t.run(s)
	r.note(s, o, t)
	return r.last
}

// note remembers what was translated, and what was read on the way.
func (r *Translator) note(s Snapshot, o Options, t *translation) {
	r.options, r.unread = o, s.SecretsUnread
	r.ingresses.note(s.Ingresses)
	r.classes.note(s.Classes)
	r.objects.note(s.Services)
	r.secrets.note(s.Secrets)
	r.slices.note(s.Slices)
	r.plans = make(map[*networkingv1.Ingress]*plan, len(t.plans))
	for _, p := range t.plans {
		r.plans[p.object] = p
	}
	r.pairs = t.secrets.pairs
}

// moveSlices gives the Services their slices where these are not those of the last
// snapshot. It returns those Services with their slices.
func (r *Translator) moveSlices(list []*discoveryv1.EndpointSlice) map[types.NamespacedName][]*discoveryv1.EndpointSlice {
	moved := r.changed(list)
	if len(moved) == 0 {
		return moved
	}
	for _, slice := range list {
		if slice == nil {
			continue
		}
		if of, is := moved[ownerOf(slice)]; is {
			moved[ownerOf(slice)] = append(of, slice)
		}
	}
	for owner, of := range moved {
		if svc := r.services.byName[owner]; svc != nil {
			svc.slices = of
		}
	}
	return moved
}

// moveEndpoints makes the last translation that of other slices, when nothing but slices
// has changed: of all that a slice says, endpoints come out in the Spec, and addresses
// that are none in warnings. ok is false when there is more to do than to replace
// endpoints.
func (r *Translator) moveEndpoints(moved map[types.NamespacedName][]*discoveryv1.EndpointSlice) (t Translation, ok bool) {
	t = r.last
	if len(moved) == 0 {
		return t, true
	}
	t.Spec.Backends = slices.Clone(t.Spec.Backends)
	for owner, of := range moved {
		svc := r.services.byName[owner]
		if svc == nil {
			continue
		}
		for _, a := range svc.answers {
			if !a.backend.move(of, t.Spec.Backends) {
				return Translation{}, false
			}
		}
	}
	return t, true
}

// changed returns the Services whose slices are not those of the last snapshot, each with
// an empty list.
func (r *Translator) changed(list []*discoveryv1.EndpointSlice) map[types.NamespacedName][]*discoveryv1.EndpointSlice {
	dirty := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	left, strangers := r.slices.compare(list)
	for _, slice := range strangers {
		dirty[ownerOf(slice)] = nil
	}
	if left == 0 {
		return dirty
	}
	for slice, round := range r.slices.rounds {
		if round != r.slices.round {
			dirty[ownerOf(slice)] = nil
		}
	}
	return dirty
}

// move gives a backend the endpoints of other slices. It returns false if there would be
// something else to say about them.
func (b *backend) move(of []*discoveryv1.EndpointSlice, specs []route.BackendSpec) bool {
	if b.fault != "" {
		return true
	}
	found, unusable := endpoints(of, b.slicePort)
	if unusable != b.unusable {
		return false
	}
	b.endpoints = found
	at, used := slices.BinarySearchFunc(specs, b.name, func(s route.BackendSpec, name string) int { return strings.Compare(s.Name, name) })
	if used {
		specs[at].Endpoints = found
	}
	return true
}

// seen remembers which objects a list had.
type seen[T any] struct {
	rounds map[*T]int // the round in which the object was last met
	round  int
}

// note remembers a list.
func (s *seen[T]) note(list []*T) {
	s.rounds, s.round = make(map[*T]int, len(list)), 0
	for _, object := range list {
		if object != nil {
			s.rounds[object] = 0
		}
	}
}

// same reports whether a list has exactly the objects that were noted.
func (s *seen[T]) same(list []*T) bool {
	left, strangers := s.compare(list)
	return left == 0 && len(strangers) == 0
}

// compare counts the noted objects that a list does not have, and returns those that it
// has beside them.
func (s *seen[T]) compare(list []*T) (left int, strangers []*T) {
	s.round++
	left = len(s.rounds)
	for _, object := range list {
		if object == nil {
			continue
		}
		round, known := s.rounds[object]
		switch {
		case !known:
			strangers = append(strangers, object)
		case round != s.round:
			s.rounds[object] = s.round
			left--
		}
	}
	return left, strangers
}
