package probation

import "slices"

// history is the good releases before the last one, the newest first, each once. It
// is an array so that a state is a value and never grows.
type history struct {
	names [8]string
	n     int
}

func (h history) list() []string { return slices.Clone(h.names[:h.n]) }

// push puts a release in front that is not there; the oldest falls out of a full
// history.
func (h *history) push(version string) {
	h.n = min(h.n+1, len(h.names))
	copy(h.names[1:h.n], h.names[:h.n-1])
	h.names[0] = version
}

// drop takes a release out, if it is there.
func (h *history) drop(version string) {
	if i := h.index(version); i >= 0 {
		h.n = i + copy(h.names[i:h.n], h.names[i+1:h.n])
		h.names[h.n] = ""
	}
}

// cut takes a release out that is there, and all that became good after it.
func (h *history) cut(version string) {
	i := h.index(version)
	left := copy(h.names[:], h.names[i+1:h.n])
	clear(h.names[left:])
	h.n = left
}

// index is where a release stands, -1 if it does not.
func (h *history) index(version string) int { return slices.Index(h.names[:h.n], version) }
