// Package audit says what happened to the configuration, as typed events.
//
// An event is plain data with one fixed text form for each of its readers: a
// one-line message for people, named attributes in a fixed order for log
// pipelines, and both together as String for scripts and tests. Sinks take
// events; the one that writes the structured log is here, others stand where
// their transport is.
//
// Guarantees: the names and order of attributes never change and are only ever
// added to; a message is one line in which no byte can act on a terminal or
// forge a second record, whatever names users gave to their objects; no event
// has a field that could hold a secret.
//
// The package never knows how a generation is compiled or published, HTTP,
// Kubernetes, or the time.
package audit

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ramjet.dev/ingress/internal/route"
)

// Event is one entry of the audit trail. Events are immutable values.
type Event interface {
	// Kind is the fixed word for the type: config, pin or resume.
	Kind() string
	// Message is one line in words, without control characters.
	Message() string
	// Attrs are the named values of the structured record: target=audit first,
	// then event=Kind, then the event's own in their fixed order.
	Attrs() []slog.Attr
	// String is the message and the attributes on one line.
	String() string
}

// Sink takes events. The single writer of the configuration calls Record between
// two publishes, in the order of events: Record must not block, and what it has
// to do that takes time it does elsewhere.
type Sink interface {
	Record(Event)
}

// Config says that a generation was recorded.
type Config struct {
	// Generation is its number, Previous that of the one it was compared with
	// (0 for the first).
	Generation, Previous uint64
	// Published is false where a pin held the generation back.
	Published bool
	// Diff is what changed between the two.
	Diff route.Diff
	// Warning is a remark for people about a change that looks like an accident,
	// with the way back. Empty = nothing to remark.
	Warning string
}

// Kind is "config".
func (Config) Kind() string { return "config" }

// Message is the summary of the diff.
func (e Config) Message() string { return Escape(e.Diff.Summary(e.Previous, e.Generation)) }

// Attrs gives the lists of the diff as their lengths: a record stays one line
// however many routes changed, and the lists stand in the history.
func (e Config) Attrs() []slog.Attr {
	d := e.Diff
	attrs := append(head(e),
		slog.Uint64("generation", e.Generation),
		slog.Uint64("previous", e.Previous),
		slog.Bool("published", e.Published),
		slog.Int("routes_added", len(d.RoutesAdded)),
		slog.Int("routes_removed", len(d.RoutesRemoved)),
		slog.Int("backends_changed", len(d.BackendsChanged)),
		slog.Int("hosts_added", len(d.HostsAdded)),
		slog.Int("hosts_removed", len(d.HostsRemoved)),
		slog.Int("certs_added", len(d.CertsAdded)),
		slog.Int("certs_removed", len(d.CertsRemoved)),
		slog.Int("certs_rotated", len(d.CertsRotated)),
		slog.Int("mirrors_added", len(d.MirrorsAdded)),
		slog.Int("mirrors_removed", len(d.MirrorsRemoved)),
		slog.Bool("default_backend_changed", d.DefaultBackendChanged),
	)
	if e.Warning != "" {
		attrs = append(attrs, slog.String("warning", Escape(e.Warning)))
	}
	return attrs
}

// String is the message and the attributes on one line.
func (e Config) String() string { return line(e) }

// Pin says that a recorded generation was put back on the wire and is held there.
type Pin struct {
	// Generation is the pinned one, Replaced the one that served until then;
	// both are the same where the serving one was pinned.
	Generation, Replaced uint64
}

// Kind is "pin".
func (Pin) Kind() string { return "pin" }

// Message names both generations.
func (e Pin) Message() string {
	return fmt.Sprintf("pinned to generation %d (was serving %d)", e.Generation, e.Replaced)
}

// Attrs are generation and replaced.
func (e Pin) Attrs() []slog.Attr {
	return append(head(e), slog.Uint64("generation", e.Generation), slog.Uint64("replaced", e.Replaced))
}

// String is the message and the attributes on one line.
func (e Pin) String() string { return line(e) }

// Resume says that a pin was released and the newest generation serves again.
type Resume struct {
	// Generation is the one that serves now.
	Generation uint64
}

// Kind is "resume".
func (Resume) Kind() string { return "resume" }

// Message names the generation.
func (e Resume) Message() string {
	return fmt.Sprintf("pin released, serving generation %d", e.Generation)
}

// Attrs is generation.
func (e Resume) Attrs() []slog.Attr {
	return append(head(e), slog.Uint64("generation", e.Generation))
}

// String is the message and the attributes on one line.
func (e Resume) String() string { return line(e) }

// head is what every record begins with. The target lets a pipeline keep
// configuration changes and nothing else.
func head(e Event) []slog.Attr {
	attrs := make([]slog.Attr, 0, 18)
	return append(attrs, slog.String("target", "audit"), slog.String("event", e.Kind()))
}

// line joins the message and the attributes; values that hold anything but
// plain words are quoted.
func line(e Event) string {
	var b strings.Builder
	b.WriteString(e.Message())
	for _, a := range e.Attrs() {
		value := a.Value.String()
		if value == "" || strings.ContainsAny(value, " =\"\\") {
			value = strconv.Quote(value)
		}
		b.WriteString(" " + a.Key + "=" + value)
	}
	return b.String()
}

// Escape makes a text safe to be part of one line on a terminal: every character
// that is not printable (control characters of both sets, line and paragraph
// separators, direction overrides, bytes that are not UTF-8) is written as a
// backslash escape. The text is returned as it is where there is none.
func Escape(text string) string {
	if !strings.ContainsFunc(text, mustEscape) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case mustEscape(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

func mustEscape(r rune) bool { return !unicode.IsPrint(r) }
