package translate

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"ramjet.dev/ingress/internal/certs"
	"ramjet.dev/ingress/internal/certs/certtest"
	"ramjet.dev/ingress/internal/route"
)

var update = flag.Bool("update", false, "rewrite the want.txt of every case; read the difference before you commit it")

// A case is a folder of testdata. input.yaml has manifests; its first line says which
// rule or case it pins, and one of its documents may be a scenario. next.yaml is what
// they are afterwards. want.txt is the result.

// scenario is the document of a case that is no manifest: the flags, and what to ask the
// result.
type scenario struct {
	Class            string
	DefaultBackend   string
	DefaultTLSSecret string
	// NoClass leaves out the IngressClass ramjet, which every case has otherwise.
	NoClass bool
	// Requests are host and path; Handshakes are server names.
	Requests, Handshakes []string
}

// document is one of a case's YAML documents.
type document struct {
	Kind     string
	Scenario *scenario
}

// inputs is what a file of a case says.
type inputs struct {
	snapshot Snapshot
	options  Options
	scenario scenario
}

// issuer makes the certificates of the cases: in the contents of a Secret the lines
// "certificate of NAME" and "key of NAME" stand for a pair.
type issuer struct {
	authority *certtest.Authority
	pairs     map[string][2][]byte
}

var pairOf = regexp.MustCompile(`(?m)^(certificate|key) of (\S+)$`)

func newIssuer(t testing.TB) *issuer {
	return &issuer{authority: certtest.NewAuthority(t), pairs: map[string][2][]byte{}}
}

func (i *issuer) fill(t testing.TB, s *corev1.Secret) {
	s.Data = map[string][]byte{}
	for key, text := range s.StringData {
		s.Data[key] = pairOf.ReplaceAllFunc([]byte(text), func(line []byte) []byte {
			m := pairOf.FindSubmatch(line)
			pair := i.pair(t, string(m[2]))
			if string(m[1]) == "key" {
				return pair[1]
			}
			return pair[0]
		})
	}
	s.StringData = nil
}

func (i *issuer) pair(t testing.TB, name string) [2][]byte {
	pair, ok := i.pairs[name]
	if !ok {
		pair[0], pair[1] = i.authority.Pair(t, name)
		i.pairs[name] = pair
	}
	return pair
}

// load reads a file of a case.
func (i *issuer) load(t testing.TB, file string) inputs {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(text, []byte("# ")) {
		t.Errorf("%s: the first line does not say what the case pins", file)
	}
	in := inputs{scenario: scenario{Class: "ramjet"}}
	for _, part := range bytes.Split(text, []byte("\n---\n")) {
		i.addDocument(t, file, part, &in)
	}
	if !in.scenario.NoClass {
		in.snapshot.Classes = append(in.snapshot.Classes, &networkingv1.IngressClass{Spec: networkingv1.IngressClassSpec{Controller: ControllerName}})
		in.snapshot.Classes[len(in.snapshot.Classes)-1].Name = "ramjet"
	}
	in.options.Class = in.scenario.Class
	if s := in.scenario.DefaultBackend; s != "" {
		if in.options.DefaultBackend, err = ParseBackendRef(s); err != nil {
			t.Fatalf("%s: %q %v", file, s, err)
		}
	}
	if s := in.scenario.DefaultTLSSecret; s != "" {
		if in.options.DefaultTLSSecret, err = ParseNamespacedName(s); err != nil {
			t.Fatalf("%s: %q %v", file, s, err)
		}
	}
	return in
}

func (i *issuer) addDocument(t testing.TB, file string, text []byte, in *inputs) {
	t.Helper()
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	switch d.Kind {
	case "Ingress":
		in.snapshot.Ingresses = append(in.snapshot.Ingresses, decode[networkingv1.Ingress](t, file, text))
	case "IngressClass":
		in.snapshot.Classes = append(in.snapshot.Classes, decode[networkingv1.IngressClass](t, file, text))
	case "Service":
		in.snapshot.Services = append(in.snapshot.Services, decode[corev1.Service](t, file, text))
	case "EndpointSlice":
		in.snapshot.Slices = append(in.snapshot.Slices, decode[discoveryv1.EndpointSlice](t, file, text))
	case "Secret":
		s := decode[corev1.Secret](t, file, text)
		i.fill(t, s)
		in.snapshot.Secrets = append(in.snapshot.Secrets, s)
	default:
		d := document{Scenario: &in.scenario}
		if err := yaml.UnmarshalStrict(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func decode[T any](t testing.TB, file string, text []byte) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return object
}

// compiled is all that becomes of a snapshot.
type compiled struct {
	Translation
	table    *route.Table
	found    []route.Diagnostic
	certs    *certs.Set
	warnings []Warning
}

func (in *inputs) compile(translate func(Snapshot, Options) Translation) compiled {
	c := compiled{Translation: translate(in.snapshot, in.options)}
	c.table, c.found = route.Compile(c.Spec)
	var problems []certs.Problem
	c.certs, _, problems = certs.Build(c.Certs)
	c.warnings = c.Explain(c.found, problems)
	return c
}

// checkFound wants compiling to find nothing that translating should have settled.
func (c *compiled) checkFound(t *testing.T) {
	t.Helper()
	for _, d := range c.found {
		t.Errorf("compiling found what translating should have settled: %s", d)
	}
}

// describe writes a result down. Certificates have the names of their Secrets in place of
// their identities, which differ from run to run.
func (in *inputs) describe(c compiled) string {
	var b strings.Builder
	fmt.Fprintf(&b, "table\n%s", indent(named(c.table.Text(), c.Certs)))
	for _, r := range in.scenario.Requests {
		host, path, _ := strings.Cut(r, "/")
		answer := "404"
		if m := c.table.Match(host, "/"+path); m != nil {
			answer = m.String() + " (" + m.PathType.String() + ")"
		}
		fmt.Fprintf(&b, "request %s: %s\n", r, answer)
	}
	for _, name := range in.scenario.Handshakes {
		answer := "unrecognized_name"
		if id, ok := c.table.Certificate(name); ok {
			answer = named(id.String(), c.Certs)
			if c.certs.Get(id) == nil {
				answer += ", which is unusable: unrecognized_name"
			}
		}
		fmt.Fprintf(&b, "handshake %s: %s\n", name, answer)
	}
	for _, ing := range c.Ours {
		fmt.Fprintf(&b, "ours %s/%s\n", ing.Namespace, ing.Name)
	}
	for _, p := range c.Promotions {
		fmt.Fprintf(&b, "promotion %s weight %d/%d %+v on %d routes\n", p.Ingress, p.Weight, p.WeightTotal, p.Policy, len(p.Routes))
	}
	for _, w := range c.warnings {
		fmt.Fprintf(&b, "warning %s\n", w)
	}
	return b.String()
}

func named(text string, material []certs.Material) string {
	for _, m := range material {
		text = strings.ReplaceAll(text, m.ID().String(), "["+m.String()+"]")
	}
	return text
}

func indent(text string) string {
	return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(text, "  $1")
}

// folders are the cases.
func folders(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*")
	if err != nil || len(all) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	return all
}

func TestCases(t *testing.T) {
	issuer := newIssuer(t)
	for _, dir := range folders(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			checkFiles(t, dir)
			in := issuer.load(t, filepath.Join(dir, "input.yaml"))
			first := in.compile(Translate)
			first.checkFound(t)
			got := in.describe(first)
			if next := filepath.Join(dir, "next.yaml"); exists(next) {
				in := issuer.load(t, next)
				second := in.compile(Translate)
				got += "next\n" + indent(in.describe(second)) + "diff " + describeDiff(route.Compare(first.table, second.table))
			}
			want := filepath.Join(dir, "want.txt")
			if *update {
				if err := os.WriteFile(want, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			text, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(text) {
				t.Errorf("got\n%s\nwant\n%s", got, text)
			}
		})
	}
}

// checkFiles wants nothing in a folder that no test reads.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		switch f.Name() {
		case "input.yaml", "next.yaml", "want.txt":
		default:
			t.Errorf("%s is not part of a case", filepath.Join(dir, f.Name()))
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func describeDiff(d route.Diff) string {
	var b strings.Builder
	fmt.Fprintln(&b, d.Summary(1, 2))
	v := reflect.ValueOf(d)
	for i := range v.NumField() {
		if list, ok := v.Field(i).Interface().([]string); ok {
			for _, line := range list {
				fmt.Fprintf(&b, "  %s: %s\n", v.Type().Field(i).Tag.Get("json"), line)
			}
		}
	}
	return b.String()
}

// TestOrderDoesNotMatter shuffles the objects of every case.
func TestOrderDoesNotMatter(t *testing.T) {
	issuer := newIssuer(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, dir := range folders(t) {
		in := issuer.load(t, filepath.Join(dir, "input.yaml"))
		want := in.compile(Translate)
		for range 5 {
			in.snapshot.shuffle(rng)
			got := in.compile(Translate)
			if !reflect.DeepEqual(got.Spec, want.Spec) || got.table.Digest() != want.table.Digest() || !reflect.DeepEqual(got.warnings, want.warnings) {
				t.Errorf("%s: another order gives\n%s\nin place of\n%s", dir, in.describe(got), in.describe(want))
				break
			}
		}
	}
}

func (s *Snapshot) shuffle(rng *rand.Rand) {
	shuffle(rng, s.Ingresses)
	shuffle(rng, s.Classes)
	shuffle(rng, s.Services)
	shuffle(rng, s.Slices)
	shuffle(rng, s.Secrets)
}

func shuffle[T any](rng *rand.Rand, list []T) {
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

// TestInputsAreNotModified compares the objects of every case before and after.
func TestInputsAreNotModified(t *testing.T) {
	issuer := newIssuer(t)
	for _, dir := range folders(t) {
		in := issuer.load(t, filepath.Join(dir, "input.yaml"))
		before := in.snapshot.clone()
		in.compile(Translate)
		if !reflect.DeepEqual(before, in.snapshot) {
			t.Errorf("%s: the objects are not as they were", dir)
		}
	}
}

func (s *Snapshot) clone() Snapshot {
	return Snapshot{
		Ingresses: clone(s.Ingresses), Classes: clone(s.Classes), Services: clone(s.Services),
		Slices: clone(s.Slices), Secrets: clone(s.Secrets),
	}
}

func clone[T interface {
	comparable
	DeepCopy() T
}](list []T) (copies []T) {
	var none T
	for _, object := range list {
		if object == none {
			copies = append(copies, none)
			continue
		}
		copies = append(copies, object.DeepCopy())
	}
	return copies
}
