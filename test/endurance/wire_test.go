//go:build endurance

package endurance

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// patience bounds everything that has to happen; nothing passes by waiting so long.
const patience = 30 * time.Second

// noise is what bodies are cut out of.
var noise = func() []byte {
	b := make([]byte, 4<<20)
	chance := rand.NewChaCha8([32]byte{})
	_, _ = chance.Read(b) // never fails
	return b
}()

// content is the body that belongs to a number and a size.
func content(id string, size int) []byte {
	h := fnv.New32a()
	_, _ = io.WriteString(h, id) // never fails
	from := int(h.Sum32()) % (len(noise) - size)
	return noise[from : from+size]
}

// query is one request and what has to come back.
type query struct {
	method  string // "" = GET
	host    string
	target  string // without size; "" = /
	size    int    // of the answer
	fields  string // more of them, each with its end
	body    []byte
	chunked bool   // how the body is sent
	from    string // the Service whose backend has to answer, or several: A|B
	status  int    // 0 = 200; a status from 300 on without from is of the proxy's own making
}

func (q query) path() string {
	target := q.target
	if target == "" {
		target = "/"
	}
	sign := "?"
	if strings.Contains(target, "?") {
		sign = "&"
	}
	return fmt.Sprintf("%s%ssize=%d", target, sign, q.size)
}

// wire is a connection that speaks HTTP/1.1 and repeats nothing.
type wire struct {
	net.Conn
	in *bufio.Reader
}

func newWire(c net.Conn) *wire { return &wire{c, bufio.NewReader(c)} }

// dial opens a connection to the plain port.
func (w *world) dial() (*wire, error) {
	c, err := net.DialTimeout("tcp", w.at.HTTP, patience)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return newWire(c), nil
}

// dialTLS opens one with a full handshake.
func (w *world) dialTLS() (*wire, error) {
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", w.at.HTTPS, w.tlsConfig())
	if err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	return newWire(c), nil
}

// serial is the number of the certificate that was shown.
func (c *wire) serial() int64 {
	return c.Conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func (w *world) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: "main.test", RootCAs: w.authority.Pool(), MinVersion: tls.VersionTLS12}
}

// head is a request up to its body.
func (q query) head(id string) []byte {
	var b bytes.Buffer
	method := q.method
	if method == "" {
		method = http.MethodGet
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nX-Id: %s\r\n%s", method, q.path(), q.host, id, q.fields)
	switch {
	case q.chunked:
		b.WriteString("Transfer-Encoding: chunked\r\n")
	case q.body != nil:
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(q.body))
	}
	if q.body != nil {
		fmt.Fprintf(&b, "X-Sum: %d\r\n", crc32.ChecksumIEEE(q.body))
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// bytes is a request with its body.
func (q query) bytes(id string) []byte {
	out := q.head(id)
	if !q.chunked {
		return append(out, q.body...)
	}
	rest := q.body
	for cut := 1; len(rest) > 0; cut = cut*3 + 1 {
		n := min(cut, len(rest))
		out = fmt.Appendf(out, "%x\r\n%s\r\n", n, rest[:n])
		rest = rest[n:]
	}
	return append(out, "0\r\n\r\n"...)
}

// ask sends a request and checks the answer. last reports whether the connection
// takes no other; it is so after an error.
func (c *wire) ask(q query, id string) (last bool, err error) {
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write(q.bytes(id)); err != nil && q.status < 300 {
		return true, fmt.Errorf("send: %w", err)
	}
	return c.answer(q, id)
}

// answer reads an answer and compares it with what has to come.
func (c *wire) answer(q query, id string) (last bool, err error) {
	r, err := http.ReadResponse(c.in, &http.Request{Method: q.method})
	if err != nil {
		return true, fmt.Errorf("no answer: %w", err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err := q.right(r, id, body, err); err != nil {
		return true, err
	}
	return r.Close, nil
}

// wrong is an answer of another status than the one that has to come.
type wrong struct {
	status int
	text   string
}

func (w wrong) Error() string { return w.text }

// broken is a body that ended before its end, as far as it came right.
type broken struct{ err error }

func (b broken) Error() string { return "the body broke off: " + b.err.Error() }

// right says what is wrong with an answer whose body was read until err.
func (q query) right(r *http.Response, id string, body []byte, err error) error {
	status := q.status
	if status == 0 {
		status = http.StatusOK
	}
	if r.StatusCode != status {
		return wrong{r.StatusCode, fmt.Sprintf("%s %s of %s: %d by %q (%.100q), want %d", q.method, id, q.host, r.StatusCode, r.Header.Get("X-Backend"), body, status)}
	}
	backend := r.Header.Get("X-Backend")
	if q.from == "" {
		if backend != "" || !strings.HasPrefix(string(body), fmt.Sprint(status)) {
			return fmt.Errorf("%s of %s: an answer of %q (%.100q), want %d of the proxy itself", id, q.host, backend, body, status)
		}
		return err
	}
	if service, _, _ := strings.Cut(backend, "-"); !slices.Contains(strings.Split(q.from, "|"), service) {
		return fmt.Errorf("%s of %s: an answer of %q, want one of %s", id, q.host, backend, q.from)
	}
	if got := r.Header.Get("X-Id"); got != id {
		return fmt.Errorf("asked for %s, got the answer to %s", id, got)
	}
	if got := r.Header.Get("X-Host"); got != "" && got != q.host {
		return fmt.Errorf("%s: the backend was asked for the host %q, want %s", id, got, q.host)
	}
	size := q.size
	if status != http.StatusOK {
		size = 10
	}
	want := content(id, size)
	if q.method == http.MethodHead {
		want = nil
	}
	if err != nil {
		if len(body) <= len(want) && bytes.Equal(body, want[:len(body)]) {
			return broken{err}
		}
		return errors.Join(fmt.Errorf("%s: another body than %s sent, cut off", id, backend), err)
	}
	if !bytes.Equal(body, want) {
		return fmt.Errorf("%s: another body than %s sent: %d bytes, want %d", id, backend, len(body), len(want))
	}
	if got := r.Trailer.Get("X-End"); strings.Contains(q.target, "chunked") && got != id {
		return fmt.Errorf("%s: the trailer is %q", id, got)
	}
	return nil
}
