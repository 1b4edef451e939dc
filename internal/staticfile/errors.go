package staticfile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// maxErrors is how many faults are listed; a file with more has one cause.
const maxErrors = 1000

// Error is one fault of a route file.
type Error struct {
	File string
	// Line counts from 1; 0 is the file as a whole.
	Line int
	// Message is one line: what is wrong, and what to do where that is not plain.
	Message string
}

// Error is "file:line: message".
func (e Error) Error() string {
	name := plain(e.File)
	if e.Line == 0 {
		return name + ": " + e.Message
	}
	return name + ":" + strconv.Itoa(e.Line) + ": " + e.Message
}

// Errors is all faults of a route file, sorted by line. It is never empty.
type Errors []Error

// Error is one fault a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// plain makes a text fit for one line of a log or a terminal.
func plain(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strings.Trim(strconv.Quote(s), `"`)
	}
	return s
}

// report adds a fault. What users wrote goes into args and is formatted with %q.
func (r *reader) report(line int, format string, args ...any) {
	r.errs = append(r.errs, Error{File: r.file, Line: line, Message: plain(fmt.Sprintf(format, args...))})
}

// sorted returns the faults by line, each once: an anchor that is used twice is
// found faulty twice.
func (r *reader) sorted() Errors {
	slices.SortStableFunc(r.errs, func(a, b Error) int { return cmp.Compare(a.Line, b.Line) })
	seen := make(map[Error]bool, len(r.errs))
	unique := slices.DeleteFunc(r.errs, func(e Error) bool {
		was := seen[e]
		seen[e] = true
		return was
	})
	if more := len(unique) - maxErrors; more > 0 {
		last := unique[maxErrors-1].Line
		unique = append(unique[:maxErrors], Error{File: r.file, Line: last, Message: fmt.Sprintf("and %d faults more from here on", more)})
	}
	return unique
}
