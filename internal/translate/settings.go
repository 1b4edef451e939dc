package translate

import (
	"fmt"
	"slices"
	"strings"

	"ramjet.dev/ingress/internal/nearest"
	"ramjet.dev/ingress/internal/route"
)

// settings is what the annotations of an Ingress say. The fields are filled by the rows
// of the table of annotations, which have the defaults.
type settings struct {
	protocol route.Protocol
	// spoken is set when the protocol was asked for and is no default.
	spoken  bool
	regex   bool
	canary  canarySettings
	mirror  mirrorSettings
	promote promoteSettings
}

type canarySettings struct {
	on                             bool
	weight, total                  int
	header, value, pattern, cookie string
	// weighted is set when a weight was given, sound or not.
	weighted bool
	// unsure is set by a total that is none: the share is taken as nothing.
	unsure bool
	// broken is set by a value for which the canary gets no requests.
	broken bool
}

type mirrorSettings struct {
	backend BackendRef // without a namespace it is that of the Ingress
	percent int
	host    string
	// broken is set by a value for which nothing is mirrored.
	broken bool
}

// readSettings reads the annotations of an Ingress. The places of the notes are empty:
// each says which annotation it is about.
func readSettings(annotations map[string]string) (s settings, notes []note) {
	s = defaults
	for _, key := range sortedOwnKeys(annotations) {
		row, known := rowsByKey[key]
		if !known {
			notes = append(notes, unknownKey(key, annotations[key]))
			continue
		}
		if n := row.idle(annotations); n.reason != "" {
			notes = append(notes, n)
			continue
		}
		if err := row.read(&s, annotations[key]); err != nil {
			notes = append(notes, row.refuse(&s, annotations[key], err))
		}
	}
	_, s.spoken = annotations[keyProtocol]
	_, s.canary.weighted = annotations[keyWeight]
	return s, append(notes, s.canary.settle()...)
}

// sortedOwnKeys returns the keys that are meant for us.
func sortedOwnKeys(annotations map[string]string) []string {
	var keys []string
	for key := range annotations {
		if strings.HasPrefix(key, nginxPrefix) || strings.HasPrefix(key, ownPrefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// unknownKey says that a key is not honoured. On migration silence is the worst answer.
func unknownKey(key, value string) note {
	text := "annotation " + plain(key) + ": " + quoted(value)
	switch near := nearestKey(key); {
	case near != "":
		text += " is not known, did you mean " + near + "?"
	case strings.HasPrefix(key, ownPrefix):
		text += " is not known"
	default:
		text += " is not honoured; requests are served without it"
	}
	return note{reason: ReasonUnsupportedAnnotation, text: text}
}

// nearestKey finds the known key that an unknown one was meant to be, "" for none. Most
// keys with the prefix of ingress-nginx are right and only not known here, so of ours it
// must be the very name.
func nearestKey(key string) string {
	prefix, bare, _ := strings.Cut(key, "/")
	var known []string
	for _, r := range rows {
		of, name, _ := strings.Cut(r.key, "/")
		if name == bare {
			return r.key
		}
		if of == prefix || prefix+"/" == ownPrefix {
			known = append(known, name)
		}
	}
	near, ok := nearest.Word(bare, known)
	if !ok {
		return ""
	}
	return rows[slices.IndexFunc(rows, func(r row) bool { return strings.HasSuffix(r.key, "/"+near) })].key
}

// settle puts right what each annotation alone cannot know.
func (c *canarySettings) settle() (notes []note) {
	if c.unsure {
		c.weight = 0
	}
	if c.total < 100 {
		notes = append(notes, note{reason: ReasonInvalidAnnotation, text: fmt.Sprintf("annotation %s: %d is below 100; 100 is used", keyWeightTotal, c.total)})
		c.total = 100
	}
	return notes
}
