package enginetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// message is an HTTP/1 message as it went over a wire, read by the letter: the
// reader forgives nothing, so that what an engine writes is seen as it is.
type message struct {
	start   string // request or status line
	fields  []string
	framing string // "", "length", "chunked" or "close"
	body    string // decoded
	trailer []string
	cut     bool // it ended before its end
}

// errCut is the end of a connection in the middle of a message.
var errCut = errors.New("the connection ended in the middle of a message")

// readMessage reads one message. bodiless says, from the head, that no body
// follows whatever the fields say; without a length a response runs to the end
// of the connection. The error is io.EOF when nothing came.
func readMessage(in *bufio.Reader, bodiless func(*message) bool) (*message, error) {
	head, err := readHead(in)
	if err != nil {
		return nil, err
	}
	m := newMessage(head)
	if bodiless(m) {
		return m, nil
	}
	err = m.readBody(in)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || isReset(err) {
		m.cut, err = true, nil
	}
	return m, err
}

// newMessage splits a head.
func newMessage(head string) *message {
	lines := strings.Split(strings.TrimSuffix(head, "\r\n\r\n"), "\r\n")
	return &message{start: lines[0], fields: lines[1:]}
}

func (m *message) readBody(in *bufio.Reader) (err error) {
	length, coding := m.field("Content-Length"), m.field("Transfer-Encoding")
	switch {
	case len(length) > 0 && len(coding) > 0:
		return fmt.Errorf("both lengths in %q", m.fields)
	case len(coding) > 0:
		m.framing = "chunked"
		var body strings.Builder // adding to a string is quadratic, and starves whatever is measured beside it
		err := m.readChunked(in, &body)
		m.body = body.String()
		return err
	case len(length) > 0:
		m.framing = "length"
		n, err := strconv.Atoi(length[0])
		if err != nil || len(length) > 1 {
			return fmt.Errorf("Content-Length %q", length)
		}
		b := make([]byte, n)
		got, err := io.ReadFull(in, b)
		m.body = string(b[:got])
		return err
	case m.isResponse():
		m.framing = "close"
		all, err := io.ReadAll(in)
		m.body = string(all)
		return err
	}
	return nil
}

func (m *message) isResponse() bool { return strings.HasPrefix(m.start, "HTTP/") }

func (m *message) readChunked(in *bufio.Reader, body *strings.Builder) error {
	for {
		line, err := readLine(in)
		if err != nil {
			return err
		}
		n, err := strconv.ParseUint(line, 16, 31)
		if err != nil {
			return fmt.Errorf("chunk size %q", line)
		}
		if n == 0 {
			break
		}
		if _, err := io.CopyN(body, in, int64(n)); err != nil {
			return err
		}
		if end, err := readLine(in); err != nil {
			return err
		} else if end != "" {
			return fmt.Errorf("%q after a chunk", end)
		}
	}
	for {
		line, err := readLine(in)
		if err != nil {
			return err
		}
		if line == "" {
			return nil
		}
		m.trailer = append(m.trailer, line)
	}
}

// readLine reads a line that ends in CRLF and returns it without that.
func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return line, err
	}
	text, ok := strings.CutSuffix(line, "\r\n")
	if !ok {
		return line, fmt.Errorf("line %q does not end in CRLF", line)
	}
	return text, nil
}

// field returns the values of a field.
func (m *message) field(name string) []string {
	return HeadField(m.start+"\r\n"+strings.Join(m.fields, "\r\n"), name)
}

// status is that of a response, 0 of a request.
func (m *message) status() int {
	_, rest, _ := strings.Cut(m.start, " ")
	code, _, _ := strings.Cut(rest, " ")
	n, _ := strconv.Atoi(code)
	return n
}

// dropClock takes out a Date of this minute: a proxy may date its own answers.
func (m *message) dropClock() {
	m.fields = slices.DeleteFunc(m.fields, func(f string) bool {
		value, ok := strings.CutPrefix(f, "Date: ")
		at, err := http.ParseTime(value)
		return ok && err == nil && time.Since(at).Abs() < time.Minute
	})
}

// text is the message on one line, in a form in which two engines agree: field
// names in canonical spelling and sorted, order kept among equal names, no
// reason phrase. hide says which fields to leave out, by canonical name.
func (m *message) text(hide func(string) bool) string {
	parts := []string{m.start}
	if m.isResponse() {
		parts[0] = strconv.Itoa(m.status())
	}
	parts = append(parts, sortedFields(m.fields, hide)...)
	if m.body != "" || m.framing != "" && m.framing != "length" {
		parts = append(parts, "body "+brief(strconv.Quote(m.body), len(m.body)))
	}
	for _, t := range sortedFields(m.trailer, hide) {
		parts = append(parts, "trailer "+t)
	}
	if m.cut {
		parts = append(parts, "cut")
	}
	return strings.Join(parts, " | ")
}

func sortedFields(lines []string, hide func(string) bool) []string {
	var out []string
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ":")
		name = textproto.CanonicalMIMEHeaderKey(name)
		if !hide(name) {
			value = strings.TrimPrefix(value, " ")
			out = append(out, name+": "+brief(value, len(value)))
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, _, _ := strings.Cut(out[i], ":")
		b, _, _ := strings.Cut(out[j], ":")
		return a < b
	})
	return out
}

// brief abbreviates long text to its size.
func brief(s string, size int) string {
	if size > 200 {
		return fmt.Sprintf("<%d bytes>", size)
	}
	return s
}
