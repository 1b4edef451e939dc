package accesslog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open starts a Log that warns into a buffer; close it before reading that.
func open(t *testing.T, s io.Writer) (*Log, *bytes.Buffer) {
	t.Helper()
	var warnings bytes.Buffer
	l := New(Options{Sink: s, Logger: slog.New(slog.NewTextHandler(&warnings, nil))})
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l, &warnings
}

func mustClose(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// numbered is an entry that can be told from others.
func numbered(n int) *Entry {
	e := typical()
	e.Path = fmt.Sprintf("/%d", n)
	return &e
}

func line(e *Entry) string { return string(Text.Append(nil, e)) }

// What was recorded is written, in order, by Close at the latest.
func TestCloseWrites(t *testing.T) {
	s := &sink{}
	l, warnings := open(t, s)
	var expected strings.Builder
	for i := range 2000 { // more than a chunk
		l.Record(numbered(i))
		expected.WriteString(line(numbered(i)))
	}
	mustClose(t, l)
	want := expected.String()
	if s.all() != want || l.Dropped() != 0 || warnings.Len() > 0 {
		t.Errorf("%d bytes of %d, %d dropped, %s", len(s.all()), len(want), l.Dropped(), warnings)
	}
	l.Record(numbered(0))
	mustClose(t, l)
	if s.all() != want || l.Dropped() != 1 {
		t.Errorf("after Close: %d bytes, %d dropped", len(s.all()), l.Dropped())
	}
}

func TestFormatOption(t *testing.T) {
	s := &sink{}
	l := New(Options{Sink: s, Format: JSON})
	l.Record(numbered(1))
	mustClose(t, l)
	if want := string(JSON.Append(nil, numbered(1))); s.all() != want {
		t.Errorf("%q, want %q", s.all(), want)
	}
}

// A line waits a moment for others, and no longer.
func TestQuietLogIsUpToDate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		l, _ := open(t, s)
		begin := time.Now()
		for i := range 3 {
			l.Record(numbered(3 * i))
			l.Record(numbered(3*i + 1))
			<-time.After(flushDelay / 2)
			l.Record(numbered(3*i + 2))
			<-time.After(time.Second)
		}
		mustClose(t, l)
		if len(s.writes) != 3 {
			t.Fatalf("%d writes: %q", len(s.writes), s.writes)
		}
		for i, w := range s.writes {
			want := line(numbered(3*i)) + line(numbered(3*i+1)) + line(numbered(3*i+2))
			at := begin.Add(time.Duration(i) * (time.Second + flushDelay/2))
			if w != want || !s.times[i].Equal(at.Add(flushDelay)) {
				t.Errorf("after %v: %q", s.times[i].Sub(at), w)
			}
		}
	})
}

// A busy log writes full chunks as they come, and what is left after a moment.
func TestBusyLogWritesChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		l, _ := open(t, s)
		begin, n := time.Now(), 0
		for total := 0; total < 5*chunkBytes/2; n++ {
			l.Record(numbered(n))
			total += len(line(numbered(n)))
			if n%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		if s.count() != 2 || time.Since(begin) != 0 {
			t.Errorf("%d writes after %v", s.count(), time.Since(begin))
		}
		<-time.After(flushDelay)
		synctest.Wait()
		if s.count() != 3 || strings.Count(s.all(), "\n") != n {
			t.Errorf("%d writes, %d lines of %d", s.count(), strings.Count(s.all(), "\n"), n)
		}
		mustClose(t, l)
		for _, w := range s.writes[:2] {
			if len(w) < chunkBytes-1000 || len(w) > chunkBytes || w[len(w)-1] != '\n' {
				t.Errorf("a write of %d bytes that ends in %q", len(w), w[len(w)-1:])
			}
		}
	})
}

// A sink that hangs holds nobody up. The queue takes what it can, the rest is
// counted, what was queued is written when the sink is back, and later lines too.
func TestHangingSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, started, letGo := hold()
		l, warnings := open(t, s)
		begin := time.Now()
		l.Record(numbered(0))
		<-started
		begin = begin.Add(flushDelay)
		n := 1
		for ; l.Dropped() < 100; n++ {
			l.Record(numbered(n))
		}
		if passed := time.Since(begin); passed != 0 {
			t.Errorf("recording took %v", passed)
		}
		letGo()
		synctest.Wait() // the full chunks are written
		l.Record(numbered(n))
		mustClose(t, l)
		var want strings.Builder
		for i := range n - 100 {
			want.WriteString(line(numbered(i)))
		}
		want.WriteString(line(numbered(n)))
		if got := s.all(); got != want.String() || l.Dropped() != 100 {
			t.Errorf("%d bytes, want %d; %d dropped", len(got), want.Len(), l.Dropped())
		}
		if queued := want.Len(); queued < chunksWaiting*chunkBytes || queued > (chunksWaiting+2)*chunkBytes {
			t.Errorf("the queue took %d bytes", queued)
		}
		if got := warnings.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "dropped=100") {
			t.Error(got)
		}
	})
}

// Close does not wait for more lines.
func TestCloseIsPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		l, _ := open(t, s)
		begin := time.Now()
		l.Record(numbered(1))
		synctest.Wait()
		mustClose(t, l)
		if s.all() != line(numbered(1)) || time.Since(begin) != 0 {
			t.Errorf("%q after %v", s.all(), time.Since(begin))
		}
	})
}

// Close gives up when its time is over. The write under way ends when it ends.
func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, started, letGo := hold()
		l, warnings := open(t, s)
		l.Record(numbered(0))
		<-started
		for i := range 500 {
			l.Record(numbered(i))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		begin := time.Now()
		if err := l.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if l.Dropped() != 500 {
			t.Errorf("%d dropped", l.Dropped())
		}
		letGo()
		mustClose(t, l)
		if s.all() != line(numbered(0)) || !strings.Contains(warnings.String(), "dropped=500") {
			t.Errorf("%q, %s", s.all(), warnings)
		}
	})
}

// Entries of many goroutines, of a sink that is slow now and then, and of a Close in
// the middle of it: each line is whole, and each entry written or counted.
func TestConcurrentRecords(t *testing.T) {
	const goroutines, each = 8, 400
	writes := 0
	s := &sink{take: func(p []byte) (int, error) {
		if writes++; writes%3 != 0 {
			return len(p), nil
		}
		half := len(p) / 2
		if p[half] == '\n' { // a line but for its end would be ended by the next write
			half--
		}
		return half, errors.New("half of it")
	}}
	l, _ := open(t, s)
	var recording sync.WaitGroup
	for g := range goroutines {
		recording.Go(func() {
			for i := range each {
				e := numbered(i)
				e.Host = fmt.Sprint(g)
				l.Record(e)
				if g == 0 && i == each*3/4 {
					_ = l.Close(context.Background())
				}
			}
		})
	}
	recording.Wait()
	mustClose(t, l)
	last, whole := [goroutines]int{}, uint64(0)
	for text := range strings.Lines(s.all()) {
		var g, i int
		if !textLine.MatchString(strings.TrimSuffix(text, "\n")) {
			continue // torn
		}
		whole++
		if _, err := fmt.Sscanf(text[strings.Index(text, `"GET /`):], `"GET /%d HTTP/1.1"`, &i); err != nil {
			t.Fatal(err, text)
		}
		if _, err := fmt.Sscanf(text[strings.Index(text, `host="`):], `host="%d"`, &g); err != nil {
			t.Fatal(err, text)
		}
		if i < last[g] {
			t.Fatalf("%d: %d after %d", g, i, last[g])
		}
		last[g] = i
	}
	if whole == 0 || whole+l.Dropped() != goroutines*each {
		t.Errorf("%d lines, %d dropped, %d recorded", whole, l.Dropped(), goroutines*each)
	}
}
