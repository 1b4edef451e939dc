package translate

import (
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestTranslatorIsTranslate takes one Translator through random changes of the objects of
// all cases, and of garbage, and compares every result with a fresh translation.
func TestTranslatorIsTranslate(t *testing.T) {
	issuer := newIssuer(t)
	var pool []inputs
	for _, dir := range folders(t) {
		pool = append(pool, issuer.load(t, filepath.Join(dir, "input.yaml")))
	}
	for seed := range uint64(50) {
		pool = append(pool, garbageInputs(seed))
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var translator Translator
	var in inputs
	for step := range 2000 {
		change := mutate(rng, &in, pool)
		in.snapshot.shuffle(rng)
		got := in.compile(translator.Translate)
		want := in.compile(Translate)
		if diff := differ(got, want); diff != "" {
			t.Fatalf("step %d, %s: %s differs: got\n%s\nwant\n%s", step, change, diff, in.describe(got), in.describe(want))
		}
	}
}

// differ names the part in which two results differ.
func differ(got, want compiled) string {
	switch {
	case !reflect.DeepEqual(got.Spec, want.Spec):
		return "Spec"
	case !reflect.DeepEqual(got.Certs, want.Certs):
		return "Certs"
	case !reflect.DeepEqual(got.Ours, want.Ours):
		return "Ours"
	case !reflect.DeepEqual(got.Promotions, want.Promotions):
		return "Promotions"
	case !reflect.DeepEqual(got.Warnings, want.Warnings) || !reflect.DeepEqual(got.warnings, want.warnings):
		return "Warnings"
	}
	return ""
}

// mutate changes a snapshot as a watch would: objects come, go and are replaced by copies
// that differ. The lists are new, the objects are not modified.
func mutate(rng *rand.Rand, in *inputs, pool []inputs) string {
	s := &in.snapshot
	other := &pool[rng.IntN(len(pool))]
	switch rng.IntN(15) {
	case 0:
		*in = *other
		s.Ingresses, s.Services, s.Slices = clip(s.Ingresses), clip(s.Services), clip(s.Slices)
		s.Classes, s.Secrets = clip(s.Classes), clip(s.Secrets)
		return "another case"
	case 1:
		s.Ingresses = append(clip(s.Ingresses), other.snapshot.Ingresses...)
		s.Secrets = append(clip(s.Secrets), other.snapshot.Secrets...)
		return "more Ingresses and Secrets"
	case 2:
		s.Services = append(clip(s.Services), other.snapshot.Services...)
		return "more Services"
	case 3:
		in.options = other.options
		return "other options"
	case 4:
		s.Ingresses = without(rng, s.Ingresses)
		s.Secrets = without(rng, s.Secrets)
		return "fewer Ingresses and Secrets"
	case 5:
		s.Services, s.Classes = without(rng, s.Services), without(rng, s.Classes)
		return "fewer Services and classes"
	case 6:
		s.Ingresses = replaced(rng, s.Ingresses, func(ing *networkingv1.Ingress) { ing.Annotations = map[string]string{keyProtocol: "GRPC"} })
		return "another Ingress"
	case 7:
		return "nothing"
	case 10:
		s.Secrets = replaced(rng, s.Secrets, func(secret *corev1.Secret) { secret.Data[corev1.TLSCertKey] = []byte("garbled") })
		return "another Secret"
	case 11:
		s.Secrets = without(rng, s.Secrets)
		return "fewer Secrets"
	case 12:
		s.SecretsUnread = !s.SecretsUnread
		return "Secrets read or not"
	case 8:
		s.Slices = without(rng, s.Slices)
		return "fewer slices"
	case 9:
		s.Slices = append(clip(s.Slices), other.snapshot.Slices...)
		return "more slices"
	default:
		s.Slices = replaced(rng, s.Slices, func(slice *discoveryv1.EndpointSlice) {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{garbageStrings[rng.IntN(len(garbageStrings))], "10.8.8.8"}})
		})
		return "other endpoints"
	}
}

func clip[T any](list []T) []T { return append([]T(nil), list...) }

// without leaves out an element at random.
func without[T any](rng *rand.Rand, list []T) (fewer []T) {
	if len(list) == 0 {
		return nil
	}
	at := rng.IntN(len(list))
	return append(clip(list[:at]), list[at+1:]...)
}

// replaced changes a copy of an element at random.
func replaced[T any, P interface {
	*T
	DeepCopy() P
}](rng *rand.Rand, list []P, change func(P)) []P {
	if len(list) == 0 {
		return nil
	}
	list = clip(list)
	at := rng.IntN(len(list))
	if list[at] != nil {
		list[at] = list[at].DeepCopy()
		change(list[at])
	}
	return list
}

// TestResultsOfATranslatorDoNotChange keeps an old result beside a newer one.
func TestResultsOfATranslatorDoNotChange(t *testing.T) {
	issuer := newIssuer(t)
	in := issuer.load(t, "testdata/endpoints-change/input.yaml")
	var translator Translator
	first := translator.Translate(in.snapshot, in.options)
	want := Translate(in.snapshot, in.options)
	in.snapshot.Slices = []*discoveryv1.EndpointSlice{in.snapshot.Slices[0].DeepCopy()}
	in.snapshot.Slices[0].Endpoints = nil
	second := translator.Translate(in.snapshot, in.options)
	if !reflect.DeepEqual(first.Spec, want.Spec) {
		t.Error("the first result changed with the second")
	}
	if len(second.Spec.Backends[0].Endpoints) != 0 {
		t.Errorf("the second result still has %v", second.Spec.Backends[0].Endpoints)
	}
	if &second.Spec.Routes[0] != &first.Spec.Routes[0] {
		t.Error("a change of endpoints made new routes")
	}
}

// TestABrokenObjectDegradesItselfOnly puts a sound Ingress of another namespace beside
// every case, and beside garbage: its route is there, and nothing is said about it.
func TestABrokenObjectDegradesItselfOnly(t *testing.T) {
	issuer := newIssuer(t)
	bystander := issuer.load(t, "testdata/tls/input.yaml").snapshot
	for _, ing := range bystander.Ingresses {
		ing.Namespace, ing.Name = "bystander", "bystander"
		ing.Spec.Rules[0].Host, ing.Spec.TLS[0].Hosts = "bystander.test", []string{"bystander.test"}
		ing.CreationTimestamp.Reset()
		ing.Spec.IngressClassName, ing.Annotations = nil, map[string]string{classAnnotation: "ramjet"}
	}
	for i := range bystander.Services {
		bystander.Services[i].Namespace, bystander.Slices[i].Namespace = "bystander", "bystander"
	}
	bystander.Secrets[0].Namespace = "bystander"
	check := func(name string, in inputs) {
		in.options.Class = "ramjet"
		in.snapshot.Ingresses = append(in.snapshot.Ingresses, bystander.Ingresses...)
		in.snapshot.Services = append(in.snapshot.Services, bystander.Services...)
		in.snapshot.Slices = append(in.snapshot.Slices, bystander.Slices...)
		in.snapshot.Secrets = append(in.snapshot.Secrets, bystander.Secrets...)
		got := in.compile(Translate)
		r := got.table.Match("bystander.test", "/x")
		if r == nil || r.String() != "bystander.test / -> bystander/web:80" || len(r.Backend.Endpoints) != 1 {
			t.Errorf("%s: the bystander's route is %v", name, r)
		}
		if id, _ := got.table.Certificate("bystander.test"); got.certs.Get(id) == nil {
			t.Errorf("%s: the bystander has no certificate", name)
		}
		for _, w := range got.warnings {
			if w.Object.Namespace == "bystander" {
				t.Errorf("%s: %s", name, w)
			}
		}
	}
	for _, dir := range folders(t) {
		check(dir, issuer.load(t, filepath.Join(dir, "input.yaml")))
	}
	for seed := range uint64(500) {
		check("garbage", garbageInputs(seed))
	}
}
