package watch

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
)

// named is an Ingress of a name at a version, with a host.
func named(name, uid, version, host string) *networkingv1.Ingress {
	return ingress(func(i *networkingv1.Ingress) {
		i.Name, i.UID, i.ResourceVersion = name, types.UID(uid), version
		i.Spec.Rules[0].Host = host
	})
}

// TestStore runs through the life of a store. After each step it says who was told, and
// what is in it.
func TestStore(t *testing.T) {
	var told []string
	s := &store[*networkingv1.Ingress]{
		slim: slimIngress, compare: compareIngresses, objects: map[types.NamespacedName]*networkingv1.Ingress{},
		changed: func(e effect) { told = append(told, []string{"nobody", "writers", "compiling"}[e]) },
	}
	list := func(all ...*networkingv1.Ingress) error {
		var anys []any
		for _, i := range all {
			anys = append(anys, i)
		}
		return s.Replace(anys, "")
	}
	for _, step := range []struct {
		intent string
		do     func() error
		want   string
	}{
		{"an empty list is complete, and news", func() error { return list() }, "compiling:"},
		{"the same again is none", func() error { return list() }, ":"},
		{"a new one", func() error { return s.Add(named("a", "1", "1", "x")) }, "compiling: a@1=x"},
		{"its status", func() error { return s.Update(named("a", "1", "2", "x")) }, "writers: a@2=x"},
		{"its spec", func() error { return s.Update(named("a", "1", "3", "y")) }, "compiling: a@3=y"},
		{"the same version once more", func() error { return s.Update(named("a", "1", "3", "y")) }, ": a@3=y"},
		{"a list with the same", func() error { return list(named("a", "1", "3", "y")) }, ": a@3=y"},
		{"a list with a new version of no effect", func() error { return list(named("a", "1", "4", "y")) }, "writers: a@4=y"},
		{"another object of that name", func() error { return list(named("a", "2", "5", "y")) }, "compiling: a@5=y"},
		{"one more and one less", func() error { return list(named("b", "3", "6", "z")) }, "compiling: b@6=z"},
		{"gone", func() error { return s.Delete(named("b", "3", "7", "z")) }, "compiling:"},
		{"gone already", func() error { return s.Delete(named("b", "3", "7", "z")) }, ":"},
	} {
		told = nil
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, i := range s.list() {
			all = append(all, fmt.Sprintf(" %s@%s=%s", i.Name, i.ResourceVersion, i.Spec.Rules[0].Host))
		}
		slices.Sort(all)
		if got := strings.Join(told, ",") + ":" + strings.Join(all, ""); got != step.want {
			t.Errorf("%s: got %q, want %q", step.intent, got, step.want)
		}
	}
	if !s.complete() {
		t.Error("not complete after lists")
	}
}

// An object that did not change keeps its address, also through a new list: whoever
// remembers what came of it can tell by that.
func TestStoreKeepsObjects(t *testing.T) {
	s := &store[*networkingv1.Ingress]{slim: slimIngress, compare: compareIngresses, objects: map[types.NamespacedName]*networkingv1.Ingress{}, changed: func(effect) {}}
	if err := s.Add(named("a", "1", "1", "x")); err != nil {
		t.Fatal(err)
	}
	was, _ := s.get(types.NamespacedName{Namespace: "prod", Name: "a"})
	if err := s.Replace([]any{named("a", "1", "1", "x")}, ""); err != nil {
		t.Fatal(err)
	}
	if is, _ := s.get(types.NamespacedName{Namespace: "prod", Name: "a"}); is != was {
		t.Error("another address")
	}
	if err := s.Add("no Ingress"); err == nil {
		t.Error("what is no Ingress was taken for one")
	}
}
