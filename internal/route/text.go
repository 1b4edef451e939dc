package route

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
)

// Text returns the canonical text form, which [ParseText] reads. It has one line per
// thing, sorted, and says everything that affects what a table does:
//
//	default-backend fallback
//	backend web roundRobin HTTP
//	  endpoint 10.0.0.1:80
//	  endpoint 10.0.0.2:80 weight=2
//	route * /v[0-9]+ ImplementationSpecific regex -> web
//	host claimed.test
//	route shop.test /api Prefix -> web
//	  canary next weight=20/100 header=x-canary value=blue
//	  mirror shadow percent=50 host=shadow.test
//	cert shop.test 0123456789abcdef
//
// "*" is no host and the default certificate. A host stands alone when it is claimed
// without a route. The routes of a host stand in match order. Age and owner of an object
// are not printed: they have had their effect on order and on who holds what. A word with
// a space, a quote or anything but printable ASCII is quoted as in Go.
func (t *Table) Text() string {
	var b strings.Builder
	t.writeText(&b)
	return b.String()
}

func (t *Table) computeDigest() string {
	h := sha256.New()
	t.writeText(h)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// writeText writes the text to w, which must not fail.
func (t *Table) writeText(w io.Writer) {
	if t == nil {
		return
	}
	out := bufio.NewWriterSize(w, 1<<15)
	if t.fallback != nil {
		b := append(out.AvailableBuffer(), "default-backend "...)
		out.Write(append(appendWord(b, t.fallback.Backend.Name), '\n'))
	}
	for _, b := range t.backends {
		out.Write(b.appendText(out.AvailableBuffer()))
	}
	for _, g := range t.groups {
		if len(g.routes) == 0 {
			b := append(out.AvailableBuffer(), "host "...)
			out.Write(append(appendWord(b, g.host), '\n'))
		}
		for _, r := range g.routes {
			out.Write(r.appendText(out.AvailableBuffer()))
		}
	}
	for _, claim := range t.certs.list {
		b := append(out.AvailableBuffer(), "cert "...)
		b = append(appendWord(b, claim.Host), ' ')
		out.Write(append(append(b, claim.ID.String()...), '\n'))
	}
	_ = out.Flush()
}

func (b *Backend) appendText(dst []byte) []byte {
	dst = appendWord(append(dst, "backend "...), b.Name)
	dst = append(append(dst, ' '), b.Policy.String()...)
	dst = append(append(dst, ' '), b.Protocol.String()...)
	dst = append(dst, '\n')
	for _, e := range b.Endpoints {
		dst = appendWord(append(dst, "  endpoint "...), e.Address)
		if e.Weight != 1 {
			dst = strconv.AppendInt(append(dst, " weight="...), int64(e.Weight), 10)
		}
		dst = append(dst, '\n')
	}
	return dst
}

func (r *Route) appendText(dst []byte) []byte {
	host := r.Host
	if host == "" {
		host = "*"
	}
	dst = appendWord(append(dst, "route "...), host)
	dst = appendWord(append(dst, ' '), r.Path)
	dst = append(append(dst, ' '), r.PathType.String()...)
	if r.Regex {
		dst = append(dst, " regex"...)
	}
	dst = appendWord(append(dst, " -> "...), r.Backend.Name)
	dst = append(dst, '\n')
	if r.Canary != nil {
		dst = r.Canary.appendText(dst)
	}
	if r.Mirror != nil {
		dst = r.Mirror.appendText(dst)
	}
	return dst
}

func (d *draft) appendText(dst []byte) []byte {
	r := Route{
		Host: d.host, Path: d.path, PathType: d.spec.PathType, Regex: d.spec.Regex,
		Backend: d.backend, Canary: d.canary, Mirror: d.mirror,
	}
	return r.appendText(dst)
}

func (c *Canary) appendText(dst []byte) []byte {
	dst = appendWord(append(dst, "  canary "...), c.Backend.Name)
	dst = strconv.AppendInt(append(dst, " weight="...), int64(c.Weight), 10)
	dst = strconv.AppendInt(append(dst, '/'), int64(c.WeightTotal), 10)
	dst = appendOption(dst, "header", c.Header)
	dst = appendOption(dst, "value", c.HeaderValue)
	if c.HeaderPattern != nil {
		dst = appendOption(dst, "pattern", c.HeaderPattern.String())
	}
	dst = appendOption(dst, "cookie", c.Cookie)
	return append(dst, '\n')
}

func (m *Mirror) appendText(dst []byte) []byte {
	dst = appendWord(append(dst, "  mirror "...), m.Backend.Name)
	dst = strconv.AppendInt(append(dst, " percent="...), int64(m.Percent), 10)
	dst = appendOption(dst, "host", m.Host)
	return append(dst, '\n')
}

// appendOption appends " name=value", and nothing for an empty value.
func appendOption(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = append(append(append(dst, ' '), name...), '=')
	return appendWord(dst, value)
}

// appendWord appends one word, in quotes where a reader could not tell its ends.
func appendWord(dst []byte, s string) []byte {
	if s == "" || s[0] == '#' {
		return strconv.AppendQuote(dst, s)
	}
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return strconv.AppendQuote(dst, s)
		}
	}
	return append(dst, s...)
}
