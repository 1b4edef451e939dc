// Package translate turns Kubernetes objects into what a generation is made of: a
// route.Spec, the material of its certificates, and warnings for the owners of the
// objects.
//
// It guarantees:
//
//   - Total. Whatever the objects hold (nil pointers, empty names, values that no API
//     server would accept), there is a result and no panic.
//   - One broken object degrades itself only, and says so: each thing that could not be
//     honoured is a [Warning] with a fixed reason word, on the object of its owner, that
//     says what, where, and what to do.
//   - Deterministic. The same objects in any order give the same result, down to the
//     order of the warnings. Conflicts go to the older object, then to the smaller
//     "namespace/name".
//   - Pure. The objects are never modified, and the result depends on nothing else.
//
// It never knows informers, clients, clocks, loggers, or what becomes of its result.
package translate
