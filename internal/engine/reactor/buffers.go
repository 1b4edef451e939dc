package reactor

// Sizes of buffers: most heads and messages fit into a small one; once a body flows a
// large one saves system calls. It takes 64 KiB behind what a small one had, because
// such bodies are common.
const (
	small = 8 << 10
	large = 64<<10 + small
)

// Most free buffers that a loop keeps of each size; a burst leaves no more behind.
const (
	keepSmall = 512
	keepLarge = 64
)

// buffers are the free buffers of one loop. lent counts those in use.
type buffers struct {
	smalls, larges [][]byte
	lent           int
}

// small lends a buffer of that size. Its contents are arbitrary.
func (s *buffers) small() []byte { return s.take(&s.smalls, small) }

// large lends a buffer of that size.
func (s *buffers) large() []byte { return s.take(&s.larges, large) }

func (s *buffers) take(free *[][]byte, size int) []byte {
	s.lent++
	last := len(*free) - 1
	if last < 0 {
		return make([]byte, size)
	}
	b := (*free)[last]
	(*free)[last] = nil
	*free = (*free)[:last]
	return b
}

// put takes a lent buffer back, whatever was cut off it or grew out of it: what does
// not have one of the two sizes any more is left to the garbage collector.
func (s *buffers) put(b []byte) {
	s.lent--
	b = b[:cap(b)]
	mangle(b)
	switch {
	case cap(b) == small && len(s.smalls) < keepSmall:
		s.smalls = append(s.smalls, b)
	case cap(b) == large && len(s.larges) < keepLarge:
		s.larges = append(s.larges, b)
	}
}

// window is a buffer that is read into at its end and used from its start. The zero
// value owns nothing.
type window struct {
	b          []byte
	start, end int
}

func (w *window) bytes() []byte { return w.b[w.start:w.end] }
func (w *window) empty() bool   { return w.start == w.end }

// room makes sure that at least one byte can be read, and returns where. A window
// whose bytes fill it grows to twice its size; the caller bounds what it keeps.
func (w *window) room(s *buffers) []byte {
	switch {
	case w.b == nil:
		w.b = s.small()
	case w.start == w.end:
		w.start, w.end = 0, 0
	case w.end < len(w.b):
	case w.start > 0:
		w.end = copy(w.b, w.bytes())
		w.start = 0
	default:
		w.grow(s)
	}
	return w.b[w.end:]
}

func (w *window) grow(s *buffers) {
	var next []byte
	if len(w.b) < large {
		next = s.large()
	} else {
		next = make([]byte, 2*len(w.b))
		s.lent++
	}
	n := copy(next, w.bytes())
	s.put(w.b)
	w.b, w.start, w.end = next, 0, n
}

// enlarge exchanges an empty small buffer for a large one.
func (w *window) enlarge(s *buffers) {
	if w.start == w.end && len(w.b) < large {
		if w.b != nil {
			s.put(w.b)
		}
		*w = window{b: s.large()}
	}
}

// free gives the buffer back; what was in it is gone.
func (w *window) free(s *buffers) {
	if w.b != nil {
		s.put(w.b)
		*w = window{}
	}
}

// sized lends a large buffer to go with a large one, else a small one.
func (s *buffers) sized(like int) []byte {
	if like >= large {
		return s.large()
	}
	return s.small()
}

// add puts a copy of p behind what there is.
func (w *window) add(p []byte, s *buffers) {
	for len(p) > 0 {
		n := copy(w.room(s), p)
		w.end += n
		p = p[n:]
	}
}
