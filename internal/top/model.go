// Package top is the cockpit: a terminal program that asks daemons for their routes,
// generations and metrics, and draws rates, the timeline of generations and the pin.
//
// It is a model with Init, Update and View: messages carry what happened and when, so
// a screen is a function of the messages before it; effects (asking, waiting, pinning)
// are commands that Update returns. Sources and clock are given by the caller.
//
// Guarantees: nothing is changed without a y; what is shown of a daemon that is gone
// is marked as old; only the rows that are visible are drawn; no line is wider than
// the terminal. The package never knows flags, and nothing of what a daemon does
// inside.
package top

import (
	"context"
	"slices"
	"time"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/textinput"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/top/tally"
)

// Source is one daemon: *adminclient.Client.
type Source interface {
	Target() adminclient.Target
	Read(ctx context.Context) (*adminclient.Reading, error)
	Pin(ctx context.Context, generation uint64, digest string) (admin.Pin, error)
	Release(ctx context.Context) (admin.Pin, error)
}

// Clock tells the time and waits for it.
type Clock interface {
	// Now reads both clocks.
	Now() tally.Moment
	// Wait returns after d, or when ctx is done.
	Wait(ctx context.Context, d time.Duration)
}

// Options says what to watch and what may be done.
type Options struct {
	// Sources are the daemons, at least one.
	Sources []Source
	// Interval is the time between two questions to a daemon. Required.
	Interval time.Duration
	// ReadOnly refuses pin and release, and hides their keys.
	ReadOnly bool
	// TokenFile is where the token of the sources came from, for advice. "" = none.
	TokenFile string
	// Clock is that of the machine. Required.
	Clock Clock
	// Location is where times of day are told. nil = local.
	Location *time.Location
}

// screen is one of the two.
type screen int

const (
	routesScreen screen = iota
	timelineScreen
)

// Model is the state of the cockpit. It is used by one goroutine at a time.
type Model struct {
	options Options
	ctx     context.Context // of the commands
	fleet   *tally.Fleet
	asked   bool // anybody

	now  tally.Moment  // of the last message that told it
	next time.Duration // when to ask again, on the clock
	// changed are replicas that were told something while an answer of theirs was on
	// its way: it may be older than the change.
	changed map[int]bool

	width, height int
	screen        screen
	showHelp      bool
	notice        notice
	asking        *question
	underway      int // pins and releases whose outcome is not known yet

	order     tally.Order
	reverse   bool
	rows      []*tally.Row // sorted and filtered
	known     int          // rows before the filter
	wants     wants
	routes    list
	filter    textinput.Model
	filtering bool

	timeline []tally.Applied
	applied  list
	expanded bool // the diff of the selected generation is shown
	diff     viewport.Model
	diffOf   diffKey

	keys  keyMap
	help  help.Model
	style styles
}

// New returns a model. Its commands end when ctx is done.
func New(ctx context.Context, o Options) *Model {
	if o.Location == nil {
		o.Location = time.Local
	}
	var names []string
	for _, s := range o.Sources {
		names = append(names, s.Target().Name)
	}
	m := &Model{
		options: o, ctx: ctx, fleet: tally.NewFleet(names, o.Interval), changed: make(map[int]bool),
		width: 80, height: 24,
		keys: newKeys(o.ReadOnly), style: newStyles(),
	}
	m.fleet.Shorten(m.nameWidth())
	m.help = newHelp(m.style)
	m.filter = newFilter(m.style)
	m.diff = viewport.New()
	return m
}

// Answered reports whether any daemon ever answered.
func (m *Model) Answered() bool {
	for _, r := range m.fleet.Replicas {
		if r.Known() {
			return true
		}
	}
	return false
}

// Asked reports whether any daemon was ever asked.
func (m *Model) Asked() bool { return m.asked }

// Init begins to watch.
func (m *Model) Init() tea.Cmd {
	return func() tea.Msg { return tickMsg{m.options.Clock.Now()} }
}

// Update takes a message in and returns what to do next.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.fleet.Shorten(m.nameWidth())
		m.refreshDiff()
	case tickMsg:
		return m, m.handleTick(msg)
	case answerMsg:
		return m, m.handleAnswer(msg)
	case doneMsg:
		return m, m.handleDone(msg)
	case drawnMsg:
		msg.drawn = true // of another question that is asked by now it does not matter
	case tea.KeyPressMsg:
		return m, m.handleKey(msg)
	default:
		if m.filtering { // the blinking of its cursor, or a paste
			return m, m.updateFilter(msg)
		}
	}
	return m, nil
}

// handleTick asks those who are due and waits for the next tick. A replica that has
// not answered yet is not asked again.
func (m *Model) handleTick(msg tickMsg) tea.Cmd {
	m.now = msg.at
	var cmds []tea.Cmd
	if m.now.Clock >= m.next {
		if m.next > 0 {
			m.fleet.Sample(m.now)
		}
		late := (m.now.Clock - m.next) % m.options.Interval
		m.next = m.now.Clock - late + m.options.Interval // what was missed is not made up for
		for i := range m.fleet.Replicas {
			cmds = append(cmds, m.ask(i))
		}
	}
	m.refresh()
	return tea.Batch(append(cmds, m.wait(min(time.Second, m.next-m.now.Clock)))...)
}

// ask has a replica read, unless its answer is waited for already.
func (m *Model) ask(replica int) tea.Cmd {
	r := m.fleet.Replicas[replica]
	if r.Waiting() {
		return nil
	}
	r.Asked(m.now)
	m.asked = true
	return m.read(replica)
}

func (m *Model) handleAnswer(msg answerMsg) (next tea.Cmd) {
	m.now = msg.at
	if r := m.fleet.Replicas[msg.replica]; msg.err != nil {
		r.Failed(reasonOf(msg.err))
	} else {
		r.Answered(msg.at, msg.reading)
	}
	if m.changed[msg.replica] {
		delete(m.changed, msg.replica)
		next = m.ask(msg.replica)
	}
	if !slices.ContainsFunc(m.fleet.Replicas, (*tally.Replica).Waiting) {
		m.refresh() // adding replicas up is done once, when all have answered
	}
	return next
}

// refresh brings what is drawn up to date.
func (m *Model) refresh() {
	m.refreshRows()
	m.refreshTimeline()
}

// handleDone tells how a pin or a release went, and looks at the effect at once.
func (m *Model) handleDone(msg doneMsg) tea.Cmd {
	m.now = msg.at
	m.underway--
	m.notice = m.outcome(msg)
	if m.fleet.Replicas[msg.replica].Waiting() {
		m.changed[msg.replica] = true
	}
	return m.ask(msg.replica)
}
