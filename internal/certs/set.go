package certs

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"ramjet.dev/ingress/internal/route"
)

// Set is the certificates of one generation by identity. It is immutable: any
// number of goroutines may read it without a lock. A nil *Set is an empty one.
//
// Sets share the parsed certificates of identities that they have in common; a
// certificate that no kept set holds any more is let go by the garbage
// collector.
type Set struct {
	entries map[route.CertID]entry
}

// entry is what became of one identity: a certificate, or the reason why there
// is none. Failures are kept too, so that a broken pair that nobody repairs is
// not parsed again by every rebuild.
type entry struct {
	id              route.CertID
	namespace, name string
	cert            *tls.Certificate // nil where problem is set
	problem         *Problem
}

// Problem says why a pair was left out.
type Problem struct {
	// ID is the identity of the material.
	ID route.CertID
	// Namespace and Name are those of the material.
	Namespace, Name string
	// Reason is one of the Reason words of this package.
	Reason string
	// Message is one line that tells the owner of the pair what to do. It holds
	// nothing of the key.
	Message string
}

// String is "namespace/name: message".
func (p Problem) String() string { return source(p.Namespace, p.Name) + ": " + p.Message }

// Expiry is a certificate that has expired or is about to.
type Expiry struct {
	ID              route.CertID
	Namespace, Name string
	// NotAfter is the last moment at which the leaf is valid.
	NotAfter time.Time
}

// Expired reports whether the certificate is past its end at now. At its last moment
// it is still valid (RFC 5280 §4.1.2.5).
func (e Expiry) Expired(now time.Time) bool { return now.After(e.NotAfter) }

// Each does a piece of work for each of 0 to n-1, in any order and perhaps several at a
// time, and returns when all are done. It is how a caller that has goroutines lends them.
type Each func(n int, do func(i int))

// Build makes the set that holds want. Identities that one of the kept sets
// holds are taken from it, the same parsed certificate or the same problem;
// exactly the others are parsed, and parsed is their number, those that failed
// included. Material that appears twice counts once.
//
// Problems are returned for every wanted pair that is not usable, newly found
// or not, sorted by namespace, name and identity: whoever reports them compares
// with what it reported before.
func Build(want []Material, kept ...*Set) (s *Set, parsed int, problems []Problem) {
	return inTurn.Build(want, kept...)
}

// Build is [Build], with the parsing done by each: about 50 µs for a pair.
func (each Each) Build(want []Material, kept ...*Set) (s *Set, parsed int, problems []Problem) {
	s = &Set{entries: make(map[route.CertID]entry, len(want))}
	var ids []route.CertID // of those to be parsed
	var unknown []Material
	for _, m := range want {
		id := m.ID()
		if _, twice := s.entries[id]; twice {
			continue
		}
		e, held := find(id, kept)
		if !held {
			ids, unknown = append(ids, id), append(unknown, m)
		}
		s.entries[id] = e
	}
	entries := make([]entry, len(ids))
	each(len(ids), func(i int) { entries[i] = newEntry(ids[i], unknown[i]) })
	each.checkLinks(entries)
	for i, id := range ids {
		s.entries[id] = entries[i]
	}
	for _, e := range s.entries {
		if e.problem != nil {
			problems = append(problems, *e.problem)
		}
	}
	slices.SortFunc(problems, compareProblems)
	return s, len(ids), problems
}

// inTurn does one after the other.
var inTurn Each = func(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// find looks for an identity in the first kept set that knows it.
func find(id route.CertID, kept []*Set) (entry, bool) {
	for _, k := range kept {
		if k == nil {
			continue
		}
		if e, ok := k.entries[id]; ok {
			return e, true
		}
	}
	return entry{}, false
}

func newEntry(id route.CertID, m Material) entry {
	cert, fault := parsePair(m.Cert, m.Key)
	e := entry{id: id, namespace: m.Namespace, name: m.Name, cert: cert}
	if fault != nil {
		e.fail(fault)
	}
	return e
}

// fail makes a problem of the entry.
func (e *entry) fail(f *fault) {
	e.cert = nil
	e.problem = &Problem{ID: e.id, Namespace: e.namespace, Name: e.name, Reason: f.reason, Message: f.message}
}

func compareProblems(a, b Problem) int {
	if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(a.Name, b.Name); c != 0 {
		return c
	}
	return compareIDs(a.ID, b.ID)
}

func compareIDs(a, b route.CertID) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Get returns the certificate of an identity, its Leaf filled, or nil when the
// set does not hold a usable one. It does not allocate. The certificate is
// shared: do not modify it.
func (s *Set) Get(id route.CertID) *tls.Certificate {
	if s == nil {
		return nil
	}
	return s.entries[id].cert
}

// Len is the number of usable certificates.
func (s *Set) Len() int { return len(s.IDs()) }

// IDs returns the identities of the usable certificates in rising order.
func (s *Set) IDs() []route.CertID {
	if s == nil {
		return nil
	}
	ids := slices.SortedFunc(maps.Keys(s.entries), compareIDs)
	return slices.DeleteFunc(ids, func(id route.CertID) bool { return s.entries[id].cert == nil })
}

// EarliestExpiry is the first moment at which a leaf of the set ends, past or
// future. It is false for a set without certificates.
func (s *Set) EarliestExpiry() (time.Time, bool) {
	var earliest time.Time
	ids := s.IDs()
	for _, id := range ids {
		end := s.Get(id).Leaf.NotAfter
		if earliest.IsZero() || end.Before(earliest) {
			earliest = end
		}
	}
	return earliest, len(ids) > 0
}

// Expiring returns the certificates whose leaf has ended at now or ends within
// the given time from now, the earliest first, then by identity.
func (s *Set) Expiring(now time.Time, within time.Duration) []Expiry {
	var out []Expiry
	limit := now.Add(within)
	for _, id := range s.IDs() {
		e := s.entries[id]
		if end := e.cert.Leaf.NotAfter; !end.After(limit) {
			out = append(out, Expiry{ID: id, Namespace: e.namespace, Name: e.name, NotAfter: end})
		}
	}
	slices.SortStableFunc(out, func(a, b Expiry) int { return a.NotAfter.Compare(b.NotAfter) })
	return out
}

// Format prints the number of certificates whatever the verb: what a set holds
// must not end up in a log.
func (s *Set) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, fmt.Sprintf("certs.Set(%d)", s.Len()))
}

// MarshalText encodes the same as Format, for encoders of JSON and logs.
func (s *Set) MarshalText() ([]byte, error) { return []byte(fmt.Sprint(s)), nil }
