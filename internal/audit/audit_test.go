package audit_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/route"
)

// record is the structured form of an event, without its message.
func record(e audit.Event) string {
	var out []string
	for _, a := range e.Attrs() {
		out = append(out, a.String())
	}
	return strings.Join(out, " ")
}

// Names and order of the attributes are what pipelines are written against.
func TestAttributes(t *testing.T) {
	diff := route.Diff{
		RoutesAdded: make([]string, 1), RoutesRemoved: make([]string, 2), BackendsChanged: make([]string, 3),
		HostsAdded: make([]string, 4), HostsRemoved: make([]string, 5),
		CertsAdded: make([]string, 6), CertsRemoved: make([]string, 7), CertsRotated: make([]string, 8),
		MirrorsAdded: make([]string, 9), MirrorsRemoved: make([]string, 10), DefaultBackendChanged: true,
	}
	for _, c := range []struct {
		event audit.Event
		want  string
	}{
		{audit.Config{Generation: 42, Previous: 41, Published: true, Diff: diff},
			"target=audit event=config generation=42 previous=41 published=true routes_added=1 routes_removed=2 " +
				"backends_changed=3 hosts_added=4 hosts_removed=5 certs_added=6 certs_removed=7 certs_rotated=8 " +
				"mirrors_added=9 mirrors_removed=10 default_backend_changed=true"},
		{audit.Pin{Generation: 41, Replaced: 42}, "target=audit event=pin generation=41 replaced=42"},
		{audit.Resume{Generation: 42}, "target=audit event=resume generation=42"},
	} {
		if got := record(c.event); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if got, want := c.event.String(), c.event.Message()+" "+c.want; got != want {
			t.Errorf("String() = %s\nwant       %s", got, want)
		}
	}
}

// A warning comes last, and only where there is one.
func TestWarning(t *testing.T) {
	got := record(audit.Config{Generation: 2, Previous: 1, Warning: "look twice"})
	if !strings.HasSuffix(got, "default_backend_changed=false warning=look twice") {
		t.Error(got)
	}
}

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"3 routes added (gen 1→2)":       "3 routes added (gen 1→2)",
		"a\nFAKE":                        `a\nFAKE`,
		"a\r\x00\x1b[2J\x7f":             `a\r\x00\x1b[2J\x7f`,
		"c1 \u009b2J":                    `c1 \u009b2J`,
		"line\u2028 para\u2029":          `line\u2028 para\u2029`,
		"override \u202e isolate \u2066": `override \u202e isolate \u2066`,
		"not utf-8 \xff\xc3":             `not utf-8 \xff\xc3`,
		"the rune itself \ufffd":         "the rune itself \ufffd",
		"größe 🚀":                        "größe 🚀",
	} {
		if got := audit.Escape(text); got != want {
			t.Errorf("Escape(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\nb\x1b\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := audit.Escape(text)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) || audit.Escape(got) != got {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// O04: whatever a user names a backend, an event is one line in every form, and its
// attributes are those of the event and no others.
func TestForgedRecords(t *testing.T) {
	hostile := "x (gen 1→2)\nlevel=INFO msg=fake\r\u2028\x1b[31m\" event=\"pin"
	diff := route.Diff{DefaultBackendChanged: true, DefaultBackend: hostile}
	event := audit.Config{Generation: 2, Previous: 1, Published: true, Diff: diff, Warning: hostile}
	var text, jsonOut bytes.Buffer
	audit.LogSink(slog.New(slog.NewTextHandler(&text, nil))).Record(event)
	audit.LogSink(slog.New(slog.NewJSONHandler(&jsonOut, nil))).Record(event)
	for _, line := range []string{text.String(), jsonOut.String(), event.String() + "\n"} {
		body, ok := strings.CutSuffix(line, "\n")
		if !ok || strings.ContainsFunc(body, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("not one clean line: %q", line)
		}
	}
	var object map[string]any
	if err := json.Unmarshal(jsonOut.Bytes(), &object); err != nil || object["event"] != "config" {
		t.Errorf("%v: %s", err, &jsonOut)
	}
	if !strings.Contains(text.String(), " target=audit event=config generation=2 ") {
		t.Error(text.String())
	}
}

// The log has the level that people filter by.
func TestLogSink(t *testing.T) {
	var out bytes.Buffer
	sink := audit.LogSink(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	sink.Record(audit.Pin{Generation: 1, Replaced: 2})
	sink.Record(audit.Config{Generation: 3, Warning: "look"})
	want := `level=INFO msg="pinned to generation 1 (was serving 2)" target=audit event=pin generation=1 replaced=2`
	first, second, _ := strings.Cut(out.String(), "\n")
	if first != want || !strings.HasPrefix(second, "level=WARN ") {
		t.Errorf("got %s", &out)
	}
}
