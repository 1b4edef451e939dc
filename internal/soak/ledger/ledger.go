// Package ledger keeps the ledger of a supervisor on a disk: one entry a line, each
// on the disk before the work that it asks for is begun.
//
// Guarantees: when Append returns without an error the line survives a power cut;
// when it returns one, the file is as it was, and Append may be tried again; a last
// line that a crash cut off is taken out of the file before anything is appended; a
// line in the middle that cannot be read is an error that names it, never passed
// over.
//
// It never knows what an entry means. One process at a time may have a ledger open;
// who sees to that is the caller.
package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ramjet.dev/ingress/internal/probation"
)

// Ledger is an open ledger, for one goroutine.
type Ledger struct {
	path string
	file *os.File
	size int64 // of what is sound
	// stray is set when there may be more in the file than size: an append failed, and
	// taking it back failed too.
	stray bool
}

// Contents is what a file holds.
type Contents struct {
	// Entries are its lines: entry i is on line i+1.
	Entries []probation.Entry
	// Torn is the last line, if it was not written to its end; it is not among Entries.
	Torn []byte

	whole    int64 // bytes that are sound
	unended  bool  // the last sound line lacks its newline
	absent   bool
	contents []byte
}

// Text is the sound lines as they stand in the file.
func (c Contents) Text() []byte { return c.contents[:c.whole] }

// Error is a line that cannot be read, or does not follow from those before it.
type Error struct {
	Path string
	Line int
	Err  error
}

// Error is "path:line: what is wrong".
func (e Error) Error() string { return e.Path + ":" + strconv.Itoa(e.Line) + ": " + e.Err.Error() }

// Unwrap is what is wrong.
func (e Error) Unwrap() error { return e.Err }

// Read reads a ledger and leaves it as it is. A file that is not there is an error.
func Read(path string) (Contents, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Contents{}, fmt.Errorf("read the ledger: %w", err)
	}
	return Parse(path, data)
}

// Parse reads a ledger out of memory; path is for the error, a ledger.Error.
func Parse(path string, data []byte) (Contents, error) {
	entries, whole, err := probation.ParseLedger(data)
	if err != nil {
		cause := err
		if inner := errors.Unwrap(err); inner != nil {
			cause = inner
		}
		return Contents{}, Error{Path: path, Line: len(entries) + 1, Err: cause}
	}
	return Contents{
		Entries: entries, Torn: data[whole:], whole: int64(whole), contents: data,
		unended: whole > 0 && data[whole-1] != '\n',
	}, nil
}

// Open reads a ledger, makes it if it is not there, and mends its end: a torn line is
// cut off, a missing newline added.
func Open(path string) (*Ledger, Contents, error) {
	c, err := Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c = Contents{absent: true}
	case err != nil:
		return nil, c, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, c, fmt.Errorf("open the ledger: %w", err)
	}
	l := &Ledger{path: path, file: f, size: c.whole}
	if err := l.mend(c); err != nil {
		f.Close()
		return nil, c, fmt.Errorf("mend the end of the ledger %s: %w", path, err)
	}
	if c.absent {
		if err := syncDir(filepath.Dir(path)); err != nil {
			f.Close()
			return nil, c, fmt.Errorf("make the ledger %s: %w", path, err)
		}
	}
	return l, c, nil
}

func (l *Ledger) mend(c Contents) error {
	if len(c.Torn) > 0 {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
	}
	if c.unended {
		if _, err := l.file.Write([]byte("\n")); err != nil {
			return err
		}
		l.size++
	}
	if len(c.Torn) > 0 || c.unended {
		return l.file.Sync()
	}
	return nil
}

// syncDir makes the names in a folder survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // nothing was written through it
	return d.Sync()
}

// Append writes an entry and waits until it is on the disk.
func (l *Ledger) Append(e probation.Entry) error {
	if err := l.append(append(e.AppendJSON(nil), '\n')); err != nil {
		return fmt.Errorf("write %q into the ledger %s: %w", e.Kind, l.path, plain(err))
	}
	return nil
}

func (l *Ledger) append(line []byte) error {
	if l.stray {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
		l.stray = false
	}
	_, err := l.file.Write(line)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.stray = l.file.Truncate(l.size) != nil
		return err
	}
	l.size += int64(len(line))
	return nil
}

// lineBytes is more than any line has.
const lineBytes = 1 << 10

// Room reports, with an error, that a line would find no room. It sets the room aside;
// where the system or the file system cannot do that, it reports nothing.
func (l *Ledger) Room() error { return setAside(l.file, l.size, lineBytes) }

// Close closes the file. Everything is on the disk already.
func (l *Ledger) Close() { l.file.Close() }

// plain leaves out the path, which is said already.
func plain(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// Describe says in one line what was cut off, for a log.
func (c Contents) Describe() string {
	const most = 60
	text := strconv.Quote(string(c.Torn[:min(len(c.Torn), most)]))
	if len(c.Torn) > most {
		text += "…"
	}
	size := "1 byte"
	if len(c.Torn) != 1 {
		size = fmt.Sprintf("%d bytes", len(c.Torn))
	}
	return fmt.Sprintf("line %d, %s: %s", len(c.Entries)+1, size, strings.Trim(text, `"`))
}
