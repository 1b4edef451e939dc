package translate

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"ramjet.dev/ingress/internal/route"
)

func TestParseBackendRef(t *testing.T) {
	for text, want := range map[string]BackendRef{
		"prod/web:80":      {"prod", "web", networkingv1.ServiceBackendPort{Number: 80}},
		"prod/web:65535":   {"prod", "web", networkingv1.ServiceBackendPort{Number: 65535}},
		"prod/web:http":    {"prod", "web", networkingv1.ServiceBackendPort{Name: "http"}},
		"a-1/b.c-2:8080-x": {"a-1", "b.c-2", networkingv1.ServiceBackendPort{Name: "8080-x"}},
	} {
		got, err := ParseBackendRef(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "web", "web:80", "prod/web", "prod/web:", "prod/web:0", "prod/web:65536", "prod/web:-1", "prod/web:+1", "prod/web:a-", "prod/web:1-1",
		"prod/web:80:80", "/web:80", "prod/:80", "a/b/c:80", "Prod/web:80", "prod/we b:80", "prod/web: 80", "prod/web:８０",
		"prod/" + strings.Repeat("w", 254) + ":80",
	} {
		if got, err := ParseBackendRef(text); err == nil || got != (BackendRef{}) {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

func TestParseNamespacedName(t *testing.T) {
	if got, err := ParseNamespacedName("ops/wild.card"); err != nil || got != (types.NamespacedName{Namespace: "ops", Name: "wild.card"}) {
		t.Errorf("got %v %v", got, err)
	}
	for _, text := range []string{"", "ops", "ops/", "/wildcard", "a/b/c", "ops/Wildcard", "ops/wild card", "ops/wild\ncard"} {
		if got, err := ParseNamespacedName(text); err == nil {
			t.Errorf("%q is %v, want an error", text, got)
		}
	}
}

// TestRenderPutsPlacesTogether shows how notes become warnings: equal ones are one, with
// the first place and the number of others.
func TestRenderPutsPlacesTogether(t *testing.T) {
	a, b := Ref{Kind: "Ingress", Name: "a"}, Ref{Kind: "Ingress", Name: "b"}
	got := render([]note{
		{b, "R", "z", "text"}, {b, "R", "y", "text"}, {b, "R", "y", "text"}, {b, "R", "", "other"},
		{a, "R", "y", "text"}, {b, "Q", "y", "text"}, {b, "R", "", "other"},
	})
	want := []Warning{{a, "R", "y: text"}, {b, "Q", "y: text"}, {b, "R", "other"}, {b, "R", "y and 1 more: text"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func TestRenderIsBounded(t *testing.T) {
	var notes []note
	for i := range 3 * maxPerReason {
		notes = append(notes, note{object: Ref{Name: "a"}, reason: "R", text: fmt.Sprintf("%04d %s", i, strings.Repeat("é", maxMessage))})
	}
	notes = append(notes, note{object: Ref{Name: "a"}, reason: "S", text: "text"})
	got := render(notes)
	if len(got) != maxPerReason+2 {
		t.Errorf("%d warnings, want %d of one reason, their rest in one, and the other reason", len(got), maxPerReason)
	}
	counted := false
	for _, w := range got {
		counted = counted || w.Reason == "R" && w.Message == fmt.Sprintf("and %d more warnings of this kind", 2*maxPerReason)
		if len(w.Message) > maxMessage || strings.ContainsRune(w.Message, '\uFFFD') {
			t.Errorf("message of %d bytes: %q", len(w.Message), w.Message)
		}
	}
	if !counted {
		t.Error("what was left out is not counted")
	}
}

// TestExplainFindsTheOwner gives diagnostics that a Spec of ours cannot cause: whatever
// compiling finds, somebody hears of it.
func TestExplainFindsTheOwner(t *testing.T) {
	in := newIssuer(t).load(t, "testdata/canary-tls/input.yaml")
	tr := Translate(in.snapshot, in.options)
	for _, c := range []struct {
		kind           route.Kind
		reason         string
		object, expect string
	}{
		{route.KindRoute, route.ReasonInvalidPath, "shop", ReasonIngressRejected},
		{route.KindRoute, route.ReasonDuplicateRoute, "shop", ReasonPathConflict},
		{route.KindRoute, route.ReasonInvalidCanary, "next", ReasonInvalidAnnotation},
		{route.KindRoute, route.ReasonInvalidMirror, "shop", ReasonMirrorRejected},
		{route.KindCert, route.ReasonDuplicateCert, "shop", ReasonHostConflict},
	} {
		found := false
		for _, w := range tr.Explain([]route.Diagnostic{{Kind: c.kind, Index: 0, Reason: c.reason, Message: "found"}}, nil) {
			found = found || w.Object.Name == c.object && w.Reason == c.expect && w.Message == "found"
		}
		if !found {
			t.Errorf("%s %s did not reach %s", c.kind, c.reason, c.object)
		}
	}
	web := 1
	got := tr.Explain([]route.Diagnostic{{Kind: route.KindBackend, Index: web, Reason: route.ReasonInvalidEndpoint, Message: "found"}}, nil)
	if tr.Spec.Backends[web].Name != "prod/web:80" || len(got) != 1 || got[0].Object.Name != "shop" || got[0].Reason != ReasonServiceUnresolved {
		t.Errorf("a backend's diagnostic became %v", got)
	}
	for _, r := range []string{route.ReasonInvalidWeight, route.ReasonInvalidHost, route.ReasonUnknownBackend} {
		if reasons[r] == "" {
			t.Errorf("%s has no reason", r)
		}
	}
	if got := tr.Explain([]route.Diagnostic{{Kind: route.KindSpec, Index: -1, Reason: route.ReasonUnknownBackend}}, nil); len(got) != 0 {
		t.Errorf("a diagnostic about nobody became %v", got)
	}
}

// TestAnnotationsAreDocumented wants the table of docs/kubernetes.md to say what the rows
// say.
func TestAnnotationsAreDocumented(t *testing.T) {
	const doc, begin, end = "../../docs/kubernetes.md", "| annotation |", "\n\n"
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	var table bytes.Buffer
	fmt.Fprintf(&table, "%s value | default | |\n| --- | --- | --- | --- |\n", begin)
	for _, r := range rows {
		key := r.key
		if bare, ok := strings.CutPrefix(key, nginxPrefix); ok {
			key = "…/" + bare
		}
		fallback := ""
		if r.fallback != "" {
			fallback = "`" + r.fallback + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", key, r.form, fallback, r.doc)
	}
	before, rest, found := bytes.Cut(text, []byte(begin))
	was, after, ended := bytes.Cut(rest, []byte(end))
	if !found || !ended {
		t.Fatalf("%s has no table that begins with %q", doc, begin)
	}
	if got := begin + string(was) + "\n"; got == table.String() {
		return
	}
	if !*update {
		t.Fatalf("%s does not have the annotations as they are; -update rewrites it. They are\n%s", doc, table.String())
	}
	if err := os.WriteFile(doc, bytes.Join([][]byte{before, table.Bytes(), []byte("\n"), after}, nil), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestSecretsUnread: of Secrets that could not be read none is said to be missing.
func TestSecretsUnread(t *testing.T) {
	ing := benchIngress("prod", "a.test", 0, 0)
	ing.Spec.TLS = []networkingv1.IngressTLS{{Hosts: []string{"a.test"}, SecretName: "a-tls"}}
	s := Snapshot{Ingresses: []*networkingv1.Ingress{ing}}
	ing.Annotations, ing.Spec.IngressClassName = map[string]string{classAnnotation: "ramjet"}, nil
	for unread, want := range map[bool]string{
		true:  "prod/a-tls: this controller cannot read Secrets: give it get, list and watch on secrets; serving these hosts without it: TLS handshakes fail for a.test",
		false: "prod/a-tls: not found among Secrets of type kubernetes.io/tls in namespace prod; serving these hosts without it: TLS handshakes fail for a.test",
	} {
		s.SecretsUnread = unread
		if got := Translate(s, Options{Class: "ramjet"}).Warnings; !slices.ContainsFunc(got, func(w Warning) bool { return w.Reason == ReasonSecretUnusable && w.Message == want }) {
			t.Errorf("unread %v: %v", unread, got)
		}
	}
}
