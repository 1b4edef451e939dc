package top

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	tea "charm.land/bubbletea/v2"

	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// question is what is done after a y. Numbers of generations begin again with the
// process, and others pin too: the digest tells whether a number still stands for what
// was asked about.
type question struct {
	replica    int
	release    bool
	generation uint64 // to pin, or the pinned one
	digest     string // of it; "" = the daemon does not say
	applied    string // how long it is ago that it was, to pin
	drawn      bool   // the question was on the screen: y counts from now on
}

// line is the question in a width: what y means must be readable on every terminal, and
// what it is about. The rest of the sentence gives way, the number never does, and of a
// replica (" on NAME", "" for the only one) no more than there is no room for.
func (q *question) line(on string, width int) string {
	const choice, yes = "  y = yes, other keys = no ", "  y = yes "
	verb, rest := "Pin", ", applied "+q.applied+" ago?"
	if q.release {
		verb, rest = "Release", " and publish the newest?"
	}
	number := fmt.Sprint(q.generation)
	forms := [][3]string{
		{verb + " generation " + number, rest, choice}, {verb + " generation " + number, rest, yes},
		{verb + " generation " + number, "?", yes}, {verb + " " + number, "?", yes},
	}
	room := func(f [3]string) int { return width - 2 - len(f[0]) - len(f[1]) - len(f[2]) }
	f := forms[len(forms)-1]
	if i := slices.IndexFunc(forms, func(f [3]string) bool { return plain.Width(on) <= room(f) }); i >= 0 {
		f = forms[i]
	}
	if !q.drawn {
		f[2] = ""
	}
	return spread(" "+f[0]+plain.CutMiddle(on, room(f))+f[1], f[2], width)
}

// notice tells how something went, until the next key.
type notice struct {
	text string
	bad  bool
}

// refusedReadOnly is said instead of a question.
const refusedReadOnly = "Nothing is changed: ramjet-top was started with --read-only"

// underway is said to who quits too early.
const underway = "No answer yet, it may be lost by leaving now: wait, or q again to leave all the same"

// selected is the generation under the cursor, nil if there is none.
func (m *Model) selected() *tally.Applied {
	if m.applied.cursor < 0 || m.applied.cursor >= len(m.timeline) {
		return nil
	}
	return &m.timeline[m.applied.cursor]
}

// askPin asks whether to pin the selected generation. The number is that of this
// moment: the list may move before the answer.
func (m *Model) askPin() tea.Cmd {
	s := m.selected()
	switch {
	case m.options.ReadOnly:
		m.notice = notice{refusedReadOnly, true}
	case s != nil:
		m.asking = &question{
			replica: s.Replica, generation: s.Generation.Generation, digest: s.Digest,
			applied: tally.Age(s.Age),
		}
		return m.untilDrawn(m.asking)
	}
	return nil
}

// askRelease asks whether to release the pin of the replica under the cursor.
func (m *Model) askRelease() tea.Cmd {
	s := m.selected()
	switch {
	case m.options.ReadOnly:
		m.notice = notice{refusedReadOnly, true}
	case s != nil:
		r := m.fleet.Replicas[s.Replica]
		pin, pinned := r.Pin(m.now)
		if !pinned {
			m.notice = notice{"No pin is held" + m.on(s.Replica), false}
			return nil
		}
		digest, _ := r.Digest(pin.Generation)
		m.asking = &question{
			replica: s.Replica, release: true, generation: pin.Generation, digest: digest,
		}
		return m.untilDrawn(m.asking)
	}
	return nil
}

// on names a replica where there are several.
func (m *Model) on(replica int) string {
	if len(m.fleet.Replicas) == 1 {
		return ""
	}
	return " on " + m.fleet.Replicas[replica].Short
}

// moved says what became of the subject of a question by the newest answer of the
// daemon, "" if it is what it was. A y is for what was asked about and for nothing else.
func (m *Model) moved(q question) string {
	r, on := m.fleet.Replicas[q.replica], m.on(q.replica)
	if q.release {
		switch pin, pinned := r.Pin(m.now); {
		case !pinned:
			return "No pin is held any longer" + on + ", nothing was changed"
		case pin.Generation != q.generation:
			return fmt.Sprintf("The pin%s is on generation %d by now, nothing was changed", on, pin.Generation)
		}
	}
	switch digest, kept := r.Digest(q.generation); {
	case !kept && !q.release:
		return fmt.Sprintf("Generation %d%s is not kept any longer, nothing was changed", q.generation, on)
	case digest != q.digest:
		return fmt.Sprintf("Generation %d%s is another one by now, nothing was changed", q.generation, on)
	}
	return ""
}

// answerQuestion takes y for yes and all other keys for no. A y that was typed before the
// question was on the screen, right behind the p, is no answer to it.
func (m *Model) answerQuestion(msg tea.KeyPressMsg) tea.Cmd {
	q := *m.asking
	if msg.String() == "y" && !q.drawn {
		return nil
	}
	m.asking = nil
	if msg.String() != "y" {
		m.notice = notice{"Cancelled: nothing was changed", false}
		return nil
	}
	if why := m.moved(q); why != "" {
		m.notice = notice{why, true}
		return nil
	}
	m.underway++
	return m.carryOut(q)
}

// leave quits. A pin that is still on its way would be broken off, and nobody would
// know what became of it: this is said once, and not asked of Ctrl-C.
func (m *Model) leave(warned bool) tea.Cmd {
	if m.underway > 0 && !warned {
		m.notice = notice{underway, true}
		return nil
	}
	return tea.Quit
}

// outcome puts into words how a pin or a release went. What a proxy on the way says is
// not what the daemon says: it may have done what was asked.
func (m *Model) outcome(d doneMsg) notice {
	var e *adminclient.Error
	on := m.on(d.replica)
	switch {
	case d.err == nil && d.pin.Pinned != nil:
		return notice{fmt.Sprintf("Pinned%s: generation %d serves and stays until it is released", on, d.pin.Serving), false}
	case d.err == nil:
		return notice{fmt.Sprintf("Released%s: generation %d serves", on, d.pin.Serving), false}
	case !errors.As(d.err, &e):
		return notice{plain.Clean(d.err.Error()), true}
	case !e.Told && (e.Status == 0 || e.Status >= http.StatusInternalServerError):
		return notice{"It is not known whether that was done" + on + ": " + e.Reason, true}
	case !e.Told:
	case e.Status == http.StatusUnauthorized && m.options.TokenFile == "":
		return notice{"401" + on + ": it wants a token, nothing was changed: start with --token-file PATH", true}
	case e.Status == http.StatusUnauthorized:
		return notice{fmt.Sprintf("401%s: wrong token, nothing was changed: correct it and start again (%s)", on, plain.Clean(m.options.TokenFile)), true}
	case e.Status == http.StatusConflict && e.Said.Digest != "":
		return notice{fmt.Sprintf("409%s: generation %d is another one by now, nothing was changed", on, d.generation), true}
	case e.Status == http.StatusConflict:
		return notice{"409" + on + ": a pin is held already, nothing was changed: release it first (u)", true}
	case e.Status == http.StatusNotFound && !d.release:
		return notice{fmt.Sprintf("404%s: generation %d is not kept any longer, nothing was changed", on, d.generation), true}
	}
	return notice{"Nothing was changed" + on + ": " + e.Reason, true}
}
