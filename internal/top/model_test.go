package top

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ramjet.dev/ingress/internal/admin"
	"ramjet.dev/ingress/internal/adminclient"
	"ramjet.dev/ingress/internal/plain"
	"ramjet.dev/ingress/internal/top/tally"
)

// quiet is a cockpit of replicas of which nothing comes by itself.
func quiet(replicas int) *Model {
	o := Options{Interval: time.Second, Clock: still{}, Location: time.UTC}
	for range replicas {
		o.Sources = append(o.Sources, still{})
	}
	return New(context.Background(), o)
}

// moment is some seconds after the beginning.
func moment(seconds int) tally.Moment {
	return tally.Moment{Clock: time.Duration(seconds) * time.Second, Wall: time.Unix(int64(seconds), 0)}
}

// kept is a reading with one route and two generations, the older one of them pinned.
func kept(seconds int, number uint64, name string) *adminclient.Reading {
	r := &adminclient.Reading{RoutesAt: moment(seconds).Clock, SeriesAt: moment(seconds).Clock}
	r.Routes.Routes = []admin.Route{{Host: name, Path: "/" + name, PathType: "Prefix", Backend: name, Canary: &admin.Canary{Backend: name}}}
	r.Generations = admin.Generations{Serving: number - 1, Pinned: new(number - 1), Generations: []admin.Generation{
		{Generation: number, AppliedAt: moment(seconds).Wall, Diff: admin.Diff{Summary: name, RoutesAdded: []string{name}}}, {Generation: number - 1, AppliedAt: moment(0).Wall, Published: true},
	}}
	return r
}

// press types keys, each a character.
func press(m *Model, keys string) {
	for _, k := range keys {
		msg := tea.KeyPressMsg{Code: k, Text: string(k)}
		if k < ' ' {
			msg = tea.KeyPressMsg{Code: k}
		}
		m.Update(msg)
	}
}

// An answer that was on its way when the pin was set may be older than it: the replica
// is asked again at once, and once.
func TestAnswerOlderThanPin(t *testing.T) {
	m := quiet(1)
	m.Update(tickMsg{moment(1)}) // which asks
	if _, cmd := m.Update(doneMsg{question: question{generation: 41}, at: moment(1), pin: admin.Pin{Pinned: new(uint64(41)), Serving: 41}}); cmd != nil {
		t.Error("asked beside the question that is on its way")
	}
	_, cmd := m.Update(answerMsg{at: moment(1), reading: kept(1, 42, "a")})
	if cmd == nil {
		t.Fatal("not asked again")
	}
	if _, cmd := m.Update(answerMsg{at: moment(2), reading: kept(2, 42, "a")}); cmd != nil {
		t.Error("asked a third time")
	}
}

// Who leaves while a pin is on its way is told, once; nobody else is.
func TestLeavingTooEarly(t *testing.T) {
	q := tea.KeyPressMsg{Code: 'q', Text: "q"}
	quits := func(m *Model, msg tea.KeyPressMsg) bool { _, cmd := m.Update(msg); return cmd != nil }
	pinning := func() *Model {
		m := quiet(1)
		m.Update(answerMsg{at: moment(1), reading: kept(1, 42, "a")})
		press(m, "\tp")
		m.Update(drawnMsg{m.asking})
		press(m, "y")
		return m
	}
	m := pinning()
	if quits(m, q) || m.notice.text != underway {
		t.Errorf("told %q", m.notice.text)
	}
	if !quits(m, q) {
		t.Error("q again does not leave")
	}
	m = pinning()
	m.Update(doneMsg{question: question{generation: 42}, at: moment(2), pin: admin.Pin{Pinned: new(uint64(42)), Serving: 42}})
	if !quits(m, q) {
		t.Error("q does not leave after the answer")
	}
	if m = pinning(); !quits(m, tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}) {
		t.Error("Ctrl-C does not leave")
	}
	if !quits(quiet(1), q) {
		t.Error("q does not leave")
	}
}

// A y that was typed before the question was on the screen is no answer to it, and
// neither is one to a question before; any other key cancels at once.
func TestTypedAhead(t *testing.T) {
	m := quiet(1)
	m.Update(answerMsg{at: moment(1), reading: kept(1, 42, "a")})
	press(m, "\tp")
	first := m.asking
	press(m, "npyy")
	m.Update(drawnMsg{first})
	press(m, "y")
	if m.asking == nil || m.underway != 0 {
		t.Fatal("answered before it was asked")
	}
	if foot := m.foot(); strings.Contains(foot, "y = yes") || !strings.Contains(foot, "Pin generation 42") {
		t.Errorf("the question is %q", foot)
	}
	m.Update(drawnMsg{m.asking})
	if foot := m.foot(); !strings.Contains(foot, "y = yes") {
		t.Errorf("the question is %q", foot)
	}
	if press(m, "y"); m.asking != nil || m.underway != 1 {
		t.Error("not answered")
	}
}

// What is said of a pin that failed is true whoever refused it.
func TestOutcomes(t *testing.T) {
	const changed, unknown = "Nothing was changed: ", "It is not known whether that was done: "
	for _, c := range []struct {
		intent  string
		err     adminclient.Error
		release bool
		want    string
	}{
		{"no answer", adminclient.Error{Reason: "no answer within 10s"}, false, unknown + "no answer within 10s"},
		{"a proxy gave up waiting", adminclient.Error{Status: http.StatusGatewayTimeout, Reason: "504 Gateway Timeout"}, false, unknown + "504 Gateway Timeout"},
		{"the daemon is stopping", adminclient.Error{Status: http.StatusServiceUnavailable, Told: true, Reason: "503: stopping"}, false, changed + "503: stopping"},
		{"a proxy knows no such pod", adminclient.Error{Status: http.StatusNotFound, Reason: "404 Not Found"}, false, changed + "404 Not Found"},
		{"a proxy wants to know who asks", adminclient.Error{Status: http.StatusUnauthorized, Reason: "401 Unauthorized"}, false, changed + "401 Unauthorized"},
		{"the generation is gone", adminclient.Error{Status: http.StatusNotFound, Told: true, Reason: "404: gone"}, false, "404: generation 41 is not kept any longer, nothing was changed"},
		{"there is nothing to release from", adminclient.Error{Status: http.StatusNotFound, Told: true, Reason: "404: no such path"}, true, changed + "404: no such path"},
	} {
		d := doneMsg{question: question{release: c.release}, err: &c.err}
		if !c.release {
			d.generation = 41
		}
		if got := quiet(1).outcome(d); got.text != c.want || !got.bad {
			t.Errorf("%s: %+v, want %s", c.intent, got, c.want)
		}
	}
}

// The numbers of a replica that is gone are dimmed, in both lists, and those of the
// others are not.
func TestDimmed(t *testing.T) {
	m := quiet(2)
	for i, name := range []string{"first", "second"} {
		m.Update(answerMsg{replica: i, at: moment(1), reading: kept(1, 42, name)})
	}
	dim := func(lines []string, text string) bool {
		for _, line := range lines {
			if strings.Contains(line, text) {
				return strings.HasPrefix(line, "\x1b[2m")
			}
		}
		t.Fatalf("no line has %q", text)
		return false
	}
	check := func(intent string, first, second bool) {
		t.Helper()
		for what, lines := range map[string][]string{"routes": m.routesLines(10), "timeline": m.timelineLines(10)} {
			for text, want := range map[string]bool{"first": first, "second": second} {
				if what == "routes" {
					want = first && second // a sum
					text = strings.Fields(m.rows[0].Host)[0]
				}
				if got := dim(lines, text); got != want {
					t.Errorf("%s: %s of %s: dimmed %v", intent, what, text, got)
				}
			}
		}
	}
	check("both answer", false, false)
	m.Update(answerMsg{replica: 1, at: moment(2), err: errors.New("gone")})
	check("one is gone", false, true)
	m.Update(answerMsg{replica: 0, at: moment(3), err: errors.New("gone")})
	check("both are gone", true, true)
}

// No screen is wider or longer than its terminal, whatever is on it, and a question
// says what it is about on every one.
func TestNothingIsWider(t *testing.T) {
	long := strings.Repeat("long-name-日本", 12)
	for _, size := range [][2]int{{1, 1}, {40, 10}, {60, 12}, {80, 24}, {200, 60}} {
		for _, replicas := range []int{1, 12} {
			for _, keys := range []string{"", "h", "/long", "?", "\t", "\t\r", "\tjp", "\tu", "\tpn"} {
				m := quiet(replicas)
				m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				for i := range replicas {
					m.Update(answerMsg{replica: i, at: moment(1), reading: kept(1, 1_234_567, long)})
				}
				m.Update(answerMsg{at: moment(2), err: errors.New(long)})
				press(m, keys)
				if m.asking != nil {
					m.Update(drawnMsg{m.asking})
				}
				lines := m.lines()
				if len(lines) != size[1] {
					t.Errorf("%v, %d replicas, keys %q: %d lines", size, replicas, keys, len(lines))
				}
				for _, line := range lines {
					if w := plain.Width(line); w > size[0] {
						t.Errorf("%v, %d replicas, keys %q: %d columns: %q", size, replicas, keys, w, line)
					}
				}
				if foot := lines[len(lines)-1]; m.asking != nil && size[0] >= leastWidth && size[1] >= leastHeight &&
					!(strings.Contains(foot, fmt.Sprintf(" %d%s", m.asking.generation, m.on(m.asking.replica))) && strings.Contains(foot, "y = yes")) {
					t.Errorf("%v: the question is %q", size, foot)
				}
			}
		}
	}
}

// A generation with more digits than most is not cut to another number.
func TestLongNumbers(t *testing.T) {
	m := quiet(2)
	for i := range 2 {
		m.Update(answerMsg{replica: i, at: moment(1), reading: kept(1, 98_765_432, "a")})
	}
	press(m, "\t")
	text := ansi.Strip(strings.Join(m.lines(), "\n"))
	if newest, pinned := strings.Count(text, " 98765432 "), strings.Count(text, " 98765431 "); newest != 2 || pinned < 5 { // in the lists, the banner and the header
		t.Errorf("numbers are cut:\n%s", text)
	}
}
