//go:build e2e

package e2e

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"ramjet.dev/ingress/test/daemon"
)

// binary is version 2 of the PROXY header: command and family, then what follows
// the length.
func binary(command, family byte, rest string) string {
	return "\r\n\r\n\x00\r\nQUIT\n" + string([]byte{command, family, byte(len(rest) >> 8), byte(len(rest))}) + rest
}

const tcp4 = "\xcb\x00\x71\x09\x7f\x00\x00\x01\x04\xd2\x01\xbb" // 203.0.113.9:1234 to 127.0.0.1:443

// vpce is a TLV as AWS sends it for the id of a VPC endpoint, 84 bytes long.
var vpce = "\xea\x00\x51\x01" + strings.Repeat("v", 80)

// proxied are headers with the client that they name.
var proxied = map[string]struct{ header, client string }{
	"v1, TCP4":                 {"PROXY TCP4 203.0.113.9 127.0.0.1 1234 443\r\n", "203.0.113.9"},
	"v1, TCP6":                 {"PROXY TCP6 2001:db8::9 ::1 1234 443\r\n", "2001:db8::9"},
	"v1, UNKNOWN":              {"PROXY UNKNOWN\r\n", "127.0.0.1"},
	"v1, 107 bytes":            {"PROXY UNKNOWN " + strings.Repeat("f", 91) + "\r\n", "127.0.0.1"},
	"v2, TCP4":                 {binary(0x21, 0x11, tcp4), "203.0.113.9"},
	"v2, TCP6":                 {binary(0x21, 0x21, "\x20\x01\x0d\xb8"+strings.Repeat("\x00", 11)+"\x09"+strings.Repeat("\x00", 16)+"\x04\xd2\x01\xbb"), "2001:db8::9"},
	"v2, TCP4 with TLVs":       {binary(0x21, 0x11, tcp4+vpce), "203.0.113.9"},
	"v2, as long as it can be": {binary(0x21, 0x11, tcp4+strings.Repeat("\x04\x00\x00", (0xffff-12)/3)), "203.0.113.9"},
	"v2, LOCAL":                {binary(0x20, 0x00, ""), "127.0.0.1"},
	"v2, LOCAL with TLVs":      {binary(0x20, 0x11, tcp4+vpce), "127.0.0.1"},
	"v2, UNSPEC":               {binary(0x21, 0x00, vpce), "127.0.0.1"},
}

// prefixed is a connection whose first write takes a header along.
type prefixed struct {
	net.Conn
	header string
}

// Write sends the header in one segment with what comes first.
func (p *prefixed) Write(b []byte) (int, error) {
	header := p.header
	p.header = ""
	n, err := p.Conn.Write(append([]byte(header), b...))
	return max(n-len(header), 0), err
}

// TestProxyProtocol (O07) wants the client that a header names in the fields that go
// upstream and in the access log, on both ports, and everybody without a header out.
func TestProxyProtocol(t *testing.T) {
	endpoint := origin(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-For"), " ", r.Header.Get("X-Real-Ip"), " ", r.Header.Get("X-Forwarded-Proto"))
	})
	c, a := serve(t, endpoint, "--proxy-protocol", "--access-log", "json", "--log-level", "debug")
	for say, try := range proxied {
		for scheme, address := range map[string]string{"http": a.HTTP, "https": a.HTTPS} {
			path := "/" + scheme + "/" + strings.NewReplacer(" ", "", ",", "").Replace(say)
			raw := dial(t, address)
			var conn net.Conn = &prefixed{raw, try.header}
			if scheme == "https" {
				conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
			}
			if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: shop.test\r\nX-Forwarded-For: 1.1.1.1\r\n\r\n", path); err != nil {
				t.Fatal(err)
			}
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s, %s: %v", say, scheme, err)
				continue
			}
			body, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if want := fmt.Sprint(try.client, " ", try.client, " ", scheme); string(body) != want {
				t.Errorf("%s: the backend got %q, want %q", say, body, want)
			}
			var line struct{ Client string }
			if err := json.Unmarshal([]byte(c.Out.Wait(t, `"path":"`+path+`"`)), &line); err != nil || line.Client != try.client {
				t.Errorf("%s: the access log names %q, %v; want %s", say, line.Client, err, try.client)
			}
		}
	}

	refused := []string{
		"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n", // a health check that knows nothing of it
		"PROXY UNKNOWN " + strings.Repeat("f", 92) + "\r\n",
	}
	for _, start := range refused {
		closedWithoutAWord(t, a, start)
	}
	const complaint = "without a valid PROXY header"
	c.Log.WaitN(t, complaint, 2*len(refused))
	levels := map[string]int{}
	for line := range strings.Lines(c.Log.String()) {
		var record struct{ Level, Msg string }
		if json.Unmarshal([]byte(line), &record) == nil && strings.Contains(record.Msg, complaint) {
			levels[record.Level]++
		}
	}
	if levels["WARN"] != 1 || levels["DEBUG"] != 2*len(refused)-1 {
		t.Errorf("the refusals were logged as %v, want one warning and the rest at debug", levels)
	}
	// The admin port speaks HTTP, and nothing else.
	if answer, _ := ask(t, "GET", "http://"+a.Admin+"/readyz", "", ""); answer.StatusCode != http.StatusOK {
		t.Errorf("the admin port answers %d", answer.StatusCode)
	}
	w := dial(t, a.Admin)
	w.send(t, proxied["v1, TCP4"].header+"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")
	if answer := w.head(t); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("the admin port takes a PROXY header and answers %d", answer.StatusCode)
	}
}

// closedWithoutAWord sends this to both ports and wants an end, and nothing else.
func closedWithoutAWord(t *testing.T, a daemon.Addresses, start string) {
	t.Helper()
	for _, address := range []string{a.HTTP, a.HTTPS} {
		w := dial(t, address)
		w.send(t, start)
		if b, err := io.ReadAll(w.in); len(b) > 0 {
			t.Errorf("%q: got %q, %v", start, b, err)
		}
	}
}

// TestProxyProtocolTimeout: a header that does not end is waited for as long as the flag
// says. The time is short, and nobody has to get by it.
func TestProxyProtocolTimeout(t *testing.T) {
	c, a := serve(t, "127.0.0.1:1", "--proxy-protocol", "--proxy-protocol-timeout", "300ms")
	closedWithoutAWord(t, a, "PROXY TCP4 203.0.113.9")
	c.Log.Wait(t, "no PROXY header arrived in time")
}

// Without the flag a header is no HTTP.
func TestNoProxyProtocol(t *testing.T) {
	_, a := serve(t, origin(t, func(http.ResponseWriter, *http.Request) {}))
	w := dial(t, a.HTTP)
	w.send(t, proxied["v1, TCP4"].header+"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	if answer := w.head(t); answer.StatusCode != http.StatusBadRequest {
		t.Errorf("got %d", answer.StatusCode)
	}
}
