package accesslog

import (
	"bytes"
	"sync"
)

const (
	// chunkBytes is how much is written at once under load, and the size of the
	// pieces of memory that the queue is made of. A line fits into one and is never
	// in two.
	chunkBytes = MaxLine
	// chunksWaiting is how many full chunks wait for the sink: 4 MiB, or half a second
	// of 25,000 requests a second. Memory is taken as it is needed.
	chunksWaiting = 64
	// chunksSpare is how many empty chunks are kept for the next ones. On a machine
	// that is busy enough the writer gets its turns late, and chunks come in bursts.
	chunksSpare = 8
)

// queue holds lines in the order in which they were put. Its lock is held for the
// time that copying a line takes, now and then for that of making a chunk, and never
// while anything is written.
type queue struct {
	mu      sync.Mutex
	filling []byte   // what put appends to
	full    [][]byte // what waits, the oldest first
	spare   [][]byte
	closed  bool
}

// put appends a line. ok is false if there is no room or the queue is closed; wake is
// set when the writer has something to do that it may not know of.
func (q *queue) put(line []byte) (ok, wake bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, false
	}
	if len(q.filling)+len(line) > chunkBytes {
		if len(q.full) == chunksWaiting {
			return false, false
		}
		q.full = append(q.full, q.filling)
		q.filling = q.empty()
	}
	if cap(q.filling) == 0 {
		q.filling = q.empty()
	}
	wake = len(q.filling) == 0 // the first of all, or the first after a full chunk
	q.filling = append(q.filling, line...)
	return true, wake
}

// empty returns a chunk to fill.
func (q *queue) empty() []byte {
	if last := len(q.spare) - 1; last >= 0 {
		chunk := q.spare[last]
		q.spare = q.spare[:last]
		return chunk
	}
	return make([]byte, 0, chunkBytes)
}

// left says what is in a queue from which nothing was taken.
type left uint8

const (
	leftNothing left = iota
	leftLines        // in a chunk that is not full
	leftForGood      // nothing, and the queue is closed
)

// take returns the oldest full chunk; if there is none, the one that is being filled,
// provided that partial is set or the queue closed. nil = nothing was taken.
func (q *queue) take(partial bool) (chunk []byte, rest left) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.full) > 0:
		chunk = q.full[0]
		n := copy(q.full, q.full[1:])
		q.full[n] = nil
		q.full = q.full[:n]
		return chunk, leftNothing
	case len(q.filling) == 0 && q.closed:
		return nil, leftForGood
	case len(q.filling) == 0:
		return nil, leftNothing
	case partial || q.closed:
		chunk, q.filling = q.filling, q.empty()
		return chunk, leftNothing
	}
	return nil, leftLines
}

// give returns a chunk that was written.
func (q *queue) give(chunk []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.spare) < chunksSpare {
		q.spare = append(q.spare, chunk[:0])
	}
}

// close refuses further lines.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// discard empties the queue and says how many lines there were.
func (q *queue) discard() (lines uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, chunk := range append(q.full, q.filling) {
		lines += countLines(chunk)
	}
	q.full, q.filling = nil, nil
	return lines
}

func countLines(b []byte) uint64 { return uint64(bytes.Count(b, newline)) }

var newline = []byte{'\n'}
