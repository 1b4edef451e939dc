package translate

import "strings"

const (
	// nginxPrefix is the prefix where ingress-nginx has the name.
	nginxPrefix = "nginx.ingress.kubernetes.io/"
	// ownPrefix is the prefix of what only we have.
	ownPrefix = "ramjet.dev/"
)

// row is one annotation. A new one is a row of the table, a field of settings, and the
// step of the translation that uses it.
type row struct {
	// key is whole, with its prefix.
	key string
	// form describes the accepted values for people.
	form string
	// fallback is the default as it would be written; "" is none.
	fallback string
	// doc is a line for people: what it does.
	doc string
	// needs is a key without which this one has no effect, and beside one with which it
	// has none; "" is none.
	needs, beside string
	// reason is that of the warning about a bad value.
	reason string
	// outcome says what becomes of a bad value; "" is "DEFAULT is used".
	outcome string
	// read parses a value into its place. The error completes a sentence that begins
	// with the value.
	read func(s *settings, value string) error
	// spoil notes that a bad value was there; nil is nothing to note.
	spoil func(s *settings)
}

// field completes a row with a parser and the place where the value lands. Values are
// trimmed first: no annotation has a use for surrounding spaces, and YAML blocks end in a
// newline.
func field[T any](r row, parse func(string) (T, error), place func(*settings) *T) row {
	r.read = func(s *settings, value string) error {
		v, err := parse(strings.TrimSpace(value))
		if err == nil {
			*place(s) = v
		}
		return err
	}
	if r.reason == "" {
		r.reason = ReasonInvalidAnnotation
	}
	return r
}

// idle returns the note about an annotation that has no effect where it stands; without a
// reason it has one.
func (r *row) idle(annotations map[string]string) note {
	present := func(key string) bool { return strings.TrimSpace(annotations[key]) != "" }
	switch {
	case r.needs != "" && !present(r.needs):
		return note{reason: ReasonInvalidAnnotation, text: "annotation " + r.key + " has no effect without " + r.needs}
	case r.beside != "" && present(r.beside):
		return note{reason: ReasonInvalidAnnotation, text: "annotation " + r.key + " has no effect beside " + r.beside}
	}
	return note{}
}

// unsupported is the error of a value that ingress-nginx knows and we do not honour.
type unsupported struct{ why string }

func (u unsupported) Error() string { return u.why }

// refuse makes a note of a bad value.
func (r *row) refuse(s *settings, value string, err error) note {
	if r.spoil != nil {
		r.spoil(s)
	}
	reason, outcome := r.reason, r.outcome
	if _, ok := err.(unsupported); ok {
		reason = ReasonUnsupportedAnnotation
	}
	if outcome == "" {
		outcome = r.fallback + " is used"
	}
	return note{reason: reason, text: "annotation " + r.key + ": " + quoted(value) + " " + err.Error() + "; " + outcome}
}

// defaults are the settings of an Ingress without annotations.
var defaults = func() (s settings) {
	for _, r := range rows {
		if r.fallback == "" {
			continue
		}
		if err := r.read(&s, r.fallback); err != nil {
			panic("translate: the default of " + r.key + " " + err.Error())
		}
	}
	return s
}()

var rowsByKey = func() map[string]*row {
	m := make(map[string]*row, len(rows))
	for i := range rows {
		m[rows[i].key] = &rows[i]
	}
	return m
}()
