package accesslog

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// Chunks are used again, and those of a burst are let go.
func TestMemory(t *testing.T) {
	var q queue
	var taken [][]byte
	put := []byte(strings.Repeat("x", 999) + "\n")
	for range 10 * (chunkBytes / len(put)) {
		q.put(put)
	}
	for chunk, _ := q.take(true); chunk != nil; chunk, _ = q.take(true) {
		taken = append(taken, chunk)
	}
	for _, chunk := range taken {
		q.give(chunk)
	}
	if len(taken) != 10 || len(q.spare) != chunksSpare {
		t.Errorf("%d chunks taken, %d kept", len(taken), len(q.spare))
	}
	if n := testing.AllocsPerRun(1000, func() {
		q.put(put)
		if chunk, _ := q.take(false); chunk != nil {
			q.give(chunk)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNoAllocations(t *testing.T) {
	for _, f := range []Format{Text, JSON} {
		l := New(Options{Sink: io.Discard, Format: f})
		e := typical()
		e.UserAgent = strings.Repeat("é\"\x1b", 100)
		room := make([]byte, 0, MaxLine)
		if n := testing.AllocsPerRun(100, func() { f.Append(room, &e) }); n != 0 {
			t.Errorf("%s: appending makes %v allocations", f, n)
		}
		if n := testing.AllocsPerRun(2000, func() {
			e := Entry{Method: "GET", Path: "/", Client: e.Client, Time: e.Time, UserAgent: e.UserAgent}
			l.Record(&e)
		}); n != 0 {
			t.Errorf("%s: recording makes %v allocations", f, n)
		}
		mustClose(t, l)
	}
}

func BenchmarkAppend(b *testing.B) {
	browser := typical()
	browser.UserAgent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
	hostile := typical()
	hostile.UserAgent = strings.Repeat("\x1b\xff\"é", 400)
	for name, e := range map[string]*Entry{"browser": &browser, "hostile": &hostile} {
		for _, f := range []Format{Text, JSON} {
			b.Run(f.String()+"-"+name, func(b *testing.B) {
				room := make([]byte, 0, MaxLine)
				b.ReportAllocs()
				for b.Loop() {
					room = f.Append(room[:0], e)
				}
				b.ReportMetric(float64(len(room)), "B/line")
			})
		}
	}
}

// What an exchange pays, with all others at it.
func BenchmarkRecord(b *testing.B) {
	for _, f := range []Format{Text, JSON} {
		b.Run(f.String(), func(b *testing.B) {
			l := New(Options{Sink: io.Discard, Format: f, Logger: slog.New(slog.DiscardHandler)})
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				e := typical()
				for pb.Next() {
					l.Record(&e)
				}
			})
			b.StopTimer()
			if err := l.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(l.Dropped())/float64(b.N), "dropped/op")
		})
	}
}
