package webhook

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"ramjet.dev/ingress/internal/audit"
	"ramjet.dev/ingress/internal/route"
)

// The keys of the bodies are what receivers are written against.
func TestBodies(t *testing.T) {
	for _, c := range []struct {
		event audit.Event
		want  string
	}{
		{audit.Pin{Generation: 4, Replaced: 6},
			`{"event":"pin","generation":4,"replaced":6,"summary":"pinned to generation 4 (was serving 6)"}`},
		{audit.Resume{Generation: 6},
			`{"event":"resume","generation":6,"summary":"pin released, serving generation 6"}`},
	} {
		got, err := encode(c.event)
		if err != nil || string(got) != c.want {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, c.want)
		}
	}
	body, err := encode(audit.Config{Generation: 2, Previous: 1, Published: true, Diff: emptyDiff(), Warning: "look"})
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{"event", "generation", "previous", "published", "summary", "warning", "routes_added", "routes_removed",
		"backends_changed", "certs_rotated", "certs_added", "certs_removed", "hosts_added", "hosts_removed",
		"mirrors_added", "mirrors_removed", "default_backend_changed"}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if object[key] == nil {
			t.Errorf("%s is absent or null in %s", key, body)
		}
		delete(object, key)
	}
	if len(object) > 0 {
		t.Errorf("further keys: %v", object)
	}
}

// emptyDiff is what comparing a table with itself gives.
func emptyDiff() route.Diff {
	table, _ := route.Compile(route.Spec{})
	return route.Compare(table, table)
}

// O04: names come from users. They cannot break out of their strings, whatever they hold.
func TestHostileNames(t *testing.T) {
	hostile := "a\" ,\"event\":\"pin\r\n\x1b[2J\x00\x7f\u2028\u202e\xff\u009b"
	d := emptyDiff()
	d.RoutesAdded = []string{hostile}
	d.DefaultBackendChanged, d.DefaultBackend = true, hostile
	body, err := encode(audit.Config{Generation: 1, Published: true, Diff: d})
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	var object map[string]any
	if err := decoder.Decode(&object); err != nil || decoder.More() || object["event"] != "config" {
		t.Errorf("%v: %s", err, body)
	}
	if i := bytes.IndexFunc(body, func(r rune) bool { return r < ' ' }); i >= 0 {
		t.Errorf("raw control character at %d: %q", i, body)
	}
	if summary := object["summary"].(string); strings.ContainsFunc(summary, unicode.IsControl) {
		t.Errorf("summary %q", summary)
	}
}

type stranger struct{ audit.Resume }

func TestUnknownEvent(t *testing.T) {
	if body, err := encode(stranger{}); err == nil {
		t.Errorf("encoded as %s", body)
	}
}
