package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// MaxErrors is how many faults are listed; a file with more has one cause.
const MaxErrors = 1000

// Error is one fault of a file.
type Error struct {
	File string
	// Line counts from 1; 0 is the file as a whole.
	Line int
	// Message is one line: what is wrong, and what to do where that is not plain.
	Message string
}

// Error is "file:line: message".
func (e Error) Error() string {
	name := Plain(e.File)
	if e.Line == 0 {
		return name + ": " + e.Message
	}
	return name + ":" + strconv.Itoa(e.Line) + ": " + e.Message
}

// Errors is all faults of a file, sorted by line. It is never empty.
type Errors []Error

// Error is one fault a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Plain makes a text fit for one line of a log or a terminal.
func Plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strings.Trim(strconv.Quote(s), `"`)
	}
	return s
}

// Report adds a fault. What users wrote goes into args and is formatted with %q.
func (r *Reader) Report(line int, format string, args ...any) {
	r.errs = append(r.errs, Error{File: r.File, Line: line, Message: Plain(fmt.Sprintf(format, args...))})
}

// Faults is how many were reported so far.
func (r *Reader) Faults() int { return len(r.errs) }

// Sorted returns the faults by line, each once: an anchor that is used twice is
// found faulty twice.
func (r *Reader) Sorted() Errors {
	slices.SortStableFunc(r.errs, func(a, b Error) int { return cmp.Compare(a.Line, b.Line) })
	seen := make(map[Error]bool, len(r.errs))
	unique := slices.DeleteFunc(r.errs, func(e Error) bool {
		was := seen[e]
		seen[e] = true
		return was
	})
	if more := len(unique) - MaxErrors; more > 0 {
		last := unique[MaxErrors-1].Line
		unique = append(unique[:MaxErrors], Error{File: r.File, Line: last, Message: fmt.Sprintf("and %d faults more from here on", more)})
	}
	return unique
}
