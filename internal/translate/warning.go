package translate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
)

// The reason words of a [Warning]. Events and logs show them, so none is ever renamed.
const (
	ReasonInvalidAnnotation       = "InvalidAnnotation"       // a value that does not parse, or a key that has no effect where it stands
	ReasonUnsupportedAnnotation   = "UnsupportedAnnotation"   // a key, or a value of a known key, that is not honoured
	ReasonCanaryInert             = "CanaryInert"             // a canary that nothing sends requests to
	ReasonCanaryOrphan            = "CanaryOrphan"            // a canary without a production route
	ReasonCanaryConflict          = "CanaryConflict"          // an older canary has the route
	ReasonMirrorRejected          = "MirrorRejected"          // nothing is mirrored
	ReasonBackendProtocolConflict = "BackendProtocolConflict" // an older Ingress decides the protocol of the Service port
	ReasonHostConflict            = "HostConflict"            // an older Ingress has the certificate of a host
	ReasonPathConflict            = "PathConflict"            // an older Ingress has host, path and path type
	ReasonSecretUnusable          = "SecretUnusable"          // hosts are served without a certificate of the Ingress
	ReasonServiceUnresolved       = "ServiceUnresolved"       // requests are answered 503
	ReasonIngressRejected         = "IngressRejected"         // the Ingress, or the part that is named, is not served
)

// The kinds of a [Ref].
const (
	kindIngress = "Ingress"
	kindService = "Service"
	kindSecret  = "Secret"
)

// Ref names the object that a [Warning] is about.
type Ref struct {
	// Kind is Ingress; or Service or Secret for what a flag names.
	Kind            string
	Namespace, Name string
	// UID is that of an Ingress, "" for what a flag names.
	UID types.UID
}

// String returns "Kind namespace/name".
func (r Ref) String() string { return r.Kind + " " + plain(r.Namespace) + "/" + plain(r.Name) }

// Warning says that something in an object could not be honoured.
type Warning struct {
	Object Ref
	// Reason is one of the Reason words.
	Reason string
	// Message is one line: what, where, and what to do. What it quotes is escaped, and
	// its length is at most 1,000 bytes, so that it fits the note of an Event.
	Message string
}

// String returns the warning on one line.
func (w Warning) String() string { return w.Object.String() + ": " + w.Reason + ": " + w.Message }

const (
	// maxMessage bounds a message, in bytes. The API server refuses an Event whose note
	// has 1,024.
	maxMessage = 1000
	// maxPerReason bounds the warnings of one object and reason. What exceeds it is
	// counted in one more.
	maxPerReason = 200
	// maxQuoted bounds what a message quotes of one value, in bytes before escaping.
	maxQuoted = 120
)

// note is a warning before notes that differ in their place only are put together.
type note struct {
	object Ref
	reason string
	// where is the place in the object; "" is the object as a whole.
	where string
	text  string
}

// render makes warnings of notes: sorted, each once, bounded in number and length. Equal
// notes about several places are one warning that names the first of them and counts the
// others.
func render(notes []note) []Warning {
	notes = slices.Clone(notes)
	slices.SortFunc(notes, compareNotes)
	var list []Warning
	ofKind, left := 0, 0
	for start := 0; start < len(notes); {
		n := notes[start]
		end, places := start+1, 1
		for ; end < len(notes) && notes[end].sameAs(n); end++ {
			if notes[end].where != notes[end-1].where {
				places++
			}
		}
		if ofKind++; ofKind > maxPerReason {
			left++
		} else {
			list = append(list, Warning{n.object, n.reason, n.message(places)})
		}
		start = end
		if start < len(notes) && notes[start].object == n.object && notes[start].reason == n.reason {
			continue
		}
		if left > 0 {
			list = append(list, Warning{n.object, n.reason, fmt.Sprintf("and %d more warnings of this kind", left)})
		}
		ofKind, left = 0, 0
	}
	slices.SortFunc(list, compareWarnings)
	return list
}

func (n note) sameAs(m note) bool {
	return n.object == m.object && n.reason == m.reason && n.text == m.text
}

func (n note) message(places int) string {
	s := n.text
	switch {
	case places > 1:
		s = fmt.Sprintf("%s and %d more: %s", n.where, places-1, n.text)
	case n.where != "":
		s = n.where + ": " + n.text
	}
	if len(s) > maxMessage {
		s = cutAt(s, maxMessage-len("…")) + "…"
	}
	return s
}

func compareRefs(a, b Ref) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
		strings.Compare(string(a.UID), string(b.UID)),
	)
}

func compareNotes(a, b note) int {
	return cmp.Or(
		compareRefs(a.object, b.object),
		strings.Compare(a.reason, b.reason),
		strings.Compare(a.text, b.text),
		strings.Compare(a.where, b.where),
	)
}

func compareWarnings(a, b Warning) int {
	return cmp.Or(
		compareRefs(a.Object, b.Object),
		strings.Compare(a.Reason, b.Reason),
		strings.Compare(a.Message, b.Message),
	)
}

// quoted writes a value into a message: escaped, and bounded.
func quoted(s string) string {
	if len(s) <= maxQuoted {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("%q… (%d bytes)", cutAt(s, maxQuoted), len(s))
}

// plain writes a name or path into a message as it is, if it is printable ASCII without
// spaces or quotes and not too long; else like quoted.
func plain(s string) string {
	if s == "" || len(s) > maxObjectName || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) {
		return quoted(s)
	}
	return s
}

// cutAt returns at most n bytes of s, not ending within a character.
func cutAt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
