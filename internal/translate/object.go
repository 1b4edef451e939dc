package translate

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// object is what all objects of the API have in common.
type object[T any] interface {
	*T
	metav1.Object
	// Marshal encodes the object as Protocol Buffers.
	Marshal() ([]byte, error)
}

// byName indexes objects by namespace and name; nil ones are passed over.
func byName[P object[T], T any](list []P) map[types.NamespacedName]P {
	index := make(map[types.NamespacedName]P, len(list))
	for _, o := range list {
		if o == nil {
			continue
		}
		name := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		if other, twice := index[name]; twice && !precedes(o, other) {
			continue
		}
		index[name] = o
	}
	return index
}

// precedes chooses between two objects of one name. An API server has none such, but the
// order of a list must not decide even then. An object that cannot be encoded is as good
// as an empty one.
func precedes[P object[T], T any](a, b P) bool {
	x, _ := a.Marshal()
	y, _ := b.Marshal()
	return bytes.Compare(x, y) < 0
}
