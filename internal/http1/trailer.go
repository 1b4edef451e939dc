package http1

type trailer struct {
	fields []Field
}

func (t *trailer) reset() { t.fields = t.fields[:0] }

func (c *Chunked) step(src []byte) (used int, f fault) { return 0, faultChunkSize }

func announcesFraming(list []byte) bool { return false }

// ForbiddenTrailer reports whether a field must not be taken from a trailer
// section (RFC 9110 section 6.5.1).
func ForbiddenTrailer(name []byte) bool { return false }
