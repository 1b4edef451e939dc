// Package observed answers "is my edit live?": the annotation
// ramjet.dev/observed-generation of an Ingress is the number of the generation that
// first included the Ingress as it is.
//
// Guarantees: an edit costs one patch, however many generations follow from other causes;
// the annotation is written once that generation, or a later one, is on the wire, and not
// while a pin holds it back; it is taken away from an Ingress that is not served any
// more.
//
// Numbers are those of the process that writes, so that after a restart, or when another
// replica leads, they begin anew.
//
// The package never knows who leads, or when there is time to write.
package observed

import (
	"context"
	"encoding/json"
	"maps"
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	client "k8s.io/client-go/kubernetes/typed/networking/v1"

	"ramjet.dev/ingress/internal/kube/watch"
)

// Record remembers which generation first included what. The zero value is ready. It
// belongs to one goroutine.
type Record struct {
	first map[types.UID]included
	gone  map[types.UID]bool // was served by this process, and is not any more
	asked map[types.UID]asked
}

// included is an Ingress as it was compiled, and the first generation that has it so.
type included struct {
	ingress *networkingv1.Ingress
	first   uint64
}

// asked is a value with the version of the Ingress that made it necessary.
type asked struct{ version, value string }

// Compiled notes that the generation includes these Ingresses as they are here, and no
// others.
func (r *Record) Compiled(ours []*networkingv1.Ingress, generation uint64) {
	first := make(map[types.UID]included, len(ours))
	for _, ing := range ours {
		was, known := r.first[ing.UID]
		if !known || was.ingress != ing && !watch.SameIngress(was.ingress, ing) {
			was = included{ingress: ing, first: generation}
		}
		was.ingress = ing
		first[ing.UID] = was
		delete(r.gone, ing.UID)
	}
	if r.gone == nil {
		r.gone = make(map[types.UID]bool)
	}
	for uid := range r.first {
		if _, still := first[uid]; !still {
			r.gone[uid] = true
		}
	}
	r.first = first
}

// First is the generation that first included an Ingress as it is, 0 if none does.
func (r *Record) First(uid types.UID) uint64 { return r.first[uid].first }

// Forget makes the record look at the cluster only, as after a time in which another
// replica may have written.
func (r *Record) Forget() { clear(r.asked) }

// Change is one annotation to be written. It is a value, and may be kept.
type Change struct {
	Name types.NamespacedName
	UID  types.UID
	// Value is the number of a generation; "" takes the annotation away.
	Value string
	// First is that number.
	First uint64
}

// Changes are what has to be written and was not asked for yet. live are all Ingresses as
// they are in the cluster; serving is the generation on the wire; left reports whether an
// Ingress that is not served was so once and is not to be any more, where seen tells that
// this process served it.
func (r *Record) Changes(live []*networkingv1.Ingress, serving uint64, left func(ing *networkingv1.Ingress, seen bool) bool) []Change {
	if r.asked == nil {
		r.asked = make(map[types.UID]asked)
	}
	var changes []Change
	there := make(map[types.UID]bool, len(live))
	for _, ing := range live {
		there[ing.UID] = true
		c, differs := r.decide(ing, serving, left)
		if !differs {
			delete(r.asked, ing.UID)
			continue
		}
		this := asked{version: ing.ResourceVersion, value: c.Value}
		if r.asked[ing.UID] == this {
			continue
		}
		r.asked[ing.UID] = this
		changes = append(changes, c)
	}
	maps.DeleteFunc(r.asked, func(uid types.UID, _ asked) bool { return !there[uid] })
	maps.DeleteFunc(r.gone, func(uid types.UID, _ bool) bool { return !there[uid] })
	return changes
}

func (r *Record) decide(ing *networkingv1.Ingress, serving uint64, left func(ing *networkingv1.Ingress, seen bool) bool) (c Change, differs bool) {
	c = Change{Name: types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}, UID: ing.UID}
	has, annotated := ing.Annotations[watch.ObservedGeneration]
	was, served := r.first[ing.UID]
	switch {
	case !served:
		return c, annotated && left(ing, r.gone[ing.UID])
	case !watch.SameIngress(was.ingress, ing), was.first > serving:
		return c, false // what is there now is not compiled yet, or not on the wire
	}
	c.First, c.Value = was.first, strconv.FormatUint(was.first, 10)
	return c, has != c.Value
}

// Write carries a change out with one merge patch. An Ingress of that name that is
// another one by now is left alone: its UID does not fit.
func Write(ctx context.Context, c client.IngressesGetter, change Change) error {
	var value any // null takes it away
	if change.Value != "" {
		value = change.Value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": change.UID, "annotations": map[string]any{watch.ObservedGeneration: value},
	}})
	if err != nil {
		return err
	}
	_, err = c.Ingresses(change.Name.Namespace).Patch(ctx, change.Name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: watch.FieldManager})
	return err
}
