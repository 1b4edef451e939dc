package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ramjet.dev/ingress/internal/probation"
)

var entries = []probation.Entry{
	{Kind: probation.EntryServing, TS: 1, Version: "v1"},
	{Kind: probation.EntryStarting, TS: 2, Version: "vä2"},
	{Kind: probation.EntryPromoted, TS: 3, Version: "vä2", Policy: probation.Policy{SoakMS: 1000, MaxRestarts: 2}},
}

// written is a ledger with these entries, and its text.
func written(t *testing.T) (path, text string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ledger.jsonl")
	l, c, err := Open(path)
	if err != nil || len(c.Entries) != 0 {
		t.Fatalf("a new ledger: %d entries, %v", len(c.Entries), err)
	}
	defer l.Close()
	for _, e := range entries {
		if err := l.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return path, read(t, path)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAppendAndRead(t *testing.T) {
	path, text := written(t)
	want := `{"event":"serving","ts":1,"version":"v1"}
{"event":"starting","ts":2,"version":"vä2"}
{"event":"promoted","max":2,"ts":3,"version":"vä2","window_ms":1000}
`
	if text != want {
		t.Errorf("got\n%s", text)
	}
	c, err := Read(path)
	if err != nil || len(c.Entries) != 3 || c.Entries[2] != entries[2] || string(c.Text()) != want || len(c.Torn) != 0 {
		t.Errorf("read back %+v, %v", c, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: others may read it", info.Mode(), err)
	}
}

// TestTornTail (S01) cuts the last line at every byte, and puts there what file systems
// leave after a power cut. What is torn is dropped and cut off; what was whole before
// stays, and the next line stands alone.
func TestTornTail(t *testing.T) {
	path, text := written(t)
	whole := text[:strings.LastIndex(text[:len(text)-1], "\n")+1]
	last := text[len(whole):]
	tails := []string{strings.Repeat("\x00", 4096), "\r", " ", last[:20] + strings.Repeat("\x00", 100), "\xc3"}
	for cut := range len(last) - 1 {
		tails = append(tails, last[:cut])
	}
	for _, tail := range tails {
		write(t, path, whole+tail)
		before, err := Read(path)
		if err != nil || read(t, path) != whole+tail {
			t.Fatalf("%q: %v; reading changed the file: %v", tail, err, read(t, path) != whole+tail)
		}
		l, c, err := Open(path)
		if err != nil {
			t.Fatalf("%q: %v", tail, err)
		}
		if len(c.Entries) != 2 || string(c.Torn) != tail || string(before.Torn) != tail || read(t, path) != whole {
			t.Errorf("%q: %d entries, torn %q, then the file is %q", tail, len(c.Entries), c.Torn, read(t, path))
		}
		if err := l.Append(entries[2]); err != nil || read(t, path) != text {
			t.Errorf("%q: %v, and then %q", tail, err, read(t, path))
		}
		l.Close()
	}
}

// TestLineWithoutItsEnd (S01): a last line that only lacks its newline is whole.
func TestLineWithoutItsEnd(t *testing.T) {
	path, text := written(t)
	write(t, path, text[:len(text)-1])
	l, c, err := Open(path)
	if err != nil || len(c.Entries) != 3 || len(c.Torn) != 0 {
		t.Fatalf("%d entries, torn %q, %v", len(c.Entries), c.Torn, err)
	}
	defer l.Close()
	next := probation.Entry{Kind: probation.EntryRestarting, TS: 4, Version: "v2", Attempt: 1, Policy: probation.Policy{MaxRestarts: 2}}
	if err := l.Append(next); err != nil || read(t, path) != text+next.String()+"\n" {
		t.Errorf("%v\n%s", err, read(t, path))
	}
}

// TestLineInTheMiddle (S01) that cannot be read is named, and the file is left alone.
func TestLineInTheMiddle(t *testing.T) {
	path, text := written(t)
	for n, broken := range map[int]string{
		1: "\n" + text,
		2: strings.Replace(text, `"ts":2`, `"ts":-2`, 1),
		3: strings.Replace(text, `{"event":"promoted"`, `{"event":"promoted`, 1),
	} {
		write(t, path, broken)
		_, _, err := Open(path)
		var at Error
		if !errors.As(err, &at) || at.Line != n || at.Path != path || strings.Contains(at.Err.Error(), "line") {
			t.Errorf("line %d: %v", n, err)
		}
		if read(t, path) != broken {
			t.Errorf("line %d: the file was changed", n)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a ledger that is not there: %v", err)
	}
}

// TestAppendThatFails leaves the file as it was, and may be tried again.
func TestAppendThatFails(t *testing.T) {
	path, text := written(t)
	l, _, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	good := l.file
	if l.file, err = os.Open(path); err != nil { // cannot be written, nor cut
		t.Fatal(err)
	}
	if err := l.Append(entries[2]); err == nil || !strings.Contains(err.Error(), path) || !l.stray {
		t.Fatalf("written into a file that is open for reading: %v", err)
	}
	l.file.Close()
	l.file = good
	if _, err := l.file.WriteString(`{"event":"promo`); err != nil { // what such a failure may leave
		t.Fatal(err)
	}
	if err := l.Append(entries[2]); err != nil || read(t, path) != text+entries[2].String()+"\n" {
		t.Errorf("%v\n%s", err, read(t, path))
	}
	if err := l.Room(); err != nil || read(t, path) != text+entries[2].String()+"\n" {
		t.Errorf("looking for room: %v, and the file has %d bytes", err, len(read(t, path)))
	}
}
