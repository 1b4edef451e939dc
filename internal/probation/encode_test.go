package probation

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEntriesToTheByte: the four entries of the specification.
func TestEntriesToTheByte(t *testing.T) {
	for want, e := range map[string]Entry{
		`{"attempt":1,"event":"restarting","max":2,"ts":3000,"version":"v2"}`:                                                                                     {Kind: EntryRestarting, TS: 3000, Version: "v2", Attempt: 1, Policy: Policy{MaxRestarts: 2}},
		`{"event":"confirmed","restarts":0,"ts":40000,"version":"v2"}`:                                                                                            {Kind: EntryConfirmed, TS: 40000, Version: "v2"},
		`{"event":"restarted_post_soak","ts":32000,"version":"v2"}`:                                                                                               {Kind: EntryRestartedPostSoak, TS: 32000, Version: "v2"},
		`{"event":"rolled_back","exits_in_window":3,"from":"v2","max":2,"reason":"restart_budget_exceeded","to":"v1","ts":9000,"version":"v2","window_ms":30000}`: {Kind: EntryRolledBack, TS: 9000, Version: "v2", To: "v1", Reason: ReasonBudget, Exits: 3, Policy: DefaultPolicy},
	} {
		if got := e.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if !e.Kind.Decision() {
			t.Errorf("%s is no decision", e.Kind)
		}
	}
}

// TestKeysAreSorted: every kind of entry has its keys in alphabetical order, and all
// that it has survive writing and reading.
func TestKeysAreSorted(t *testing.T) {
	for kind := range fields {
		e := Entry{Kind: kind, TS: 1, Version: "v", Reason: "r", To: "t", Attempt: 2, Restarts: 3, Exits: 4, Now: true, Policy: Policy{SoakMS: 5, MaxRestarts: 6}}
		var any map[string]any
		d := json.NewDecoder(strings.NewReader(e.String()))
		d.UseNumber()
		if err := d.Decode(&any); err != nil {
			t.Fatal(err)
		}
		sorted, err := json.Marshal(any) // of a map the keys are sorted
		if err != nil || string(sorted) != e.String() {
			t.Errorf("%s\nsorted %s, %v", e, sorted, err)
		}
		again, err := ParseEntry([]byte(e.String()))
		if err != nil || again.String() != e.String() {
			t.Errorf("%s was read as %s, %v", e, again, err)
		}
	}
}

// TestStrings: what the original, whose writer is serde_json, does with each character.
func TestStrings(t *testing.T) {
	for s, want := range map[string]string{
		"":                      `""`,
		"v2":                    `"v2"`,
		`"\/`:                   `"\"\\/"`,
		"\b\t\n\f\r":            `"\b\t\n\f\r"`,
		"\x00\x01\x0b\x1e\x1f ": `"\u0000\u0001\u000b\u001e\u001f "`,
		"<&>'`\x7f":             "\"<&>'`\x7f\"",
		"\u0080\u2028\u2029é😀\ufeff\ufffd\U0010ffff": "\"\u0080\u2028\u2029é😀\ufeff\ufffd\U0010ffff\"",
		"\xff\xc3(\xed\xa0\x80":                      "\"\ufffd\ufffd(\ufffd\ufffd\ufffd\"", // which the original cannot have
	} {
		if got := string(appendString(nil, "", s)); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

// FuzzStrings compares with encoding/json, which escapes two characters more.
func FuzzStrings(f *testing.F) {
	f.Add("v2 \"\\\x00\x1f\x7f\u2028\u2029\xff é😀")
	f.Fuzz(func(t *testing.T, s string) {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(strings.ToValidUTF8(s, "\u00ff")); err != nil {
			t.Fatal(err)
		}
		want := strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(b.String(), "\n"))
		got := string(appendString(nil, "", strings.ToValidUTF8(s, "\u00ff")))
		if got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
		if raw := appendString(nil, "", s); !utf8.Valid(raw) || !json.Valid(raw) {
			t.Errorf("%q: %s", s, raw)
		}
	})
}
