package probation

import (
	"strings"
	"testing"
)

// TestLedgerFromTheFuture: a newer program may have written more than is known here;
// what is known is still checked.
func TestLedgerFromTheFuture(t *testing.T) {
	const ledger = `{"event":"serving","host":"a","ts":0,"version":"v1"}
{"event":"quarantined","ts":50,"until":{"ts":9},"version":"v1"}
{"event":"starting","ts":60,"version":"v2"}
{"event":"promoted","max":2,"ts":100,"version":"v2","window_ms":1000,"who":["x"]}
{"event":"resumed","ts":5000,"version":"v2"}
{"attempt":1,"event":"restarting","max":2,"restarts":7,"ts":200,"version":"v2"}
{"event":"stopped","ts":6000,"version":"v2"}
`
	entries, whole, err := ParseLedger([]byte(ledger))
	if err != nil || whole != len(ledger) || len(entries) != 7 {
		t.Fatalf("%d entries, %d bytes, %v", len(entries), whole, err)
	}
	s, err := Replay(DefaultPolicy, entries)
	if err != nil || s.Phase != PhaseSoaking || s.Restarts != 1 || s.LastGood != "v1" {
		t.Errorf("replayed: %+v, %v", s, err)
	}
}

// TestImpossibleEntries: an edited line is found at the line it was made in, or at the
// first that does not follow from it.
func TestImpossibleEntries(t *testing.T) {
	good := []string{
		`{"event":"serving","ts":0,"version":"v1"}`,
		`{"event":"starting","ts":60,"version":"v2"}`,
		`{"event":"promoted","max":2,"ts":100,"version":"v2","window_ms":1000}`,
		`{"attempt":1,"event":"restarting","max":2,"ts":200,"version":"v2"}`,
		`{"event":"confirmed","restarts":1,"ts":1100,"version":"v2"}`,
		`{"event":"restarted_post_soak","ts":1200,"version":"v2"}`,
	}
	for _, c := range []struct{ old, new, want string }{
		{`"attempt":1`, `"attempt":2`, "entry 4"},
		{`"ts":1100`, `"ts":1099`, "entry 5"},
		{`"version":"v2","window_ms"`, `"version":"v3","window_ms"`, "entry 4"},
		{`"restarts":1`, `"restarts":0`, "entry 5"},
		{good[4] + "\n", "", "entry 5"},
		{`"event":"serving"`, `"event":"confirmed","restarts":0`, "entry 1"},
	} {
		text := strings.Replace(strings.Join(good, "\n")+"\n", c.old, c.new, 1)
		entries, _, err := ParseLedger([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Replay(DefaultPolicy, entries); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s for %s: %v, want %s", c.new, c.old, err, c.want)
		}
	}
	for _, line := range []string{`{"ts":1}`, `{"event":"tick"}`, `{"event":"serving","ts":-1}`, `{"event":"serving","ts":1.5}`, `[]`, ``, "\x00\x00",
		`{"event":"serving","ts":1}`,
		`{"event":"serving","ts":1,"version":null}`,
		`{"event":"promoted","max":2,"ts":1,"version":"v2"}`,
		`{"event":"promoted","ts":1,"version":"v2","window_ms":1000}`,
		`{"event":"confirmed","ts":1,"version":"v2"}`,
		`{"event":"starting","ts":1}`,
		`{"event":"readiness_failed","ts":1,"version":"v2"}`,
		`{"event":"rolled_back","exits_in_window":0,"from":"v9","max":2,"reason":"operator","to":"v1","ts":1,"version":"v2","window_ms":1000}`,
		`{"event":"rolled_back","from":"v2","max":2,"reason":"operator","to":"v1","ts":1,"version":"v2","window_ms":1000}`,
	} {
		if _, err := ParseEntry([]byte(line)); err == nil {
			t.Errorf("%q is taken for an entry", line)
		}
	}
}

// TestErrorsForPeople: who edits a ledger knows nothing of Go.
func TestErrorsForPeople(t *testing.T) {
	for line, want := range map[string]string{
		`{"event":"serving","ts":"3","version":"v1"}`: "no entry of a ledger: ts has the value string and must have a whole number from 0 to 18446744073709551615",
		`{"event":"serving","ts":-1,"version":"v1"}`:  "no entry of a ledger: ts has the value number -1 and must have a whole number from 0 to 18446744073709551615",
		`{"event":7,"ts":3,"version":"v1"}`:           "no entry of a ledger: event has the value number and must have a text",
		`{"event":"serving","now":1,"ts":3}`:          "no entry of a ledger: now has the value number and must have true or false",
		`["serving"]`:                                 "no entry of a ledger: the line is JSON, and not an object but a value of the kind array",
	} {
		if _, err := ParseEntry([]byte(line)); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", line, err, want)
		}
	}
}
