package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/probation"
)

// sound is a ledger of two lines, and last a third that has characters of several
// bytes.
const (
	sound = `{"event":"serving","ts":0,"version":"v1"}` + "\n" + `{"event":"starting","ts":5,"version":"v2"}` + "\n"
	last  = `{"event":"readiness_failed","reason":"é😀","ts":9,"version":"v2"}` + "\n"
)

var next = probation.Entry{Kind: probation.EntryRestarted, TS: 20, Version: "v1"}

// file puts a text into a file.
func file(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// wantMended opens a ledger, appends to it, and wants the file to be the kept part and
// the new line.
func wantMended(t *testing.T, given, kept string) {
	t.Helper()
	path := file(t, given)
	l, c, err := Open(path)
	if err != nil {
		t.Errorf("%q: %v", given, err)
		return
	}
	defer l.Close()
	if err := l.Append(next); err != nil {
		t.Errorf("%q: %v", given, err)
	}
	if got, want := text(t, path), kept+next.String()+"\n"; got != want {
		t.Errorf("%q became\n%swant\n%s", given, got, want)
	}
	if want := strings.Count(kept, "\n"); len(c.Entries) != want {
		t.Errorf("%q: %d entries, want %d", given, len(c.Entries), want)
	}
}

// TestTornAtEveryByte: a last line that a crash cut off, wherever that was, is taken out
// before anything is appended; one that only lacks its newline is kept.
func TestTornAtEveryByte(t *testing.T) {
	for n := range len(last) {
		kept := sound
		if n == len(last)-1 {
			kept += last
		}
		wantMended(t, sound+last[:n], kept)
	}
	wantMended(t, sound+last, sound+last)
}

// TestOtherTails are what file systems and power cuts leave.
func TestOtherTails(t *testing.T) {
	for _, tail := range []string{"\r", strings.Repeat("\x00", 4096), "\xf0\x9f", last[:20] + "\r", "{}"} {
		wantMended(t, sound+tail, sound)
	}
	wantMended(t, "", "")
	wantMended(t, last[:10], "")
}

// TestReadLeavesTheFile: looking at a ledger mends nothing.
func TestReadLeavesTheFile(t *testing.T) {
	path := file(t, sound+last[:10])
	c, err := Read(path)
	if err != nil || string(c.Text()) != sound || string(c.Torn) != last[:10] {
		t.Errorf("%q and %q, %v", c.Text(), c.Torn, err)
	}
	if got := text(t, path); got != sound+last[:10] {
		t.Errorf("the file is now %q", got)
	}
}

// TestBrokenLines: a line that cannot be read, and is not the last, is named, and the file
// is left alone.
func TestBrokenLines(t *testing.T) {
	for _, c := range []struct {
		ledger string
		line   int
	}{
		{"x\n" + sound, 1},
		{sound + last[:30] + "\n", 3},
		{sound + "\n" + last, 3},
		{sound + last[:30] + last, 3},
		{sound + strings.Repeat("\x00", 4096) + "\n", 3},
	} {
		path := file(t, c.ledger)
		_, _, err := Open(path)
		var at Error
		if !errors.As(err, &at) || at.Line != c.line || !strings.HasPrefix(err.Error(), path+":") {
			t.Errorf("%.80q: %v, want line %d", c.ledger, err, c.line)
		}
		if text(t, path) != c.ledger {
			t.Errorf("%.80q was changed", c.ledger)
		}
	}
}

// TestFailedAppend: what was written of a line that failed is taken back, then or before
// the next line.
func TestFailedAppend(t *testing.T) {
	path := file(t, sound)
	l, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	writable := l.file
	defer func() { writable.Close() }()
	readOnly, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer readOnly.Close()
	l.file = readOnly // neither a write nor taking it back can succeed
	if err := l.Append(next); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("appended to a file that cannot be written: %v", err)
	}
	l.file = writable
	if _, err := writable.WriteString(last[:10]); err != nil { // as a disk that became full would leave it
		t.Fatal(err)
	}
	if err := l.Append(next); err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, path), sound+next.String()+"\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestNewLedger: a ledger that is not there is made, and only its owner reads it.
func TestNewLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	if _, err := Read(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
	l, c, err := Open(path)
	if err != nil || len(c.Entries) > 0 {
		t.Fatalf("%d entries, %v", len(c.Entries), err)
	}
	defer l.Close()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for range 3 {
		if err := l.Append(next); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Read(path)
	if err != nil || len(again.Entries) != 3 || again.Entries[2] != next {
		t.Errorf("%v, %v", again.Entries, err)
	}
}
