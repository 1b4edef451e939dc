package top

import (
	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"ramjet.dev/ingress/internal/top/tally"
)

type keyMap struct {
	up, down, pageUp, pageDown, home, end   key.Binding
	byRate, byErrors, byLatency, byHost     key.Binding
	filter, other, expand, pin, release     key.Binding
	help, back, quit, quitAtOnce, suspended key.Binding
}

func bind(keyText, does string, keys ...string) key.Binding {
	return key.NewBinding(key.WithKeys(keys...), key.WithHelp(keyText, does))
}

func newKeys(readOnly bool) keyMap {
	k := keyMap{
		up:         bind("k ↑", "up", "k", "up"),
		down:       bind("j ↓", "down", "j", "down"),
		pageUp:     bind("PgUp", "a page up", "pgup"),
		pageDown:   bind("PgDn", "a page down", "pgdown"),
		home:       bind("g Home", "first", "g", "home"),
		end:        bind("G End", "last", "G", "end"),
		byRate:     bind("r", "by requests", "r"),
		byErrors:   bind("e", "by errors", "e"),
		byLatency:  bind("l", "by latency", "l"),
		byHost:     bind("h", "by host", "h"),
		filter:     bind("/", "filter", "/"),
		other:      bind("Tab", "timeline", "tab"),
		expand:     bind("Enter", "diff", "enter"),
		pin:        bind("p", "pin", "p"),
		release:    bind("u", "release", "u"),
		help:       bind("?", "help", "?"),
		back:       bind("Esc", "back", "esc"),
		quit:       bind("q", "quit", "q"),
		quitAtOnce: bind("Ctrl-C", "quit", "ctrl+c"),
		suspended:  bind("Ctrl-Z", "to the shell", "ctrl+z"),
	}
	k.pin.SetEnabled(!readOnly)
	k.release.SetEnabled(!readOnly)
	return k
}

// short are the keys of a screen for its last line.
func (k keyMap) short(s screen) []key.Binding {
	sorts := bind("r e l h", "sort", "r")
	move := bind("j k", "move", "j")
	if s == timelineScreen {
		return []key.Binding{move, k.expand, k.pin, k.release, bind("Tab", "routes", "tab"), k.help, k.quit}
	}
	return []key.Binding{move, sorts, k.filter, k.other, k.help, k.quit}
}

// full are all keys, in columns.
func (k keyMap) full() [][]key.Binding {
	return [][]key.Binding{
		{k.up, k.down, k.pageUp, k.pageDown, k.home, k.end},
		{k.byRate, k.byErrors, k.byLatency, k.byHost, k.filter},
		{bind("Tab", "other screen", "tab"), k.expand, k.pin, k.release},
		{k.help, k.back, k.quit, k.suspended},
	}
}

func newHelp(s styles) help.Model {
	h := help.New()
	h.ShortSeparator, h.FullSeparator = "   ", "   "
	h.Styles = help.Styles{ShortKey: s.key, ShortDesc: s.faint, FullKey: s.key, FullDesc: s.plain, Ellipsis: s.faint}
	return h
}

// handleKey does what a key asks for. What the last key led to is not told any
// longer.
func (m *Model) handleKey(msg tea.KeyPressMsg) tea.Cmd {
	if key.Matches(msg, m.keys.quitAtOnce) {
		return tea.Quit
	}
	warned := m.notice.text == underway
	m.notice = notice{}
	switch {
	case m.asking != nil:
		return m.answerQuestion(msg)
	case m.filtering:
		return m.handleFilterKey(msg)
	case key.Matches(msg, m.keys.quit):
		return m.leave(warned)
	case key.Matches(msg, m.keys.suspended):
		return tea.Suspend
	case key.Matches(msg, m.keys.help):
		m.showHelp = !m.showHelp
	case key.Matches(msg, m.keys.back):
		m.goBack()
	case m.showHelp: // only leaving it and quitting
	case key.Matches(msg, m.keys.other):
		m.screen = routesScreen + timelineScreen - m.screen
	case m.screen == timelineScreen:
		return m.handleTimelineKey(msg)
	default:
		return m.handleRoutesKey(msg)
	}
	return nil
}

// goBack undoes the last step into something.
func (m *Model) goBack() {
	switch {
	case m.showHelp:
		m.showHelp = false
	case m.screen == timelineScreen && m.expanded:
		m.expanded = false
	case m.screen == timelineScreen:
		m.screen = routesScreen
	default:
		m.setFilter("")
	}
}

// handleMove moves in a list of n lines, page lines at a time.
func (m *Model) handleMove(msg tea.KeyPressMsg, l *list, n, page int) {
	switch {
	case key.Matches(msg, m.keys.up):
		l.move(-1, n)
	case key.Matches(msg, m.keys.down):
		l.move(1, n)
	case key.Matches(msg, m.keys.pageUp):
		l.move(-page, n)
	case key.Matches(msg, m.keys.pageDown):
		l.move(page, n)
	case key.Matches(msg, m.keys.home):
		l.move(-n, n)
	case key.Matches(msg, m.keys.end):
		l.move(n, n)
	}
}

func (m *Model) handleRoutesKey(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(msg, m.keys.filter):
		return m.editFilter()
	case key.Matches(msg, m.keys.byRate):
		m.sortBy(tally.ByRequests)
	case key.Matches(msg, m.keys.byErrors):
		m.sortBy(tally.ByErrors)
	case key.Matches(msg, m.keys.byLatency):
		m.sortBy(tally.ByLatency)
	case key.Matches(msg, m.keys.byHost):
		m.sortBy(tally.ByHost)
	default:
		m.handleMove(msg, &m.routes, len(m.rows), m.bodyHeight()-1)
	}
	return nil
}

// sortBy sorts, or reverses what is sorted so already, and shows the first.
func (m *Model) sortBy(order tally.Order) {
	m.reverse = order == m.order && !m.reverse
	m.order = order
	m.routes = list{}
	m.refreshRows()
}

func (m *Model) handleTimelineKey(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(msg, m.keys.expand):
		m.expanded = !m.expanded
		m.refreshDiff()
	case msg.String() == "p":
		return m.askPin()
	case msg.String() == "u":
		return m.askRelease()
	case m.expanded && key.Matches(msg, m.keys.pageUp):
		m.diff.PageUp()
	case m.expanded && key.Matches(msg, m.keys.pageDown):
		m.diff.PageDown()
	default:
		m.handleMove(msg, &m.applied, len(m.timeline), m.bodyHeight()-1)
		m.refreshDiff()
	}
	return nil
}
