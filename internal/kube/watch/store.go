package watch

import (
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// effect says who reads what has changed.
type effect uint8

const (
	forNobody effect = iota
	// forWriters is a change of what those read who write status; compiling does not.
	forWriters
	// forCompiling is a change of what compiling reads.
	forCompiling
)

// store is the copy of one kind. It takes what a reflector gives it; any number of
// goroutines may read.
type store[T metav1.Object] struct {
	// slim drops what nobody reads. It may change the object.
	slim func(T) T
	// compare says for whom there is a difference between two versions of an object.
	compare func(was, is T) effect
	// changed is called after each change, with no lock held.
	changed func(effect)
	// most is the largest effect that a change here can have. 0 = any.
	most effect

	mu      sync.RWMutex
	objects map[types.NamespacedName]T
	synced  bool // was complete once
}

var _ cache.TransformingStore = (*store[*metav1.PartialObjectMetadata])(nil)

// Transformer lets the reflector slim objects before it collects them.
func (s *store[T]) Transformer() cache.TransformFunc {
	return func(x any) (any, error) {
		if o, ok := x.(T); ok {
			return s.slim(o), nil
		}
		return x, nil
	}
}

// Add takes a new version of an object, known or not.
func (s *store[T]) Add(x any) error { return s.put(x) }

// Update takes a new version of an object, known or not.
func (s *store[T]) Update(x any) error { return s.put(x) }

func (s *store[T]) put(x any) error {
	o, ok := x.(T)
	if !ok {
		return fmt.Errorf("keep a %T among others: not of their kind", x)
	}
	o = s.slim(o)
	s.mu.Lock()
	e := s.replace(s.objects, o)
	s.mu.Unlock()
	s.tell(e)
	return nil
}

// replace puts o into objects, or the version that is known already if it is the same.
// It says for whom there is a difference to what was known.
func (s *store[T]) replace(objects map[types.NamespacedName]T, o T) effect {
	name := nameOf(o)
	was, known := s.objects[name]
	switch {
	case !known:
		objects[name] = o
		return forCompiling
	case was.GetUID() == o.GetUID() && was.GetResourceVersion() == o.GetResourceVersion():
		objects[name] = was
		return forNobody
	}
	objects[name] = o
	if was.GetUID() != o.GetUID() {
		return forCompiling
	}
	return s.compare(was, o)
}

// Delete forgets an object.
func (s *store[T]) Delete(x any) error {
	o, ok := x.(T)
	if !ok {
		return fmt.Errorf("forget a %T among others: not of their kind", x)
	}
	s.mu.Lock()
	_, known := s.objects[nameOf(o)]
	delete(s.objects, nameOf(o))
	s.mu.Unlock()
	if known {
		s.tell(forCompiling)
	}
	return nil
}

// Replace takes the complete list.
func (s *store[T]) Replace(list []any, _ string) error {
	objects := make(map[types.NamespacedName]T, len(list))
	s.mu.Lock()
	most := forNobody
	if !s.synced {
		most = forCompiling
	}
	for _, x := range list {
		o, ok := x.(T)
		if !ok {
			s.mu.Unlock()
			return fmt.Errorf("keep a %T among others: not of their kind", x)
		}
		most = max(most, s.replace(objects, s.slim(o)))
	}
	for name := range s.objects {
		if _, still := objects[name]; !still {
			most = forCompiling
		}
	}
	s.objects, s.synced = objects, true
	s.mu.Unlock()
	s.tell(most)
	return nil
}

// Resync has no meaning here: nothing is lost between the store and its readers.
func (s *store[T]) Resync() error { return nil }

func (s *store[T]) tell(e effect) {
	if s.most != 0 {
		e = min(e, s.most)
	}
	if e != forNobody {
		s.changed(e)
	}
}

// complete reports whether the whole list was there once.
func (s *store[T]) complete() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.synced
}

// get returns one object.
func (s *store[T]) get(name types.NamespacedName) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o, ok := s.objects[name]
	return o, ok
}

// list returns all objects, in no order.
func (s *store[T]) list() []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]T, 0, len(s.objects))
	for _, o := range s.objects {
		all = append(all, o)
	}
	return all
}

func nameOf(o metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
}
