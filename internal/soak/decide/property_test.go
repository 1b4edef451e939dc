package decide

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ramjet.dev/ingress/internal/probation"
)

// machine is a supervisor without a machine: processes are rows, and whatever may
// happen to them happens at random.
type machine struct {
	t      *rapid.T
	w      World
	now    uint64
	ledger []probation.Entry
}

// turn makes moves until there is none, as the loop of a supervisor does.
func (m *machine) turn() {
	for range 100 {
		move := Next(m.w, m.now)
		switch {
		case move.Event != nil:
			m.tell(*move.Event)
			m.counted(move.Of)
		case move.Note != nil:
			m.write(*move.Note)
		case move.Done || len(move.Start)+len(move.Stop) == 0:
			return
		}
		for _, line := range move.Stop {
			m.process(line).Phase = Stopping
		}
		for _, s := range move.Start {
			m.start(s)
		}
	}
	m.t.Fatalf("no end of moves: %s, in %+v", Next(m.w, m.now), m.w)
}

func (m *machine) tell(e probation.Event) {
	if k := m.w.Book; e.Kind == probation.Promoted && !slices.ContainsFunc(m.w.Processes, func(p Process) bool {
		return p.Version == e.Version && p.Line >= k.StartingLine && p.Phase == Ready
	}) {
		m.t.Fatalf("%s is promoted, and was not started for it: %+v", e.Version, m.w)
	}
	_, entries := probation.Step(m.w.Book.State, e)
	for _, entry := range entries {
		m.write(entry)
	}
}

func (m *machine) write(e probation.Entry) {
	book, err := m.w.Book.Add(e)
	if err != nil {
		m.t.Fatal(err)
	}
	m.w.Book = book
	m.ledger = append(m.ledger, e)
	if book.State.Starting == "" {
		m.w.Abandon = ""
	}
}

func (m *machine) process(line int) *Process {
	for i := range m.w.Processes {
		if m.w.Processes[i].Line == line {
			return &m.w.Processes[i]
		}
	}
	m.t.Fatalf("a move is about line %d, of which there is no process: %+v", line, m.w)
	return nil
}

func (m *machine) counted(line int) {
	if line == 0 {
		return
	}
	p := m.process(line)
	switch {
	case p.Phase != Gone:
		p.Counted = true
	case rapid.Bool().Draw(m.t, "something of it is left"):
		p.Phase, p.Counted = Stopping, true
	default:
		m.remove(line)
	}
}

func (m *machine) remove(line int) {
	m.w.Processes = slices.DeleteFunc(m.w.Processes, func(p Process) bool { return p.Line == line })
}

func (m *machine) start(s Start) {
	k := m.w.Book.State
	if s.Version != k.Current && s.Version != k.Starting {
		m.t.Fatalf("%s is started, and nobody wants it: %+v", s.Version, k)
	}
	for _, p := range m.w.Processes {
		if p.Version == s.Version || p.Port == s.Port || p.Line == s.Line {
			m.t.Fatalf("start %+v beside %+v", s, p)
		}
	}
	if s.Line < 1 || s.Line > m.w.Book.Lines {
		m.t.Fatalf("start %+v: the ledger has %d lines", s, m.w.Book.Lines)
	}
	m.w.Processes = append(m.w.Processes, Process{Line: s.Line, Version: s.Version, Port: s.Port, StartedMS: m.now})
}

// crash replaces the supervisor by one that knows what is on the disk. Meanwhile a
// process may have died.
func (m *machine) crash() {
	book := New(policy)
	for _, e := range m.ledger {
		var err error
		if book, err = book.Add(e); err != nil {
			m.t.Fatal(err)
		}
	}
	if book != m.w.Book {
		m.t.Fatalf("read again, the ledger says %+v, and it was %+v", book, m.w.Book)
	}
	var records []Record
	for _, p := range m.w.Processes {
		records = append(records, Record{
			Line: p.Line, Version: p.Version, Port: p.Port, StartedMS: p.StartedMS, Ready: p.Phase == Ready, Stopping: p.Phase == Stopping || p.Counted,
			Alive: p.Phase != Gone && rapid.IntRange(0, 3).Draw(m.t, "lives") > 0,
		})
	}
	found := Recover(book, records, m.now)
	m.w.Processes, m.w.Abandon, m.w.NotBeforeMS, m.w.Closing = found.Processes, "", 0, false
	if found.Abandon {
		m.w.Abandon = probation.ReasonSupervisor
	}
	m.w.Book.Idle = m.w.Book.Idle || found.Idle
}

// happen is one thing that may happen.
func (m *machine) happen() {
	version := func() string { return fmt.Sprintf("v%d", rapid.IntRange(1, 4).Draw(m.t, "version")) }
	m.now += uint64(rapid.IntRange(0, 400).Draw(m.t, "ms"))
	switch rapid.IntRange(0, 9).Draw(m.t, "what") {
	case 0:
		if v := version(); v != m.w.Book.State.Current && v != m.w.Book.State.Starting {
			m.tell(probation.Event{TS: m.now, Kind: probation.Deploy, Version: v})
		}
	case 1:
		m.tell(probation.Event{
			TS: m.now, Kind: probation.Operator, Version: rapid.SampledFrom([]string{"", version()}).Draw(m.t, "back to"),
			Now: rapid.Bool().Draw(m.t, "now"),
		})
	case 2:
		m.crash()
	case 3:
		if rapid.IntRange(0, 5).Draw(m.t, "closing") == 0 {
			m.w.Closing = true
		}
	case 4:
		m.w.NotBeforeMS = m.now + uint64(rapid.IntRange(0, 100).Draw(m.t, "pause"))
	default:
		if len(m.w.Processes) > 0 {
			m.lives(rapid.IntRange(0, len(m.w.Processes)-1).Draw(m.t, "process"))
		}
	}
}

// lives has something happen to a process.
func (m *machine) lives(i int) {
	p := &m.w.Processes[i]
	switch die := rapid.IntRange(0, 2).Draw(m.t, "dies") == 0; {
	case p.Phase == Starting && !die:
		p.Phase, p.ReadyMS = Ready, m.now
	case p.Phase == Stopping || p.Counted && die:
		m.remove(p.Line)
	case die && p.Phase != Gone:
		p.Phase, p.GoneMS = Gone, m.now
	}
}

// TestWhateverHappens: no release runs twice, none is promoted without a start, nothing runs that nobody wants, the
// ledger read again is the state, and when everything is quiet the current release
// runs, alone.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{t: t, w: World{Book: New(policy), Ports: []int{1, 2, 3}[:rapid.IntRange(2, 3).Draw(t, "ports")], DeadlineMS: 500, OverlapMS: 50}}
		m.tell(probation.Event{Kind: probation.Serving, Version: "v1"})
		m.turn()
		for range rapid.IntRange(1, 60).Draw(t, "things") {
			m.happen()
			m.turn()
		}
		m.quiet()
	})
}

// quiet lets all processes do what they are asked to, and wants the world to settle.
func (m *machine) quiet() {
	if m.w.Closing {
		m.crash()
	}
	for range 50 {
		m.turn()
		for _, p := range slices.Clone(m.w.Processes) {
			switch {
			case p.Phase == Stopping:
				m.remove(p.Line)
			case p.Phase == Starting:
				m.process(p.Line).Phase = Ready
			}
		}
		m.now += 1000
	}
	k := m.w.Book.State
	if len(m.w.Processes) != 1 || m.w.Processes[0].Version != k.Current || m.w.Processes[0].Phase != Ready {
		m.t.Fatalf("%s is current, and there is %+v", k.Current, m.w.Processes)
	}
	if k.Phase == probation.PhaseSoaking || k.Starting != "" {
		m.t.Fatalf("it does not settle: %+v", k)
	}
}
