package probation

import (
	"strings"
	"testing"
)

// live is a ledger with an entry of many kinds; its last line is not ASCII.
const live = `{"event":"serving","ts":0,"version":"v1"}
{"event":"starting","ts":900,"version":"v2"}
{"event":"promoted","max":2,"ts":1000,"version":"v2","window_ms":30000}
{"attempt":1,"event":"restarting","max":2,"ts":3000,"version":"v2"}
{"event":"starting","ts":9000,"version":"vé😀"}
`

// TestTornLedger (S01): cut at any byte of its last line, a ledger is what it was without
// that line, or with it if only the newline is missing.
func TestTornLedger(t *testing.T) {
	start := strings.LastIndex(strings.TrimSuffix(live, "\n"), "\n") + 1
	for cut := start; cut <= len(live); cut++ {
		want, lines := start, 4
		if cut >= len(live)-1 {
			want, lines = cut, 5
		}
		entries, whole, err := ParseLedger([]byte(live[:cut]))
		if err != nil || whole != want || len(entries) != lines {
			t.Errorf("cut at %d of %d: %d entries in %d bytes, %v", cut, len(live), len(entries), whole, err)
		}
		if _, err := Replay(DefaultPolicy, entries); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	for _, tail := range []string{"\r", strings.Repeat("\x00", 4096), `{"event":"servi` + "\xc3", "{}", "null",
		"{\"event\":\"starting\",\"ts\":9500,\"version\":\"v\xff\"}"} {
		entries, whole, err := ParseLedger([]byte(live + tail))
		if err != nil || whole != len(live) || len(entries) != 5 {
			t.Errorf("with %.20q: %d entries in %d bytes of %d, %v", tail, len(entries), whole, len(live), err)
		}
	}
}

// TestBrokenLedger (S01): a line that cannot be read and is not the last is named.
func TestBrokenLedger(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{"event":"promoted"`, `{"event":"promo`, "line 3: "},
		{`{"event":"starting","ts":900`, ``, "line 2: "},
		{`v2","window_ms":30000}`, "v2\"\n", "line 3: "},
		{`900,"version":"v2"`, "900,\"version\":\"v\xff2\"", "line 2: "},
		{live[:10], "\n", "line 1: "},
		{live[len(live)-10:], "\n", "line 5: "},
	} {
		entries, whole, err := ParseLedger([]byte(strings.Replace(live, c.old, c.new, 1)))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q for %q: %d entries in %d bytes, %v", c.new, c.old, len(entries), whole, err)
		}
	}
}

// FuzzLedger: no bytes make it panic, what is taken is taken again, and the sound part
// has no more to it than the whole.
func FuzzLedger(f *testing.F) {
	f.Add([]byte(live))
	f.Add([]byte(live[:len(live)-5]))
	f.Fuzz(func(t *testing.T, ledger []byte) {
		entries, whole, err := ParseLedger(ledger)
		if whole > len(ledger) {
			t.Fatalf("%d bytes of %d", whole, len(ledger))
		}
		again, wholeAgain, errAgain := ParseLedger(ledger[:whole])
		if errAgain != nil || wholeAgain != whole || len(again) != len(entries) {
			t.Errorf("%d entries in %d bytes, %v; then %d in %d, %v", len(entries), whole, err, len(again), wholeAgain, errAgain)
		}
		s, err := Replay(DefaultPolicy, entries)
		if err != nil {
			return
		}
		if s.Phase == PhaseSoaking && s.Exits > s.Window.MaxRestarts {
			t.Errorf("%+v", s)
		}
	})
}
