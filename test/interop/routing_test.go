//go:build interop

package interop

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestRouting sends the requests of testdata/*.txt with every client. Such a file
// is a route file, a line of three dashes, and a table: host, target, status, and
// then the backend that answers and the target that it got, or, for an answer of
// the proxy itself, its text, where "*" at the end is anything. "*" as the host is
// one that no route names, "=" as the target that arrives is the one that was sent.
//
// In the route file {name} is the address of an nginx that says its name, {refuses}
// one where nobody listens, {silent} one where nobody answers.
func TestRouting(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { routing(t, file) })
	}
}

var placeholder = regexp.MustCompile(`\{([a-z-]+)\}`)

func routing(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	routes, table, ok := strings.Cut(string(text), "\n---\n")
	if !ok {
		t.Fatal("there is no line of three dashes")
	}
	var names []string
	seen := map[string]bool{"refuses": true, "silent": true}
	for _, m := range placeholder.FindAllStringSubmatch(routes, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			names = append(names, m[1])
		}
	}
	endpoints := startNginx(t, names)
	endpoints["refuses"] = refuses(t)
	endpoints["silent"] = silent(t)
	address := start(t, routes, endpoints)

	n := strings.Count(routes, "\n") + 2
	for line := range strings.Lines(table) {
		n++
		c, ok := parseCase(t, line)
		if !ok {
			continue
		}
		for name, ask := range clients {
			if got := ask(t, address, c.host, c.target); !c.want.is(got) {
				t.Errorf("%s:%d: %s %s by %s: got %d %q, want %d %q", file, n, c.host, c.target, name, got.status, got.body, c.want.status, c.want.body)
			}
		}
	}
}

// is reports whether an answer is the wanted one. Over HTTP/2 a malformed request
// may also end with a reset of its stream (RFC 9113 §8.1.1).
func (want answer) is(got answer) bool {
	if got.reset {
		return want.status == 400
	}
	if beginning, cut := strings.CutSuffix(want.body, "*\n"); cut {
		return got.status == want.status && strings.HasPrefix(got.body, beginning)
	}
	return got == want
}

type routingCase struct {
	host, target string
	want         answer
}

func parseCase(t *testing.T, line string) (c routingCase, ok bool) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) == 0 || words[0] == "#" {
		return c, false
	}
	if len(words) < 5 {
		t.Fatalf("not a case: %q", line)
	}
	c.host, c.target = words[0], words[1]
	if c.host == "*" {
		c.host = "nobody.test"
	}
	status, err := strconv.Atoi(words[2])
	if err != nil {
		t.Fatalf("not a case: %q", line)
	}
	c.want.status = status
	switch {
	case status != 200:
		c.want.body = strings.Join(words[2:], " ") + "\n"
	case words[4] == "=":
		c.want.body = fmt.Sprintf("%s %s\n", words[3], c.target)
	default:
		c.want.body = fmt.Sprintf("%s %s\n", words[3], words[4])
	}
	return c, true
}

// refuses is an address that nobody listens at: the port stays taken by a socket
// that is bound and not listening.
func refuses(t *testing.T) string {
	t.Helper()
	// The near end of a connection holds its port for as long as it is open.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().String()
}

// silent is an address where connections are taken and nothing is ever said.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break // closed
			}
			held = append(held, c)
		}
		for _, c := range held {
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}
