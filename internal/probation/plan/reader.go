// Package plan reads plans: one event as JSON on each line, as soak apply and soak
// report take them.
//
// It guarantees that what it accepts is an event, to the last character of its line,
// that an error names the line, and that memory is bounded by the longest line,
// whatever the input. Nothing that it is given makes it panic.
//
// It never knows what an event leads to, or where the bytes come from.
package plan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"ramjet.dev/ingress/internal/probation"
)

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 16 << 20

// LineError is a line that is no event.
type LineError struct {
	Line   uint64 // counted from 1
	Reason error  // one line for people
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Reason) }

// Unwrap gives the reason.
func (e *LineError) Unwrap() error { return e.Reason }

// Reader reads a plan event by event. It belongs to one goroutine.
type Reader struct {
	in     *bufio.Reader
	line   uint64
	long   []byte // a line that does not fit into the buffer of in
	parser parser
}

// NewReader reads from in, in large pieces.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10)}
}

// Next is the next event. At the end the error is io.EOF, for a line that is no
// event a *LineError, else what reading returned. After an error there is nothing
// more to be had.
func (r *Reader) Next() (probation.Event, error) {
	for {
		line, err := r.next()
		if err != nil {
			return probation.Event{}, err
		}
		event, blank, err := r.parser.line(line)
		if err != nil {
			return probation.Event{}, &LineError{Line: r.line, Reason: err}
		}
		if !blank {
			return event, nil
		}
	}
}

// next is the next line, with its end if it has one. It is valid until the next call.
func (r *Reader) next() ([]byte, error) {
	r.line++
	line, err := r.in.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	r.long = append(r.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(r.long) > MaxLine {
			return nil, &LineError{Line: r.line, Reason: fmt.Errorf("is longer than %d MiB", MaxLine>>20)}
		}
		line, err = r.in.ReadSlice('\n')
		r.long = append(r.long, line...)
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(r.long) == 0) {
		return nil, err
	}
	return r.long, nil
}

// line reads one line; blank reports that there is nothing on it.
func (p *parser) line(line []byte) (event probation.Event, blank bool, err error) {
	if !utf8.Valid(line) {
		return event, false, errors.New("is not UTF-8")
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return event, true, nil
	}
	// An error should not point behind what is seen.
	for line[len(line)-1] == '\n' || line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	event, err = p.event(line)
	return event, false, err
}
