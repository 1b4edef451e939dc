package watch

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
)

// BenchmarkSameIngress compares an Ingress as it was compiled with what the store has
// after its status was written: that is done for each Ingress, again and again.
func BenchmarkSameIngress(b *testing.B) {
	was := slimIngress(ingress())
	is := slimIngress(ingress(func(i *networkingv1.Ingress) { i.ResourceVersion = "11"; i.Annotations[ObservedGeneration] = "7" }))
	if compareIngresses(was, is) != forWriters {
		b.Fatal("they differ")
	}
	for b.Loop() {
		if !SameIngress(was, is) {
			b.Fatal("they differ")
		}
	}
}
