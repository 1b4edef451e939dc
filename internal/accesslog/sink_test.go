package accesslog

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// sink keeps what is written to it, a string a Write. take, if set, decides how much
// of a write it takes and with which error; a nil function takes all.
type sink struct {
	mu     sync.Mutex
	writes []string
	times  []time.Time
	take   func(p []byte) (int, error)
}

func (s *sink) Write(p []byte) (n int, err error) {
	s.mu.Lock()
	take := s.take
	s.mu.Unlock()
	n = len(p)
	if take != nil {
		n, err = take(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, string(p[:n]))
	s.times = append(s.times, time.Now())
	return n, err
}

// work makes it take all from now on.
func (s *sink) work() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take = nil
}

// count is how many writes there were.
func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.writes)
}

// all is everything that was written.
func (s *sink) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.writes, "")
}

// hold makes a sink that takes nothing until it is let go.
func hold() (s *sink, started <-chan struct{}, letGo func()) {
	begun, gate := make(chan struct{}, 1000), make(chan struct{})
	s = &sink{take: func(p []byte) (int, error) {
		begun <- struct{}{}
		<-gate
		return len(p), nil
	}}
	return s, begun, func() { close(gate) }
}

// A sink that fails costs the lines that it does not take, and a warning a minute.
func TestFailingSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{take: func([]byte) (int, error) { return 0, errors.New("no space left") }}
		l, warnings := open(t, s)
		for i := range 150 {
			l.Record(numbered(i))
			l.Record(numbered(i))
			<-time.After(time.Second)
		}
		s.work()
		var want string
		for i := range 5 {
			l.Record(numbered(i))
			want += line(numbered(i))
			<-time.After(time.Minute)
		}
		mustClose(t, l)
		if s.all() != want || l.Dropped() != 300 {
			t.Errorf("%q, %d dropped", s.all(), l.Dropped())
		}
		var got []string
		for text := range strings.Lines(warnings.String()) {
			_, about, _ := strings.Cut(text, "msg=")
			got = append(got, about)
		}
		want = `"writing the access log failed" error="no space left" dropped=`
		want = want + "2\n" + want + "120\n" + want + "120\n" + want + "58\n"
		if strings.Join(got, "") != want {
			t.Errorf("warnings:\n%s", warnings)
		}
	})
}

// A line that was written in part ends there, and the next is a line of its own.
func TestTornLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := len(line(numbered(1)))
		takes := []struct {
			n   int
			err error
		}{
			{one + 10, nil},          // a short write without a reason: 1 whole, 2 torn, 3 lost
			{0, errors.New("still")}, // the line feed that would end it
			{1, nil}, {one, nil},     // the line feed, and 5
			{one, errors.New("after one")}, // 6 whole, 7 lost, and nothing torn
			{one - 1, io.ErrShortWrite},    // 8 but for its line feed
			{1, nil}, {one, nil},           // the line feed, and 9
		}
		s := &sink{take: func(p []byte) (int, error) {
			next := takes[0]
			takes = takes[1:]
			return next.n, next.err
		}}
		l, _ := open(t, s)
		for _, batch := range [][]int{{1, 2, 3}, {4}, {5}, {6, 7}, {8}, {9}} {
			for _, n := range batch {
				l.Record(numbered(n))
			}
			<-time.After(time.Second)
		}
		mustClose(t, l)
		want := line(numbered(1)) + line(numbered(2))[:10] + "\n" + line(numbered(5)) + line(numbered(6)) + line(numbered(8)) + line(numbered(9))
		if s.all() != want || l.Dropped() != 5 || len(takes) > 0 {
			t.Errorf("%d dropped\n%s", l.Dropped(), s.all())
		}
	})
}

// What no warning told of yet is told at the end.
func TestLastWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{take: func([]byte) (int, error) { return 0, errors.New("no space left") }}
		l, warnings := open(t, s)
		for i := range 3 {
			l.Record(numbered(i))
			<-time.After(time.Second)
		}
		mustClose(t, l)
		if got := warnings.String(); strings.Count(got, "dropped=1\n") != 1 || strings.Count(got, "dropped=2\n") != 1 {
			t.Error(got)
		}
	})
}
