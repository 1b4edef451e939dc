package translate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The objects of these tests are filled at random: nil pointers, numbers out of range,
// and strings that are sometimes what belongs there and sometimes anything else.

var garbageStrings = []string{
	"", " ", "prod", "web", "shop", "other", "80", "http", "ramjet", "true", "TRUE ", "false", "20", "-1", "１０",
	"shop.test", "*.shop.test", "a.shop.test", "*", "SHOP.test.", "a.test:80", "/", "/a", "/a/", "/%41", "/%zz", "/../x", "/(", "/a?b",
	"Exact", "Prefix", "ImplementationSpecific", "TCP", "UDP", "ExternalName", "IPv4", "FQDN", ControllerName,
	"kubernetes.io/tls", "shop-tls", "tls.crt", "tls.key", "prod/web:80", "web:80", "web:http", "/:", "a/b/c:d",
	"10.0.0.1", "2001:db8::1", "fe80::1%eth0", "::ffff:10.0.0.1", "300.0.0.1", "localhost", "GRPC", "HTTPS",
	"x\r\ny: z", "a\x00b", "\xff\xfe\xfd", "{{ . }}", "; return 200;", "é\u2028\u202e", "\x1b[31m", `"quoted"`,
	strings.Repeat("k", 300), strings.Repeat("\xc3", 5000), strings.Repeat("long ", 20000), "(?!x)", "a{1000}{1000}",
	classAnnotation, networkingv1.AnnotationIsDefaultIngressClass, discoveryv1.LabelServiceName,
	nginxPrefix, ownPrefix, nginxPrefix + "rewrite-target", ownPrefix + "mirorr-backend", nginxPrefix + "\xff",
}

var garbageNumbers = []int64{0, 1, 80, 8080, 65535, 65536, -1, math.MaxInt32, math.MinInt32}

// garbage fills values from a source of random numbers.
type garbage struct{ *rand.Rand }

func (g garbage) text() string {
	if g.IntN(3) == 0 {
		return rows[g.IntN(len(rows))].key
	}
	return garbageStrings[g.IntN(len(garbageStrings))]
}

// likely is a name that other objects are likely to have too.
func (g garbage) likely() string {
	return []string{"prod", "web", "shop", "ramjet", "shop-tls", ""}[g.IntN(6)]
}

func (g garbage) fill(v reflect.Value, depth int) {
	if depth > 14 {
		return
	}
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.Time{Time: time.Unix(int64(g.IntN(5))*1e9-2e9, 0)}))
		return
	case metav1.ObjectMeta:
		v.Set(reflect.ValueOf(metav1.ObjectMeta{Namespace: g.likely(), Name: g.likely()}))
		for _, field := range []string{"Annotations", "Labels", "CreationTimestamp", "UID"} {
			g.fill(v.FieldByName(field), depth+1)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if g.IntN(5) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				g.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), g.IntN(4), 4))
		for i := range v.Len() {
			g.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range g.IntN(6) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			g.fill(key, depth+1)
			g.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(g.text())
		if g.IntN(3) == 0 {
			v.SetString(g.likely())
		}
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(garbageNumbers[g.IntN(len(garbageNumbers))])
	case reflect.Uint8:
		v.SetUint(uint64(g.IntN(256)))
	}
}

func garbageList[T any](g garbage) (list []*T) {
	for range g.IntN(8) {
		object := new(T)
		g.fill(reflect.ValueOf(object).Elem(), 0)
		list = append(list, object, nil)
	}
	return list
}

// garbageInputs makes a snapshot. Most Ingresses are made ours, or little would happen.
func garbageInputs(seed uint64) inputs {
	g := garbage{rand.New(rand.NewPCG(seed, 1))}
	var in inputs
	in.snapshot = Snapshot{
		Ingresses: garbageList[networkingv1.Ingress](g), Classes: garbageList[networkingv1.IngressClass](g),
		Services: garbageList[corev1.Service](g), Slices: garbageList[discoveryv1.EndpointSlice](g),
		Secrets: garbageList[corev1.Secret](g),
	}
	for _, ing := range in.snapshot.Ingresses {
		if ing != nil && g.IntN(4) > 0 {
			if ing.Annotations == nil {
				ing.Annotations = map[string]string{}
			}
			ing.Annotations[classAnnotation] = "ramjet"
		}
	}
	in.options = Options{Class: "ramjet"}
	if g.IntN(2) == 0 {
		g.fill(reflect.ValueOf(&in.options.DefaultBackend).Elem(), 0)
		g.fill(reflect.ValueOf(&in.options.DefaultTLSSecret).Elem(), 0)
	}
	return in
}

// checkGarbage wants a result of a snapshot, whatever is in it: the same in any order,
// without a trace in the objects, and with warnings that fit a line and an Event.
func checkGarbage(t *testing.T, seed uint64) {
	t.Helper()
	in := garbageInputs(seed)
	before := in.snapshot.clone()
	got := in.compile(Translate)
	if !reflect.DeepEqual(before, in.snapshot) {
		t.Fatalf("seed %d: the objects are not as they were", seed)
	}
	got.checkFound(t)
	for _, w := range got.warnings {
		if w.Object.Kind == "" || w.Reason == "" || w.Message == "" || len(w.Message) > maxMessage ||
			!utf8.ValidString(w.Message) || strings.ContainsFunc(w.Message, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("seed %d: warning %q", seed, w)
		}
	}
	in.snapshot.shuffle(rand.New(rand.NewPCG(seed, 2)))
	again := in.compile(Translate)
	if !reflect.DeepEqual(again.Spec, got.Spec) || again.table.Digest() != got.table.Digest() || !reflect.DeepEqual(again.warnings, got.warnings) {
		t.Fatalf("seed %d: another order gives another result", seed)
	}
}

func TestGarbage(t *testing.T) {
	for seed := range uint64(300) {
		checkGarbage(t, seed)
	}
}

func FuzzGarbage(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkGarbage(t, seed) })
}
