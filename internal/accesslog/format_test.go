package accesslog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// The lines of the package comment.
func ExampleFormat_Append() {
	e := typical()
	os.Stdout.Write(Text.Append(nil, &e))
	os.Stdout.Write(JSON.Append(nil, &e))
	// Output:
	// 192.0.2.7 - - [29/Nov/2025:16:48:03 +0000] "GET /api/items?page=2 HTTP/1.1" 200 5120 "https://shop.example.com/" "curl/8.5.0" host="shop.example.com" bytes_in=0 duration=0.012345 upstream_addr="10.0.0.7:8080" upstream_latency=0.010021 route="shop.example.com /api" backend="web" canary=false truncated=false request_id="4bf92f3577b34da6a3ce929d0e0e4736"
	// {"time":"2025-11-29T16:48:03.123456Z","client":"192.0.2.7","method":"GET","host":"shop.example.com","path":"/api/items?page=2","protocol":"HTTP/1.1","status":200,"bytes_in":0,"bytes_out":5120,"duration":0.012345,"upstream_addr":"10.0.0.7:8080","upstream_latency":0.010021,"route":"shop.example.com /api","backend":"web","canary":false,"truncated":false,"request_id":"4bf92f3577b34da6a3ce929d0e0e4736","user_agent":"curl/8.5.0","referer":"https://shop.example.com/"}
}

// The package comment shows what the formats give.
func TestPackageComment(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	e := typical()
	for _, f := range []Format{Text, JSON} {
		if line := f.Append([]byte("//\t"), &e); !bytes.Contains(doc, line) {
			t.Errorf("the package comment lacks the %s line\n%s", f, line)
		}
	}
}

// oneLine wants one line of printable ASCII, and returns it without its end.
func oneLine(t *testing.T, f Format, e *Entry) string {
	t.Helper()
	const before = "what was there before\n"
	b := f.Append([]byte(before), e)
	line, found := strings.CutPrefix(string(b), before)
	body, ended := strings.CutSuffix(line, "\n")
	if !found || !ended || len(line) > MaxLine {
		t.Fatalf("%d bytes: %q", len(line), b)
	}
	for i := range len(body) {
		if body[i] < ' ' || body[i] > '~' {
			t.Fatalf("byte %#x at %d of %q", body[i], i, body)
		}
	}
	return body
}

// quoted is a string of the text format.
const quoted = `"((?:[^"\\]|\\x[0-9A-F]{2})*)"`

// textLine is the grammar of the text format.
var textLine = regexp.MustCompile(`^([0-9a-f.:]+|-) - - \[(\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000)\] ` +
	`"(?:-|([^" ]+) ([^" ]+) ([^" ]+))" (-?\d+) (-?\d+) ` + quoted + ` ` + quoted +
	` host=` + quoted + ` bytes_in=(-?\d+) duration=(\d+\.\d{6}) upstream_addr=` + quoted + ` upstream_latency=(\d+\.\d{6}|-)` +
	` route=` + quoted + ` backend=` + quoted + ` canary=(true|false) truncated=(true|false) request_id=` + quoted + `$`)

// checkText reads the line of e as somebody would who has only the package comment,
// and wants to find in it what is in e.
func checkText(t *testing.T, e *Entry) string {
	t.Helper()
	line := oneLine(t, Text, e)
	m := textLine.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("not of the form: %s", line)
	}
	request := []string{"", "", ""}
	if e.Method+e.Path+e.Protocol != "" {
		request = []string{orDash(shortened(e.Method, 256)), orDash(shortened(e.Path, 2048)), orDash(shortened(e.Protocol, 256))}
	}
	want := append(append([]string{
		orDash(clientText(e)),
		e.Time.UTC().Format("02/Jan/2006:15:04:05 -0700"),
	}, request...),
		strconv.Itoa(e.Status),
		strconv.FormatInt(e.BytesOut, 10),
		orDash(shortened(e.Referer, 2048)),
		orDash(shortened(e.UserAgent, 2048)),
		orDash(shortened(e.Host, 256)),
		strconv.FormatInt(e.BytesIn, 10),
		seconds(e.Duration),
		orDash(shortened(e.UpstreamAddr, 256)),
		orDash(latency(e)),
		orDash(routeText(e)),
		orDash(shortened(e.Backend, 256)),
		strconv.FormatBool(e.Canary),
		strconv.FormatBool(e.Truncated),
		orDash(shortened(e.RequestID, 256)),
	)
	for i, text := range m[1:] {
		if got := unescape(text); got != want[i] {
			t.Errorf("part %d is %q, want %q\n%s", i+1, got, want[i], line)
		}
	}
	return line
}

var escape = regexp.MustCompile(`\\x[0-9A-F]{2}`)

func unescape(s string) string {
	return escape.ReplaceAllStringFunc(s, func(x string) string {
		n, _ := strconv.ParseUint(x[2:], 16, 8)
		return string([]byte{byte(n)})
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shortened cuts as Entry says: at most bound bytes, no character cut in two.
func shortened(s string, bound int) string {
	if len(s) <= bound {
		return s
	}
	for end := bound; end > bound-utf8.UTFMax; end-- {
		if utf8.RuneStart(s[end]) {
			return s[:end] + "..."
		}
	}
	return s[:bound-utf8.UTFMax] + "..."
}

func clientText(e *Entry) string {
	if !e.Client.IsValid() {
		return ""
	}
	return e.Client.Unmap().WithZone("").String()
}

func seconds(d time.Duration) string {
	micros := max(d, 0) / time.Microsecond
	return fmt.Sprintf("%d.%06d", micros/1e6, micros%1e6)
}

func latency(e *Entry) string {
	if !e.Answered {
		return ""
	}
	return seconds(e.UpstreamLatency)
}

func routeText(e *Entry) string {
	switch {
	case e.RoutePath == "":
		return ""
	case e.RouteHost == "":
		return "* " + shortened(e.RoutePath, 2048)
	}
	return shortened(e.RouteHost, 256) + " " + shortened(e.RoutePath, 2048)
}

// jsonLine is a line of the JSON format; what may be left out is a pointer.
type jsonLine struct {
	Time            string   `json:"time"`
	Client          *string  `json:"client"`
	Method          *string  `json:"method"`
	Host            *string  `json:"host"`
	Path            *string  `json:"path"`
	Protocol        *string  `json:"protocol"`
	Status          int      `json:"status"`
	BytesIn         int64    `json:"bytes_in"`
	BytesOut        int64    `json:"bytes_out"`
	Duration        float64  `json:"duration"`
	UpstreamAddr    *string  `json:"upstream_addr"`
	UpstreamLatency *float64 `json:"upstream_latency"`
	Route           *string  `json:"route"`
	Backend         *string  `json:"backend"`
	Canary          bool     `json:"canary"`
	Truncated       bool     `json:"truncated"`
	RequestID       *string  `json:"request_id"`
	UserAgent       *string  `json:"user_agent"`
	Referer         *string  `json:"referer"`
}

// checkJSON reads the line of e with encoding/json and wants to find in it what is in
// e, with U+FFFD for bytes that are not UTF-8.
func checkJSON(t *testing.T, e *Entry) string {
	t.Helper()
	line := oneLine(t, JSON, e)
	var got jsonLine
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("more than one object: %s", line)
	}
	if key := repeatedKey(line); key != "" {
		t.Fatalf("%s is there twice: %s", key, line)
	}
	text := func(key string, got *string, want string) {
		want = string([]rune(want))
		if (got == nil) != (want == "") || got != nil && *got != want {
			t.Errorf("%s: want %q in %s", key, want, line)
		}
	}
	text("client", got.Client, clientText(e))
	text("method", got.Method, shortened(e.Method, 256))
	text("host", got.Host, shortened(e.Host, 256))
	text("path", got.Path, shortened(e.Path, 2048))
	text("protocol", got.Protocol, shortened(e.Protocol, 256))
	text("upstream_addr", got.UpstreamAddr, shortened(e.UpstreamAddr, 256))
	text("route", got.Route, routeText(e))
	text("backend", got.Backend, shortened(e.Backend, 256))
	text("request_id", got.RequestID, shortened(e.RequestID, 256))
	text("user_agent", got.UserAgent, shortened(e.UserAgent, 2048))
	text("referer", got.Referer, shortened(e.Referer, 2048))
	if got.Time != e.Time.UTC().Format("2006-01-02T15:04:05.000000Z07:00") || seconds(e.Duration) != fmt.Sprintf("%.6f", got.Duration) ||
		(got.UpstreamLatency != nil) != e.Answered || e.Answered && latency(e) != fmt.Sprintf("%.6f", *got.UpstreamLatency) {
		t.Errorf("times of %+v: %s", e, line)
	}
	if got.Status != e.Status || got.BytesIn != e.BytesIn || got.BytesOut != e.BytesOut || got.Canary != e.Canary || got.Truncated != e.Truncated {
		t.Errorf("numbers of %+v: %s", e, line)
	}
	return line
}

// repeatedKey is a key that a flat object has more than once.
func repeatedKey(line string) string {
	decoder := json.NewDecoder(strings.NewReader(line))
	seen := make(map[string]bool)
	_, _ = decoder.Token() // the brace
	for decoder.More() {
		key, _ := decoder.Token()
		_, _ = decoder.Token()
		if seen[fmt.Sprint(key)] {
			return fmt.Sprint(key)
		}
		seen[fmt.Sprint(key)] = true
	}
	return ""
}

// The longest line that there can be has its documented bound.
func TestLongestLine(t *testing.T) {
	for _, c := range []string{"\x00", "\xff", "\"", "é", "\u2028", "😀", "a", "\xf0\x9f"} {
		long := strings.Repeat(c, 2*longValue)
		e := Entry{
			Time: time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), Client: netip.MustParseAddr("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%zone"),
			Method: long, Host: long, Path: long, Protocol: long, Status: -1 << 63, BytesIn: -1 << 63, BytesOut: -1 << 63,
			Duration: 1<<63 - 1, UpstreamAddr: long, UpstreamLatency: 1<<63 - 1, Answered: true, RouteHost: long, RoutePath: long,
			Backend: long, RequestID: long, UserAgent: long, Referer: long,
		}
		checkText(t, &e)
		oneLine(t, JSON, &e)
	}
}

// A value is cut before a character, wherever in it the bound is; what is no
// character is cut as well.
func TestCut(t *testing.T) {
	for _, bound := range []int{shortValue, longValue} {
		for before := range 5 {
			x := strings.Repeat("x", bound-before)
			for char, want := range map[string]string{
				"😀":    x,
				"日":    x,
				"é":    x,
				"yyyy": x + "yyyy"[:before],
			} {
				if before >= len(char) {
					want = x + char
				}
				if kept, shortened := cut(x+char+char+"yyyy", bound); !shortened || !strings.HasPrefix(kept, want) || !utf8.ValidString(kept) || len(kept) > bound {
					t.Errorf("%d before %d, %s: kept %q", before, bound, char, kept[bound-10:])
				}
			}
		}
		tail := strings.Repeat("\x80", 5000)
		if kept, shortened := cut(tail, bound); !shortened || len(kept) != bound-utf8.UTFMax {
			t.Errorf("%d bytes kept of what is not UTF-8", len(kept))
		}
	}
}

// textFields are the fields that a client has a say in, or whoever writes routes.
var textFields = []string{"Method", "Host", "Path", "Protocol", "UpstreamAddr", "RouteHost", "RoutePath", "Backend", "RequestID", "UserAgent", "Referer"}

// Each byte, and what somebody might act upon, in each place (O04).
func TestHostileBytes(t *testing.T) {
	try := func(value string, fields ...string) {
		e := typical()
		for _, field := range fields {
			if err := set(&e, field, strconv.Quote(value)); err != nil {
				t.Fatal(err)
			}
		}
		checkText(t, &e)
		checkJSON(t, &e)
	}
	for c := range 256 {
		try("a"+string([]byte{byte(c)})+"b", textFields...)
	}
	for _, value := range []string{`a" 200 "x`, `{"a":1}`, `\`, `\"`, `\x22`, "\r\nFAKE", "/%0d%0aFAKE", "\x1b[2J\x1b]0;title\a", "\u009b31m",
		"\u2028\u2029", "\u202e", "\ufeff", "\ufffd", "\xed\xa0\x80", "\xc0\x80", "\xf4\x90\x80\x80", "😀", "-", " ", "a b", "*"} {
		for _, field := range textFields {
			try(value, field)
		}
	}
}

func FuzzLine(f *testing.F) {
	f.Add("GET", "a.test", "/%0d%0aFAKE", "HTTP/1.1", "10.0.0.1:80", `a" 200 "x`, "\x1b[2J\u2028\xff", "b.test", "/", 256, int64(3), true)
	f.Add("", "", "", "", "", "", "", "", "", 0, int64(-1), false)
	f.Add("POST", "é.test", "/😀", "HTTP/2.0", "[::1]:80", "\u009b\u202e", "\xed\xa0\x80\\", "*.b.test", "/日", 2051, int64(1<<40), true)
	f.Fuzz(func(t *testing.T, method, host, path, protocol, upstream, agent, referer, routeHost, routePath string, stretch int, number int64, yes bool) {
		e := Entry{
			Time: time.Unix(number%(1<<33), number%1e9), Client: netip.AddrFrom16([16]byte([]byte(fmt.Sprintf("%016x", number))[:16])),
			Method: method, Host: host, Path: path, Protocol: protocol, Status: int(number % 1000), BytesIn: number, BytesOut: -number,
			Duration: time.Duration(number % 1e15), UpstreamAddr: upstream, UpstreamLatency: -time.Duration(number % 1e15), Answered: yes,
			RouteHost: routeHost, RoutePath: routePath, Backend: upstream, Canary: yes, Truncated: !yes, RequestID: agent,
			UserAgent: agent, Referer: referer,
		}
		if e.Time.UTC().Year() < 0 {
			return
		}
		// Long ones, cut somewhere.
		if n := stretch % 4096; n > 0 {
			e.Path, e.Referer = stretched(path, n), stretched(referer, n)
			e.Host, e.RouteHost = stretched(host, n/8), stretched(routeHost, n/8)
		}
		checkText(t, &e)
		checkJSON(t, &e)
	})
}

// stretched repeats s up to n bytes.
func stretched(s string, n int) string {
	if s == "" {
		return s
	}
	return strings.Repeat(s, n/len(s)+1)[:n]
}

func TestParseFormat(t *testing.T) {
	for _, f := range []Format{Text, JSON} {
		if got, err := ParseFormat(f.String()); got != f || err != nil {
			t.Errorf("%s: %v, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("off"); err == nil {
		t.Error("off is a format")
	}
}
