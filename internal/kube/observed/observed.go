// Package observed answers "is my edit live?": the annotation
// ramjet.dev/observed-generation of an Ingress is the number of the generation that
// first included the Ingress as it is.
//
// Guarantees: an edit costs one patch, however many generations follow from other causes;
// the annotation is written once that generation, or a later one, is on the wire, and not
// while a pin holds it back, nor to an Ingress that has been edited again; it is taken away
// from an Ingress that is not served any more, unless another deployment of this program
// has written its own.
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
// belongs to one goroutine at a time.
type Record struct {
	first map[types.UID]included
	// stood is the annotation of an Ingress when this process last served it, or wrote it:
	// what it may take away again. Only who writes remembers it.
	stood map[types.UID]string
	asked map[types.UID]Change // until the cluster shows another version
}

// included is an Ingress as it was compiled, and the first generation that has it so.
type included struct {
	ingress *networkingv1.Ingress
	first   uint64
}

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
	}
	r.first = first
}

// First is the generation that first included an Ingress as it is, 0 if none does.
func (r *Record) First(uid types.UID) uint64 { return r.first[uid].first }

// Forget makes the record look at the cluster only, as after a time in which another
// replica may have written. Nothing that was asked for may still be written.
func (r *Record) Forget() { clear(r.asked) }

// Wrote notes that a change was carried out.
func (r *Record) Wrote(c Change) {
	r.prepare()
	if c.Value != "" {
		r.stood[c.UID] = c.Value
		return
	}
	// Once: if another deployment writes the same number, it is not ours to take away.
	delete(r.stood, c.UID)
}

func (r *Record) prepare() {
	if r.asked == nil {
		r.stood, r.asked = make(map[types.UID]string), make(map[types.UID]Change)
	}
}

// Change is one annotation to be written. It is a value, and may be kept.
type Change struct {
	Name types.NamespacedName
	UID  types.UID
	// Version is the only one of the Ingress that this is right for: of another it is not
	// known whether it is served.
	Version string
	// Value is the number of a generation; "" takes the annotation away.
	Value string
	// First is that number.
	First uint64
}

// Same reports whether two changes come to the same, whichever version they are for.
func (c Change) Same(o Change) bool {
	c.Version = o.Version
	return c == o
}

// Left reports whether the annotation of an Ingress that is not served is to be taken
// away. ours tells that it is what this process left there.
type Left func(ing *networkingv1.Ingress, ours bool) bool

// Changes are what has to be written and was not asked for yet. live are all Ingresses as
// they are in the cluster; serving is the generation on the wire. Take back first what was
// asked for under the names in over: it is not right any more. They are in no order, and
// one may be the name of a change to another Ingress, which has followed.
func (r *Record) Changes(live []*networkingv1.Ingress, serving uint64, left Left) (changes []Change, over []types.NamespacedName) {
	r.prepare()
	there := make(map[types.UID]bool, len(live))
	for _, ing := range live {
		there[ing.UID] = true
		c, differs := r.decide(ing, serving, left)
		was, waits := r.asked[ing.UID]
		switch {
		case differs && c != was:
			r.asked[ing.UID] = c
			changes = append(changes, c)
		case !differs && waits:
			delete(r.asked, ing.UID)
			over = append(over, was.Name)
		}
	}
	for uid, was := range r.asked {
		if !there[uid] {
			delete(r.asked, uid)
			over = append(over, was.Name)
		}
	}
	maps.DeleteFunc(r.stood, func(uid types.UID, _ string) bool { return !there[uid] })
	return changes, over
}

func (r *Record) decide(ing *networkingv1.Ingress, serving uint64, left Left) (c Change, differs bool) {
	c = Change{Name: types.NamespacedName{Namespace: ing.Namespace, Name: ing.Name}, UID: ing.UID, Version: ing.ResourceVersion}
	has, annotated := ing.Annotations[watch.ObservedGeneration]
	was, served := r.first[ing.UID]
	if !served {
		return c, annotated && left(ing, r.left(ing.UID, has))
	}
	if !watch.SameIngress(was.ingress, ing) {
		return c, false // what is there now is not compiled yet, and may be another's by now
	}
	if annotated {
		r.stood[ing.UID] = has
	}
	if was.first > serving {
		return c, false // not on the wire
	}
	c.First, c.Value = was.first, strconv.FormatUint(was.first, 10)
	return c, has != c.Value
}

// left reports whether the annotation of an Ingress that is not served is what this process
// left there. If it is not, somebody else has written it, and from then on it is theirs.
func (r *Record) left(uid types.UID, has string) bool {
	if stood, ok := r.stood[uid]; ok && stood == has {
		return true
	}
	delete(r.stood, uid)
	return false
}

// Write carries a change out with one merge patch. An Ingress of that name that is
// another one by now, or of another version, is left alone: neither UID nor version fit.
func Write(ctx context.Context, c client.IngressesGetter, change Change) error {
	var value any // null takes it away
	if change.Value != "" {
		value = change.Value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": change.UID, "resourceVersion": change.Version, "annotations": map[string]any{watch.ObservedGeneration: value},
	}})
	if err != nil {
		return err
	}
	_, err = c.Ingresses(change.Name.Namespace).Patch(ctx, change.Name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: watch.FieldManager})
	return err
}
