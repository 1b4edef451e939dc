package watch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	// repeatOutage is the time between two lines about one outage.
	repeatOutage = time.Minute
	// slow is how long reading for the first time may take without a word.
	slow = 10 * time.Second
	// repeatRefusal is the same for a kind that is served without.
	repeatRefusal = time.Hour
)

// notice is one line for the log.
type notice struct {
	text  string
	good  bool // that something is over
	attrs []any
}

// herald decides what is to be said of the conditions, and when. It belongs to one
// goroutine.
type herald struct {
	server string
	said   map[string]time.Time // by trouble: when it was last said
	open   map[string]bool      // the troubles that were said and are not over
}

// trouble is one thing that is wrong.
type trouble struct {
	key   string // the same as long as it is the same trouble
	every time.Duration
	notice
}

// notices are the lines that are due at now. complete reports whether everything was
// read once. next is when to ask again at the latest, 0 = when something changes.
func (h *herald) notices(now time.Time, complete bool, all []Condition) (lines []notice, next time.Duration) {
	if h.said == nil {
		h.said, h.open = make(map[string]time.Time), make(map[string]bool)
	}
	found := make(map[string]bool)
	if !complete {
		next = slow // to see whether it takes long
	}
	for _, t := range h.troubles(now, complete, all) {
		found[t.key] = true
		last, before := h.said[t.key]
		if due := last.Add(t.every); before && now.Before(due) {
			next = soonest(next, due.Sub(now))
			continue
		}
		h.said[t.key], h.open[t.key] = now, true
		next = soonest(next, t.every)
		lines = append(lines, t.notice)
	}
	for _, key := range slices.Sorted(maps.Keys(h.open)) {
		if found[key] {
			continue
		}
		delete(h.open, key)
		if key != unfinished { // its end is the first generation, or a trouble of another kind
			lines = append(lines, notice{text: over(key), good: true, attrs: []any{"server", h.server}})
		}
	}
	return lines, next
}

func soonest(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

const (
	unreachable  = "unreachable"
	unfinished   = "unfinished"
	unauthorized = "unauthorized"
	busy         = "busy"
)

// over is what is said when a trouble has passed.
func over(key string) string {
	switch key {
	case unreachable:
		return "the API server answers again"
	case unauthorized:
		return "the API server knows us again"
	case busy:
		return "the API server takes our requests again"
	}
	return "the API server allows again to read " + key
}

// troubles are what is wrong now: one for all kinds whose requests get no answer, or that
// of a stranger or a busy server, and one for each kind that is refused.
func (h *herald) troubles(now time.Time, complete bool, all []Condition) []trouble {
	var silent, unread, unknown, later []Condition
	var found []trouble
	for _, c := range all {
		switch {
		case c.Up || c.err == nil:
			if !complete && !c.Synced && now.Sub(c.Since) >= slow {
				unread = append(unread, c)
			}
		case c.failure == failureUnreachable:
			silent = append(silent, c)
		case c.failure == failureUnauthorized:
			unknown = append(unknown, c)
		case now.Sub(c.Since) < patience:
			// it may be a moment's refusal
		case c.failure == failureBusy:
			later = append(later, c)
		default:
			found = append(found, h.refusal(complete, c))
		}
	}
	if len(unknown) > 0 {
		found = append(found, h.stranger(complete, unknown))
	}
	if len(later) > 0 {
		found = append(found, h.busy(complete, later))
	}
	if len(silent) > 0 {
		found = append(found, h.outage(complete, silent))
	} else if len(unread) > 0 {
		found = append(found, trouble{key: unfinished, every: repeatOutage, notice: notice{
			text:  "not ready, since the API server has not sent everything yet: still waiting",
			attrs: []any{"server", h.server, "reading", names(unread)},
		}})
	}
	return found
}

// names are the kinds, in words.
func names(all []Condition) string {
	var names []string
	for _, c := range all {
		names = append(names, c.Resource)
	}
	return strings.Join(names, ",")
}

func (h *herald) outage(complete bool, silent []Condition) trouble {
	since := silent[0].Since
	for _, c := range silent {
		if c.Since.Before(since) {
			since = c.Since
		}
	}
	text := "the API server does not answer: still trying; what was read before stays in effect"
	if !complete {
		text = "not ready, since the API server does not answer: still trying"
	}
	return trouble{key: unreachable, every: repeatOutage, notice: notice{text: text, attrs: []any{
		"server", h.server, "error", oneLine(silent[0].err), "since", since.UTC().Format(time.RFC3339), "reading", names(silent),
	}}}
}

func (h *herald) busy(complete bool, later []Condition) trouble {
	text := "the API server has too many requests: still trying; what was read before stays in effect"
	if !complete {
		text = "not ready, since the API server has too many requests: still trying"
	}
	return trouble{key: busy, every: repeatOutage, notice: notice{text: text, attrs: []any{
		"server", h.server, "error", oneLine(later[0].err), "reading", names(later),
	}}}
}

func (h *herald) stranger(complete bool, unknown []Condition) trouble {
	text := "the API server does not know who we are: check the token or certificate of this client"
	if !complete {
		text = "not ready: " + text
	}
	return trouble{key: unauthorized, every: repeatOutage, notice: notice{text: text, attrs: []any{
		"server", h.server, "error", oneLine(unknown[0].err), "reading", names(unknown),
	}}}
}

func (h *herald) refusal(complete bool, c Condition) trouble {
	every := repeatOutage
	text := fmt.Sprintf("the API server does not let us read %s: allow get, list and watch (it takes effect by itself)", c.Resource)
	switch {
	case c.Resource == secrets:
		text = "no TLS from Secrets, since we may not read them: HTTP is served without; allow get, list and watch on secrets (it takes effect by itself)"
		every = repeatRefusal
	case !complete:
		text = "not ready: " + text
	}
	return trouble{key: c.Resource, every: every, notice: notice{text: text, attrs: []any{"server", h.server, "error", oneLine(c.err)}}}
}

// oneLine is the text of an error, without the line breaks that a server could have sent.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
