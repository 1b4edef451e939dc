package accesslog

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// flushDelay is how long lines wait for more of them to be written together.
	flushDelay = 100 * time.Millisecond
	// warnInterval is the least time between two warnings.
	warnInterval = time.Minute
	// roomy is more than almost all lines have, and what is made at first for one;
	// memory for longer ones is used once and let go.
	roomy = 4 << 10
)

// Options say what is written where.
type Options struct {
	// Sink takes the lines: os.Stdout. Required. It is written to from one goroutine,
	// many lines at a time; a Write that hangs costs lines, and nobody else. It is not
	// closed.
	Sink io.Writer
	// Format is Text unless it is set.
	Format Format
	// Logger takes warnings about lines that were lost. nil = slog.Default().
	Logger *slog.Logger
}

// Log writes entries to a sink, with one goroutine of its own. Its owner calls Close.
type Log struct {
	sink   io.Writer
	format Format
	logger *slog.Logger

	queue   queue
	wake    chan struct{} // holds one: look at the queue
	done    chan struct{} // closed when the goroutine has ended
	dropped atomic.Uint64

	// What follows belongs to the goroutine.
	torn    bool      // the sink took a part of a line and not its end
	failure error     // of the last write, untold
	told    uint64    // of dropped
	warned  time.Time // zero = never
}

// New starts the goroutine.
func New(options Options) *Log {
	l := &Log{
		sink:   options.Sink,
		format: options.Format,
		logger: options.Logger,
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
	}
	if l.logger == nil {
		l.logger = slog.Default()
	}
	go l.run()
	return l
}

// lines are memory to format in.
var lines = sync.Pool{New: func() any {
	b := make([]byte, 0, roomy)
	return &b
}}

// Record writes an entry, or drops it: when the queue is full, or after Close. It
// never waits for the sink, does not keep e, and does not allocate but for lines of
// several KiB. It is safe for concurrent use.
func (l *Log) Record(e *Entry) {
	room := lines.Get().(*[]byte)
	line := l.format.Append((*room)[:0], e)
	ok, wake := l.queue.put(line)
	lines.Put(room)
	if !ok {
		l.dropped.Add(1)
	}
	if wake {
		l.rouse()
	}
}

// rouse makes the goroutine look at the queue, now or when it is done with what it
// does.
func (l *Log) rouse() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Dropped is the number of lines since the start that were not written: the queue was
// full, the Log closed, or the sink failed. It is safe for concurrent use.
func (l *Log) Dropped() uint64 { return l.dropped.Load() }

// Close takes no further entry, and waits until what is queued is written and the
// goroutine has ended. When ctx is done first, what is still queued is dropped and the
// error is that of ctx; a write under way cannot be interrupted, and the goroutine
// ends with it. It may be called again.
func (l *Log) Close(ctx context.Context) error {
	l.queue.close()
	l.rouse()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
	}
	l.dropped.Add(l.queue.discard())
	return ctx.Err()
}

// run writes until the queue is closed and empty. A full chunk is written at once,
// less than one when it has waited for flushDelay: then a busy log makes few large
// writes, and a quiet one is up to date.
func (l *Log) run() {
	defer close(l.done)
	timer := time.NewTimer(flushDelay)
	defer timer.Stop()
	var due <-chan time.Time // nil unless lines wait
	partial := false
	for {
		chunk, rest := l.queue.take(partial)
		switch {
		case chunk != nil:
			l.write(chunk)
			l.queue.give(chunk)
			partial, due = false, nil
			continue
		case rest == leftForGood:
			l.warn(true)
			return
		case rest == leftLines && due == nil:
			timer.Reset(flushDelay)
			due = timer.C
		}
		select {
		case <-l.wake:
		case <-due:
			partial = true
		}
	}
}

// write hands a chunk to the sink, once. What the sink does not take is dropped.
func (l *Log) write(chunk []byte) {
	var taken int
	var err error
	if l.torn {
		_, err = l.sink.Write(newline)
	}
	if err == nil {
		l.torn = false
		taken, err = l.sink.Write(chunk)
	}
	if err == nil && taken < len(chunk) {
		err = io.ErrShortWrite
	}
	if err != nil {
		l.failure = err
		l.torn = l.torn || taken > 0 && chunk[taken-1] != '\n'
		l.dropped.Add(countLines(chunk[taken:]))
	}
	l.warn(false)
}

// warn tells of lines that were lost, once in a while; of the rest at the end. It is
// told from here and not from Record, which must not wait for a handler of the
// logger.
func (l *Log) warn(last bool) {
	lost := l.dropped.Load() - l.told
	if lost == 0 && l.failure == nil {
		return
	}
	now := time.Now()
	if !last && !l.warned.IsZero() && now.Sub(l.warned) < warnInterval {
		return
	}
	if l.failure != nil {
		l.logger.Warn("writing the access log failed", "error", l.failure, "dropped", lost)
	} else {
		l.logger.Warn("access log lines dropped: they are not taken as fast as they come", "dropped", lost)
	}
	l.failure, l.warned = nil, now
	l.told += lost
}
