package top

import (
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top/tally"
)

// tickMsg says that time went on.
type tickMsg struct{ at tally.Moment }

// answerMsg is what a replica said, or why it said nothing.
type answerMsg struct {
	replica int
	at      tally.Moment
	reading *adminclient.Reading
	err     error
}

// doneMsg is how a pin or a release went.
type doneMsg struct {
	question
	at  tally.Moment
	pin admin.Pin
	err error
}

// drawnMsg says that a question was on the screen.
type drawnMsg struct{ *question }

// fewFrames is the time in which a terminal shows what View returned: frames are a
// sixtieth of a second apart, and the next one waits for a terminal that is slow to take
// this one.
const fewFrames = 50 * time.Millisecond

// untilDrawn tells when a question was on the screen. What is waited for is a terminal:
// this is not the time of Clock.
func (m *Model) untilDrawn(q *question) tea.Cmd {
	return func() tea.Msg {
		shown := time.NewTimer(fewFrames)
		defer shown.Stop()
		select {
		case <-shown.C:
			return drawnMsg{q}
		case <-m.ctx.Done():
			return nil
		}
	}
}

// wait is a tick after a while.
func (m *Model) wait(d time.Duration) tea.Cmd {
	return func() tea.Msg {
		m.options.Clock.Wait(m.ctx, d)
		if m.ctx.Err() != nil {
			return nil
		}
		return tickMsg{m.options.Clock.Now()}
	}
}

// read asks a replica.
func (m *Model) read(replica int) tea.Cmd {
	source := m.options.Sources[replica]
	return func() tea.Msg {
		reading, err := source.Read(m.ctx)
		if m.ctx.Err() != nil {
			return nil
		}
		return answerMsg{replica: replica, at: m.options.Clock.Now(), reading: reading, err: err}
	}
}

// carryOut does what was asked and confirmed.
func (m *Model) carryOut(q question) tea.Cmd {
	source := m.options.Sources[q.replica]
	return func() tea.Msg {
		done := doneMsg{question: q}
		if q.release {
			done.pin, done.err = source.Release(m.ctx)
		} else {
			done.pin, done.err = source.Pin(m.ctx, q.generation, q.digest)
		}
		if m.ctx.Err() != nil {
			return nil
		}
		done.at = m.options.Clock.Now()
		return done
	}
}

// reasonOf is why a replica did not answer, with the path if there are several
// possible ones.
func reasonOf(err error) string {
	var e *adminclient.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	if e.Status != 0 {
		return e.Path + " answers " + e.Reason
	}
	return e.Reason
}
