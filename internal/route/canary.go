package route

import "regexp"

// Canary is a second backend that takes a share of a route's requests. It is immutable.
type Canary struct {
	Backend *Backend
	// Weight of WeightTotal is the share. The total is at least 100, the weight at most
	// the total.
	Weight, WeightTotal int
	// Header names the header field of the first rule; "" is no such rule.
	Header string
	// HeaderValue is the value that goes to the canary; "" is none.
	HeaderValue string
	// HeaderPattern is the pattern of values that go to the canary; nil is none, and
	// always beside a HeaderValue.
	HeaderPattern *regexp.Regexp
	// Cookie names the cookie of the second rule; "" is no such rule.
	Cookie string
}

// Fields is what a canary decision asks of a request.
type Fields interface {
	// Field returns the value of a header field, whose name is compared without case.
	// Several field lines are one value, joined by ", " (RFC 9110 §5.3).
	Field(name string) (value string, ok bool)
	// Cookie returns the value of the first cookie of that name. Its case matters.
	Cookie(name string) (value string, ok bool)
}

// Takes decides whether a request goes to the canary. The header is asked first, then
// the cookie, then the weight; each falls through to the next when it has nothing to
// say. roll is a uniformly distributed random number. The decision depends on the
// arguments only and does not allocate.
func (c *Canary) Takes(f Fields, roll uint32) bool {
	if c.Header != "" {
		if value, ok := f.Field(c.Header); ok {
			if takes, decided := c.header(value); decided {
				return takes
			}
		}
	}
	if c.Cookie != "" {
		if value, ok := f.Cookie(c.Cookie); ok {
			if takes, decided := literal(value); decided {
				return takes
			}
		}
	}
	return below(roll, c.Weight, c.WeightTotal)
}

// header judges the value of the header field. With a value or a pattern of its own,
// the rule knows the words "always" and "never" no more.
func (c *Canary) header(value string) (takes, decided bool) {
	switch {
	case c.HeaderValue != "":
		takes = value == c.HeaderValue
		return takes, takes
	case c.HeaderPattern != nil:
		takes = c.HeaderPattern.MatchString(value)
		return takes, takes
	}
	return literal(value)
}

// literal knows two words, byte for byte. Every other value decides nothing.
func literal(value string) (takes, decided bool) {
	return value == "always", value == "always" || value == "never"
}

// below is true for share of total of all rolls.
func below(roll uint32, share, total int) bool {
	return uint64(roll)*uint64(total)>>32 < uint64(share)
}

// Mirror is a backend that gets copies of a route's requests. It is immutable.
type Mirror struct {
	Backend *Backend
	// Percent of the requests are copied, 0 to 100.
	Percent int
	// Host replaces the Host of the copies; "" keeps the client's.
	Host string
}

// Samples decides whether a request is copied. roll is a uniformly distributed random
// number; it should not be the one that decided about the canary, or the copies would
// be of one side only.
func (m *Mirror) Samples(roll uint32) bool { return below(roll, m.Percent, 100) }

// Pick chooses the endpoint of a copy, at random by weight whatever the policy of
// the backend: copies count in no balancing state. nil means that there is none.
func (m *Mirror) Pick() *Endpoint {
	if len(m.Backend.turns) == 0 {
		return nil
	}
	return m.Backend.pickRandom(nil)
}
