package translate

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// byName indexes objects by namespace and name; nil ones are passed over.
func byName[P interface {
	*T
	metav1.Object
}, T any](list []P) map[types.NamespacedName]P {
	index := make(map[types.NamespacedName]P, len(list))
	for _, object := range list {
		if object == nil {
			continue
		}
		name := types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}
		if other, twice := index[name]; twice && !precedes(object, other) {
			continue
		}
		index[name] = object
	}
	return index
}

// precedes chooses between two objects of one name. An API server has none such, but the
// order of a list must not decide even then. A value that cannot be encoded is as good as
// an empty one.
func precedes(a, b metav1.Object) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Compare(x, y) < 0
}
