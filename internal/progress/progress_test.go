package progress

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// slow takes step bytes every pace, up to room in all.
type slow struct {
	step, room int
	pace       time.Duration
	deadline   time.Time
}

func (s *slow) SetWriteDeadline(t time.Time) error {
	s.deadline = t
	return nil
}

func (s *slow) Write(b []byte) (n int, err error) {
	for n < len(b) {
		left := time.Until(s.deadline)
		if s.room == 0 || left < s.pace {
			<-time.After(max(left, 0))
			return n, os.ErrDeadlineExceeded
		}
		<-time.After(s.pace)
		k := min(s.step, len(b)-n, s.room)
		n += k
		s.room -= k
	}
	return n, nil
}

func TestWrite(t *testing.T) {
	stop := errors.New("no use")
	for _, one := range []struct {
		say   string
		conn  slow
		idle  time.Duration
		given func() error
		n     int
		err   error
		least time.Duration
		most  time.Duration
	}{
		{"a fast reader takes all", slow{step: 1000, room: 1000}, time.Minute, nil, 1000, nil, 0, 0},
		{"a reader that moves may take far longer than the idle time", slow{step: 10, room: 1000, pace: 900 * time.Millisecond}, 2 * time.Second, nil, 1000, nil, 90 * time.Second, 120 * time.Second},
		{"one that stops is given up", slow{step: 10, room: 500, pace: 100 * time.Millisecond}, 5 * time.Second, nil, 500, os.ErrDeadlineExceeded, 10 * time.Second, 13 * time.Second},
		{"an idle time below a second holds too", slow{step: 1, room: 0}, 300 * time.Millisecond, nil, 0, os.ErrDeadlineExceeded, 300 * time.Millisecond, time.Second},
		{"who asks is told within a second or so", slow{step: 1, room: 0}, 0, func() error { return stop }, 0, stop, time.Second, 1500 * time.Millisecond},
	} {
		t.Run(one.say, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var w Writer
				n, err := w.Write(&one.conn, make([]byte, 1000), one.idle, one.given)
				if n != one.n || !errors.Is(err, one.err) {
					t.Errorf("got %d, %v; want %d, %v", n, err, one.n, one.err)
				}
				if took := time.Since(start); took < one.least || took > one.most {
					t.Errorf("took %v, want %v to %v", took, one.least, one.most)
				}
			})
		})
	}
}
